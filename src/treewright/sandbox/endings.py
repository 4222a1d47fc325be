"""How a run in a slot is said to have ended: what the kernel told the zygote, put before what can be guessed. Pure."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import Literal

from treewright.sandbox import wire
from treewright.sandbox.base import Exit, Job
from treewright.sandbox.syscalls import numbers, this_machine
from treewright.sandbox.verdicts import Ending, outcome


def exit_of(
    report: wire.Report | None,
    cause: Literal["timeout", "output", "killed"] | None,
    job: Job,
    stdout: bytes,
    stderr: bytes,
    wall_s: float,
    *,
    memory: bool,
) -> Exit:
    """The `Exit` of a run.

    Args:
        report: the zygote's, or None if it died first.
        cause: what the host ended the run for, if it did.
        job: what ran.
        stdout: what it wrote, cut.
        stderr: the same for standard error.
        wall_s: seconds it took.
        memory: whether the kernel killed for want of memory meanwhile.
    """
    if report is None and cause is None:
        return Exit("unavailable", stdout=stdout, stderr=stderr, wall_s=wall_s, detail="the sandbox's own process died")
    if report is None:
        report = {"status": signal.SIGKILL, "cpu_s": 0.0, "memory_kb": 0, "over_cpu": False, "denied": -1, "failed": ""}
    ending = Ending(
        code=os.waitstatus_to_exitcode(report["status"]),
        cause=cause,
        reached=True,
        stdout=stdout,
        stderr=stderr,
        wall_s=wall_s,
        cpu_s=report["cpu_s"],
        memory_mb=report["memory_kb"] / 1024,
    )
    usual = outcome(ending, job.limits)
    if report["failed"]:
        return replace(usual, status="unavailable", detail=report["failed"])
    if report["denied"] >= 0:
        return replace(usual, status="denied", detail=f"the system call {call_name(report['denied'])}")
    if report["over_cpu"]:
        return replace(usual, status="timeout", detail=f"more than {job.limits.cpu_s:g} s of processor time")
    if memory and ending.code and ending.cause is None:
        return replace(usual, status="memory", detail=f"more than {job.limits.memory_mb} MiB")
    return usual


def call_name(number: int) -> str:
    """The name of a system call of this machine, or its number where the filter has no name for it."""
    names = {value: name for name, value in numbers(this_machine()).items()}
    return names.get(number, str(number))
