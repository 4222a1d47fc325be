"""How a run in a slot is said to have ended: what the kernel told the zygote, put before what can be guessed. Pure."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import Literal

from treewright.sandbox.base import Exit, Job, Limits, Status
from treewright.sandbox.inside import wire
from treewright.sandbox.jail.syscalls import numbers, this_machine
from treewright.sandbox.verdicts import Ending, outcome

Cause = Literal["timeout", "output", "killed"]
_KILLED: wire.Report = {
    "status": signal.SIGKILL,
    "cpu_s": 0.0,
    "memory_kb": 0,
    "over_cpu": False,
    "denied": -1,
    "raised": 0,
    "failed": "",
}


def exit_of(
    report: wire.Report | None, cause: Cause | None, job: Job, streams: list[bytes], wall_s: float, memory: bool
) -> Exit:
    """The `Exit` of a run.

    Args:
        report: the zygote's, or None if it died first.
        cause: what the host ended the run for, if it did.
        job: what ran.
        streams: what it wrote to standard output and to standard error, cut.
        wall_s: seconds it took.
        memory: whether the kernel killed for want of memory meanwhile.
    """
    stdout, stderr = streams
    if report is None and cause is None:
        return Exit("unavailable", stdout=stdout, stderr=stderr, wall_s=wall_s, detail="the sandbox's own process died")
    report = report or _KILLED
    ending = Ending(
        code=-report["raised"] or os.waitstatus_to_exitcode(report["status"]),
        cause=cause,
        reached=True,
        stdout=stdout,
        stderr=stderr,
        wall_s=wall_s,
        cpu_s=report["cpu_s"],
        memory_mb=report["memory_kb"] / 1024,
    )
    known = _known(report, ending, job.limits, memory)
    usual = outcome(ending, job.limits)
    return replace(usual, status=known[0], detail=known[1]) if known else usual


def _known(report: wire.Report, ending: Ending, limits: Limits, memory: bool) -> tuple[Status, str] | None:
    if report["failed"]:
        return "unavailable", report["failed"]
    if report["denied"] >= 0:
        return "denied", f"the system call {call_name(report['denied'])}"
    if report["over_cpu"]:
        return "timeout", f"more than {limits.cpu_s:g} s of processor time"
    if memory and ending.code and ending.cause is None:
        return "memory", f"more than {limits.memory_mb} MiB"
    return None


def call_name(number: int) -> str:
    """The name of a system call of this machine, or its number where the filter has no name for it."""
    names = {value: name for name, value in numbers(this_machine()).items()}
    return names.get(number, str(number))
