"""The hardened sandboxes as tests use them: opened where the machine has what they need, skipped with the reason where not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Exit, Job, Limits, Sandbox
from treewright.sandbox.landlock import LandlockSandbox
from treewright.sandbox.namespaces import NamespaceSandbox

Home = TypeVar("Home", NamespaceSandbox, LandlockSandbox)


async def ended(sandbox: Sandbox, job: Job) -> Exit:
    async with sandbox.start(job) as process:
        return await process.wait()


def run(sandbox: Sandbox, python: str, *, limits: Limits | None = None, **rest: Any) -> Exit:
    """How a Python program ends."""
    return asyncio.run(ended(sandbox, Job(python=python, limits=limits or Limits(), **rest)))


@contextmanager
def namespaces(**settings: Any) -> Iterator[NamespaceSandbox]:
    with _opened(lambda: NamespaceSandbox(**settings)) as sandbox:
        yield sandbox


@contextmanager
def landlock(**settings: Any) -> Iterator[LandlockSandbox]:
    with _opened(lambda: LandlockSandbox(**settings)) as sandbox:
        yield sandbox


@contextmanager
def _opened(make: Callable[[], Home]) -> Iterator[Home]:
    try:
        sandbox = make()
        run(sandbox, "pass")
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))
    with sandbox:
        yield sandbox


def _parents() -> dict[int, int]:
    """Living process -> its parent."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    found[int(entry.name)] = int(parent)
    return found


def children(pid: int) -> list[int]:
    return [child for child, parent in _parents().items() if parent == pid]


def descendants(pid: int | None = None) -> list[int]:
    """Of this process, if no other is given."""
    parents = _parents()
    found, ahead = [], [os.getpid() if pid is None else pid]
    while ahead:
        above = ahead.pop()
        below = [child for child, parent in parents.items() if parent == above]
        found += below
        ahead += below
    return found


def alive(pid: int) -> bool:
    return pid in _parents()


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
