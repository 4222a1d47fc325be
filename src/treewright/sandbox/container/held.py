"""Whether a container is confined as it was asked to be, by what it found out itself (`facts`). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

_MIB = 1 << 20


class Facts(TypedDict):
    """What a container says of itself.

    Keys:
        machine: its architecture, as uname has it.
        user: its user's number.
        capable: it has a capability, or could come by one.
        privileges_final: no program it runs can have more privileges than it.
        filtered: a system call filter is in force.
        read_only: its root cannot be written.
        networks: its network interfaces.
        memory: bytes of memory it may use, None for no limit.
        swap: bytes of swap it may use, None for no limit.
        tasks: processes and threads it may have, None for no limit.
        scratch: bytes its writable folder can hold.
    """

    machine: str
    user: int
    capable: bool
    privileges_final: bool
    filtered: bool
    read_only: bool
    networks: list[str]
    memory: int | None
    swap: int | None
    tasks: int | None
    scratch: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """What was asked for.

    Args:
        machine: the architecture that the filters are made for.
        user: number of the user.
        memory_mb: MiB of memory, all processes and files together.
        tasks: processes and threads.
        scratch_mb: MiB that the writable folder can hold.
    """

    machine: str
    user: int
    memory_mb: int
    tasks: int
    scratch_mb: int


def missing(facts: Facts, bounds: Bounds) -> str:
    """The first thing that does not hold, as a clause; "" if all does."""
    checks = (
        (facts["machine"] == bounds.machine, f"the image is for {facts['machine']}, and this machine is {bounds.machine}"),
        (facts["user"] == bounds.user, "the engine does not give the container a user of its own"),
        (not facts["capable"], "the engine leaves the container capabilities"),
        (facts["privileges_final"], "the engine does not enforce no-new-privileges"),
        (facts["filtered"], "the engine has no system call filter (seccomp) in force"),
        (facts["read_only"], "the engine leaves the container's root writable"),
        (set(facts["networks"]) <= {"lo"}, "the engine gives the container a network"),
        (_within(facts["memory"], bounds.memory_mb * _MIB), f"the engine does not enforce its limit of memory{_GROUPS}"),
        (_within(facts["swap"], 0), f"the engine does not keep the container from swap{_GROUPS}"),
        (_within(facts["tasks"], bounds.tasks), f"the engine does not enforce its limit of processes{_GROUPS}"),
        (facts["scratch"] <= bounds.scratch_mb * _MIB, "the engine does not bound the size of the container's /tmp"),
    )
    return next((clause for holds, clause in checks if not holds), "")


_GROUPS = " (it needs control groups)"


def _within(value: int | None, bound: int) -> bool:
    return value is not None and value <= bound
