"""How the end of a process is told apart: which limit, which signal, whose fault. Pure."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Literal

from treewright.sandbox.base import Exit, Limits, Status

# Python's own, and those of libraries that derive from it under another name: numpy's, pyarrow's.
_MEMORY_ERRORS = frozenset({"MemoryError", "_ArrayMemoryError", "ArrowMemoryError"})


@dataclass(frozen=True, slots=True)
class Ending:
    """What the host observed of a process that is gone.

    Args:
        code: its exit code, or minus the number of the signal that ended it.
        cause: what the host ended it for, if it did.
        reached: whether the program itself was reached, or the process died in our own preparations.
    """

    code: int
    cause: Literal["timeout", "output", "killed"] | None
    reached: bool
    stdout: bytes
    stderr: bytes
    wall_s: float
    cpu_s: float
    memory_mb: float


def outcome(ending: Ending, limits: Limits) -> Exit:
    """The `Exit` of a process that ended as `ending` under `limits`."""
    status, detail = _status(ending, limits)
    return Exit(
        status,
        code=ending.code if ending.code >= 0 else None,
        signal=-ending.code if ending.code < 0 else None,
        stdout=ending.stdout,
        stderr=ending.stderr,
        wall_s=ending.wall_s,
        cpu_s=ending.cpu_s,
        memory_mb=ending.memory_mb,
        detail=detail,
    )


def _status(ending: Ending, limits: Limits) -> tuple[Status, str]:
    number = -ending.code
    # The kernel holds to a limit by counting ticks, and on a busy machine that runs ahead of the time it reports.
    ticked = number == signal.SIGXCPU and ending.cpu_s >= 0.5 * limits.cpu_s
    if ticked or (number == signal.SIGKILL and ending.cpu_s >= limits.cpu_s):
        return "timeout", f"more than {limits.cpu_s:g} s of processor time"
    # The host's own kill decides, unless the program was quicker and ended by itself first.
    if ending.cause and number == signal.SIGKILL:
        details = {
            "timeout": f"longer than {limits.wall_s:g} s",
            "output": f"wrote more than {limits.output_kb} KiB",
            "killed": "ended by the caller",
        }
        return ending.cause, details[ending.cause]
    return _own_end(ending, limits)


def _own_end(ending: Ending, limits: Limits) -> tuple[Status, str]:
    number = -ending.code
    if ending.cause == "output":
        return "output", f"wrote more than {limits.output_kb} KiB"
    if ending.code == 0:
        return "ok", ""
    if not ending.reached:
        return "unavailable", "the interpreter did not start: " + _last_line(ending.stderr)
    if _out_of_memory(ending, limits):
        return "memory", f"more than {limits.memory_mb} MiB"
    if ending.code > 0:
        return "error", f"exit code {ending.code}"
    if number == signal.SIGKILL:
        return "killed", "ended from outside"
    if number == signal.SIGALRM and ending.wall_s >= limits.wall_s:
        return "timeout", f"longer than {limits.wall_s:g} s"
    if number == signal.SIGSYS:
        return "denied", "a system call that is not allowed"
    if number == signal.SIGXFSZ:
        return "error", f"wrote a file of more than {limits.disk_mb} MiB"
    return "error", f"crashed by signal {_name(number)}"


def _out_of_memory(ending: Ending, limits: Limits) -> bool:
    """A guess: Python says so in its last line; others die of what a refused allocation leads to, close to the limit."""
    if ending.code == 1:
        qualified = _last_line(ending.stderr).partition(":")[0]
        return qualified.rpartition(".")[2] in _MEMORY_ERRORS
    close = ending.memory_mb >= 0.9 * limits.memory_mb
    return close and ending.code in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGKILL, -signal.SIGBUS)


def _last_line(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else ""


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
