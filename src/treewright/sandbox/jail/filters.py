"""The system call filters of a slot, as its zygote is told them: one pair for each kind of run it may be asked for."""

from __future__ import annotations

import base64

from treewright.sandbox.inside import wire
from treewright.sandbox.jail import seccomp
from treewright.sandbox.jail.syscalls import Machine


def encoded(machine: Machine, *, full: bool, counted: bool, first: bool) -> dict[str, list[str]]:
    """Kind of run -> its system call filters, with notification and without, in base64.

    Args:
        machine: the architecture.
        full: for slots that take commands and runs with processes; else for Python runs without.
        counted: a cgroup counts the memory.
        first: each run is the first process of its namespace.
    """
    kinds = [(False, True), (True, False), (True, True)] if full else [(False, False)]
    return {
        wire.kind(command, processes): [
            base64.b64encode(
                seccomp.allow_list(
                    machine,
                    processes=processes,
                    execute=command,
                    shared_memory=counted or not command,
                    first=first,
                    notify=notify,
                )
            ).decode()
            for notify in (True, False)
        ]
        for command, processes in kinds
    }
