"""What the cases share."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path

from treewright.sandbox.base import ChannelClosed, Exit, Job, Sandbox

MARKED = """
import ctypes, os, time
def mark():
    try: ctypes.CDLL(None).prctl(15, b"MARK", 0, 0, 0)
    except Exception: pass
mark()
try: child = os.fork()
except OSError: child = 1
if child == 0:
    SETSID
    mark()
"""


async def outcome(sandbox: Sandbox, python: str, **job: object) -> Exit:
    async with sandbox.start(Job(python=python, **job)) as process:  # type: ignore[arg-type]  # fields of `Job` by name
        return await process.wait()


def marked(then: str, *, leave_group: bool = False) -> tuple[str, str]:
    mark = "tw" + secrets.token_hex(5)
    source = MARKED.replace("MARK", mark).replace("SETSID", "os.setsid()" if leave_group else "pass")
    return mark, source + then


def living(mark: str) -> list[str]:
    """The processes that have named themselves `mark` and are not zombies."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            named = entry.name.isdecimal() and (entry / "comm").read_text().strip() == mark
            if named and (entry / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                found.append(entry.name)
    return found


async def gone(mark: str) -> bool:
    for _ in range(100):
        if not living(mark):
            return True
        await asyncio.sleep(0.02)
    return False


async def refused(talk: Awaitable[object]) -> None:
    try:
        await talk
    except ChannelClosed:
        return
    raise AssertionError("the channel should be closed")
