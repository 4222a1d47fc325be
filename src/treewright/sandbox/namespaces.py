"""The strong sandbox: each run in its own user, mount, process and IPC namespaces, inside a jail without network or files.

`jail` makes the place with bubblewrap, `zygote` is the warm interpreter in it, `child` what it does for each run, `seccomp` the
system calls that are left. A run sees the interpreter, its packages and the system's libraries read-only, and one folder of its
own in memory; it has no capability, no network, no other process to see or signal, and by default cannot make one. When it
ends, whatever it started ends with it.

Linux on x86_64 or aarch64 with user namespaces, as root or not.

**Not covered**: a fault of the kernel in the system calls that remain, side channels of the processor between runs, timing, and
a program that uses its limits in full. For deliberately hostile code from strangers run all of this in a virtual machine.
"""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Self

from treewright.sandbox.base import Job, Process
from treewright.sandbox.inside import wire
from treewright.sandbox.jail import bubblewrap, cgroup, filters, seccomp
from treewright.sandbox.jail.bubblewrap import Jail
from treewright.sandbox.jail.interpreter import find
from treewright.sandbox.jail.launcher import Launcher
from treewright.sandbox.jail.parcel import Parcel, prepare
from treewright.sandbox.jail.slot import Blueprint, Slot, open_slot
from treewright.sandbox.jail.slots import Slots
from treewright.sandbox.jail.syscalls import numbers, this_machine
from treewright.sandbox.jail.tools import installed

_SLOT_USERS = 61000  # as root, slot n runs as user 61000 + n: nobody's, and never root
_INODES = 4096


class NamespaceSandbox:
    """Runs jobs in namespaces of their own. See the module for what that covers.

    Args:
        python: an interpreter (3.10 or newer) or the folder of a virtual environment, whose packages the programs get.
            Default: the host's own.
        warm: names of packages to import before any run, so that no run waits for them ("numpy", "pandas").
        slots: zygotes that are kept, started when they are needed; each takes many runs at once. Default: one a processor.
        tools: prefixes (folders with a `bin`) of more languages for `Job.command`, besides what is in /usr. Default: those
            that are found (see `tools`), looked for when the first command runs.
    """

    def __init__(
        self,
        *,
        python: Path | None = None,
        warm: tuple[str, ...] = (),
        slots: int | None = None,
        tools: tuple[Path, ...] | None = None,
    ) -> None:
        self._bwrap = bubblewrap.find_bwrap()
        self._interpreter = find(python)
        self._warm, self._tools = warm, tools
        self._machine = this_machine()
        self._slots = Slots(self._open_shared, self._open_own, slots or os.cpu_count() or 1)
        self._cgroups = cgroup.find()
        self._launcher = Launcher(self._slots, alone=_alone)

    @property
    def level(self) -> str:
        """Always "namespaces"."""
        return "namespaces"

    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        """Run `job` until the block is left. See `Sandbox.start`."""
        return self._launcher.run(job, _prepare)

    def running(self) -> list[Slot]:
        """The slots that are up at the moment, for those who watch."""
        return self._slots.running()

    def close(self) -> None:
        """End all jails. Also done when this object is collected, and by the kernel when the host dies."""
        self._slots.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open_shared(self, number: int) -> Slot:
        return self._open(number, Jail(self._interpreter))

    def _open_own(self, number: int) -> Slot:
        counted = self._cgroups is not None
        if self._tools is None:
            self._tools = installed()
        return self._open(number, Jail(self._interpreter, full=True, tools=self._tools, zero=counted))

    def _open(self, number: int, place: Jail) -> Slot:
        config: wire.Config = {
            "level": self.level,
            "path": bubblewrap.path(self._interpreter),
            "warm": list(self._warm),
            "user": _SLOT_USERS + number if os.getuid() == 0 else -1,
            "proc": place.full,
            "inodes": _INODES,
            "roots": [],
            "readable": [],
            "listed": [],
            "filters": filters.encoded(self._machine, full=place.full, counted=self._cgroups is not None, first=True),
            "only_itself": "",
            "signals": {str(numbers(self._machine)[name]): index for name, index in seccomp.SIGNAL_ARGUMENT.items()},
        }
        group = self._cgroups.make(number) if self._cgroups and place.full else None
        return open_slot(Blueprint(lambda control: bubblewrap.arguments(self._bwrap, place, control), config, group))


def _alone(job: Job) -> bool:
    return bool(job.command or job.limits.processes)


def _prepare(job: Job, slot: Slot) -> Parcel:
    """With a cgroup the sum of memory is held by it (files of a run are memory too); without, each process gets a share."""
    limits = job.limits
    counted = _alone(job) and slot.hold(limits.memory_mb + limits.disk_mb)
    return prepare(job, slot, memory_mb=limits.memory_mb if counted else limits.memory_mb // (1 + limits.processes))
