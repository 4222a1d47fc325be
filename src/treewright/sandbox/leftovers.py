"""Find and kill what a job left running after it has left the job's process group.

A process cannot shed its resource limits: they are inherited through fork, setsid and exec, and a hard limit is only ever
lowered. So each job gets a random RLIMIT_MSGQUEUE (POSIX message queues, used by nearly nothing) as its mark.
"""

from __future__ import annotations

import os
import resource
import secrets
import signal

Mark = tuple[int, int]

_LEAST_ROOM = 1 << 16  # with fewer values to draw from, two jobs could share a mark by chance
_PASSES = 50


def new_mark() -> Mark | None:
    """A random (soft, hard) pair, or None where the host's own limit leaves too little room for one."""
    _, most = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
    if most == resource.RLIM_INFINITY:
        most = 1 << 40
    if most < _LEAST_ROOM:
        return None
    hard = most // 2 + secrets.randbelow(most // 2)
    return secrets.randbelow(hard), hard


def sweep(first: int, mark: Mark) -> None:
    """Kill every living process that carries `mark` and was started after process `first`.

    Several passes, since one that forks while we look is missed by one pass. Gives up after a bounded number of them.
    """
    line = f"Max msgqueue size {mark[0]} {mark[1]}".split()
    for _ in range(_PASSES):
        found = [pid for pid in _younger(first) if _carries(pid, line)]
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        if not found:
            return


def _younger(first: int) -> list[int]:
    """Processes that may have been started after `first`; cheap when there is none, which is the common case."""
    with open("/proc/loadavg", "rb") as file:  # noqa: PTH123 - on every run; Path costs more than the read
        newest = int(file.read().rsplit(None, 1)[1])
    if newest == first:
        return []
    pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - as above
    if newest < first:  # the numbers have wrapped round
        return [pid for pid in pids if pid != os.getpid()]
    return [pid for pid in pids if pid > first]


def _carries(pid: int, line: list[str]) -> bool:
    try:
        with open(f"/proc/{pid}/limits") as file:  # noqa: PTH123
            marked = any(row.split()[:5] == line for row in file if row.startswith("Max msgqueue"))
        if not marked:
            return False
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
