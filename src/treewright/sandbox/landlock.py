"""The sandbox for homes that refuse namespaces, as containers do: Landlock, system call filters, limits; no privileges needed.

A warm interpreter as in `namespaces` (`zygote`, `child`), without a jail around it. Landlock shows a run the interpreter, its
packages and the system's libraries, read-only; the filters leave it no socket, no new process, and no signal to others; limits
of the kernel bound its memory, processor time and descriptors.

**Not covered, besides what `namespaces` does not**: a run can write no file at all, since their sum could not be bounded; it
gets no new process, whatever its limits allow, so there is no `Job.command`; threads are bounded by address space alone;
process ids and the host's paths to the interpreter can be seen. As root the runs get a user of their own, unless the
interpreter lies where only root can read it: then they are root without capabilities.
"""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Exit, Job, Process
from treewright.sandbox.capture import NeverRan
from treewright.sandbox.inside import linux, wire
from treewright.sandbox.jail import bubblewrap, filters, seccomp
from treewright.sandbox.jail.interpreter import Interpreter, find, open_to_others
from treewright.sandbox.jail.launcher import Launcher
from treewright.sandbox.jail.parcel import Parcel, prepare
from treewright.sandbox.jail.slot import Blueprint, Slot, open_slot
from treewright.sandbox.jail.slots import Slots
from treewright.sandbox.jail.syscalls import this_machine
from treewright.sandbox.workfolder import work_folder

_SLOT_USERS = 61000
_SYSTEM = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/lib", "/lib32", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class LandlockSandbox:
    """Runs jobs confined by Landlock. See the module for what that covers.

    Args:
        python: as for `NamespaceSandbox`.
        warm: as for `NamespaceSandbox`.
        slots: as for `NamespaceSandbox`.
        folder: where files of jobs are put. Default: the system's folder for temporary files.

    Raises:
        SandboxUnavailable: the kernel has no Landlock, or refuses it.
    """

    def __init__(
        self, *, python: Path | None = None, warm: tuple[str, ...] = (), slots: int | None = None, folder: Path | None = None
    ) -> None:
        if not linux.landlock_version():
            raise SandboxUnavailable("This kernel has no Landlock (Linux 5.13 with it switched on, not hidden by a container).")
        self._machine = this_machine()
        self._interpreter = find(python)
        self._warm, self._folder = warm, folder
        self._empty = _empty_folder(folder)
        self._removing = weakref.finalize(self, shutil.rmtree, self._empty or "", ignore_errors=True)
        self._slots = Slots(self._open, self._open, slots or os.cpu_count() or 1)
        self._launcher = Launcher(self._slots, alone=lambda job: False)

    @property
    def level(self) -> str:
        """Always "landlock"."""
        return "landlock"

    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        """Run `job` until the block is left. See `Sandbox.start`."""
        return self._run(job)

    def close(self) -> None:
        """End all zygotes. Also done when this object is collected, and by the kernel when the host dies."""
        self._slots.close()
        self._removing()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @asynccontextmanager
    async def _run(self, job: Job) -> AsyncIterator[Process]:
        job = replace(job, limits=replace(job.limits, processes=0))  # an upper bound: none is what can be held here
        if job.command:
            yield NeverRan(f"{job.command[0]} cannot be run without namespaces: only Python programs can")
        elif job.files:
            async with work_folder(self._folder, job.files) as folder:
                if isinstance(folder, Exit):
                    yield NeverRan(folder.detail)
                    return
                async with self._launcher.run(replace(job, files={}), partial(_prepare, folder=folder)) as process:
                    yield process
        else:
            async with self._launcher.run(job, partial(_prepare, folder=self._empty)) as process:
                yield process

    def _open(self, number: int) -> Slot:
        interpreter = self._interpreter
        apart = os.getuid() == 0 and all(map(open_to_others, (interpreter.stdlib, *interpreter.site)))
        roots = [*_SYSTEM, *_DEVICES, str(interpreter.stdlib.parent), *map(str, interpreter.site)]
        config: wire.Config = {
            "level": self.level,
            "path": interpreter.path(),
            "warm": list(self._warm),
            "user": _SLOT_USERS + number if apart else -1,
            "proc": False,
            "inodes": 0,
            "roots": roots,
            "readable": [*_SYSTEM, *_DEVICES, *_readable(interpreter), *_holding_folders(self._folder)],
            "listed": [str(interpreter.stdlib.parent), *map(str, interpreter.site)],
            "filters": filters.encoded(self._machine, full=False, counted=False, first=False),
            "signals": {},
            "only_itself": base64.b64encode(seccomp.only_itself(self._machine)).decode(),
        }
        return open_slot(Blueprint(self._command, config))

    def _command(self, control: int) -> list[str]:
        return [str(self._interpreter.executable), *bubblewrap.start(control, str(bubblewrap.INSIDE))]


def _prepare(job: Job, slot: Slot, *, folder: Path | None) -> Parcel:
    if folder and slot.user >= 0:
        folder.chmod(0o711)
        for entry in folder.iterdir():
            os.chown(entry, slot.user, slot.user)
    return prepare(job, slot, folder=str(folder or ""), memory_mb=job.limits.memory_mb, shared_user=True)


def _holding_folders(folder: Path | None) -> list[str]:
    """Where the runs' folders are made, if any can be."""
    try:
        return [str(folder or tempfile.gettempdir())]
    except FileNotFoundError:
        return []


def _empty_folder(parent: Path | None) -> Path | None:
    """Where runs without files are. None where no folder can be made: then they are at the root, and cannot list it."""
    try:
        return Path(tempfile.mkdtemp(prefix="treewright-", dir=parent))
    except OSError:
        return None


def _readable(interpreter: Interpreter) -> list[str]:
    """The library and the packages piece by piece, as a rule for a folder cannot leave out something in it."""
    beside = [entry for entry in interpreter.stdlib.parent.iterdir() if entry.is_file()]
    library = [entry for entry in interpreter.stdlib.iterdir() if entry.name not in bubblewrap.PACKAGES]
    packages = [entry for site in interpreter.site for entry in site.iterdir() if entry.name not in bubblewrap.MASKED]
    return [str(entry) for entry in (*beside, *library, *packages)]
