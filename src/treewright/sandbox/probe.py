"""A sandbox proves itself: real programs try to get out, and to go past their limits, before it is trusted with others."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Exit, Job, Limits, Sandbox, Status

_LIMITS = Limits(wall_s=20.0, cpu_s=5.0, memory_mb=256, disk_mb=8)
_WRITES = "write a file of the host"
_NAME = "TREEWRIGHT_PROBE"
_ESCAPES = """
import json, os, signal, socket, sys
file, new, name, host = json.loads(sys.stdin.read())
def reads(path):
    with open(path) as file:
        file.read()
def writes(path):
    with open(path, "a") as file:
        file.write("reached")
def child():
    if os.fork() == 0:
        os._exit(0)
    os.wait()
tries = {
    "read a file of the host": lambda: reads(file),
    "write a file of the host": lambda: writes(new),
    "list a folder of the host": lambda: os.listdir(os.path.dirname(file)),
    "see the host's environment": lambda: os.environ[name],
    "start a process": child,
    "run another program": lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0),
    "open a network socket": lambda: socket.socket(),
    "signal the host": lambda: os.kill(host, 0),
    "reach its parent's memory": lambda: open("/proc/%d/mem" % os.getppid(), "rb").close(),
    "become root": lambda: os.setuid(0),
    "mark files as another user's": lambda: os.chown("/", 12345, 12345),
}
done = []
for what, attempt in tries.items():
    try:
        attempt()
        done.append(what)
    except (OSError, KeyError):
        pass
print(json.dumps(done))
"""


@dataclass(frozen=True, slots=True)
class _Limit:
    """A program that goes past one limit, and what must become of it."""

    name: str
    job: Job
    status: Status


_PAST_LIMITS = (
    _Limit("processor time", Job(python="while True: pass", limits=Limits(wall_s=20.0, cpu_s=0.1)), "timeout"),
    _Limit("wall time", Job(python="import time; time.sleep(60)", limits=Limits(wall_s=0.2)), "timeout"),
    _Limit("memory", Job(python="x = bytearray(400 << 20)", limits=_LIMITS), "memory"),
    _Limit("output", Job(python="while True: print('x' * 65536)", limits=Limits(wall_s=20.0, output_kb=64)), "output"),
)


async def prove(sandbox: Sandbox) -> str:
    """Try to break out of `sandbox`. Takes some 0.3 s.

    Returns:
        What was wrong, as one clause, or an empty string when all held.
    """
    with _folder() as folder:
        try:
            wrong = await _escapes(sandbox, folder)
        except SandboxUnavailable as error:
            return str(error).rstrip(".")
    if wrong:
        return wrong
    async with asyncio.TaskGroup() as group:
        limits = [group.create_task(_run(sandbox, limit.job)) for limit in _PAST_LIMITS]
    for limit, outcome in zip(_PAST_LIMITS, (task.result() for task in limits), strict=True):
        if outcome.status != limit.status:
            return f"its limit of {limit.name} does not hold: {outcome.status} {outcome.detail}"
    return ""


@contextmanager
def _folder() -> Iterator[Path | None]:
    """A folder of the host with something in it; None where no folder can be made."""
    try:
        made = tempfile.TemporaryDirectory(prefix="treewright-")
    except OSError:
        yield None
        return
    with made as name:
        (Path(name) / "secret").touch()
        yield Path(name)


async def _escapes(sandbox: Sandbox, folder: Path | None) -> str:
    marked = os.environ.get(_NAME) is None
    if marked:
        os.environ[_NAME] = "host"
    try:
        file, new = (folder / "secret", folder / "new") if folder else (Path(__file__), Path("/dev/shm/treewright-probe"))
        stdin = json.dumps([str(file), str(new), _NAME, os.getpid()]).encode()
        outcome = await _run(sandbox, Job(python=_ESCAPES, stdin=stdin, limits=_LIMITS))
    finally:
        if marked:
            del os.environ[_NAME]
    if outcome.status != "ok":
        return f"a first program did not run: {outcome.detail} {outcome.stderr.decode(errors='replace')[-200:]}".strip()
    reached = json.loads(outcome.stdout)
    if _WRITES in reached and not new.exists():  # it wrote to a file of that name in a folder of its own
        reached.remove(_WRITES)
    return f"a program in it could {', '.join(reached)}" if reached else ""


async def _run(sandbox: Sandbox, job: Job) -> Exit:
    async with sandbox.start(job) as process:
        return await process.wait()
