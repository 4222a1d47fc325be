"""Memory of several processes together, held by a control group, where this machine lets us make one.

Needed as soon as a run may have more than one process: limits of the kernel that go with a process then bound each, not their
sum. Version 1 of the interface is writable for root only; version 2 for whoever was given a subtree, as by
`systemd-run --user --scope -p Delegate=yes`. The zygote of a slot is put into its group once, when it starts: moving a process
waits for the kernel's grace period, too long for each run.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

HOW_TO_GET = "run as root, or under `systemd-run --user --scope -p Delegate=yes`"
_MOUNTED = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_REMOVE_S = 2.0


@dataclass(frozen=True, slots=True)
class Cgroup:
    """One group. The same object whichever version; only the names of its files differ.

    Args:
        folder: its folder.
        version: of the interface.
    """

    folder: Path
    version: Literal[1, 2]

    def add(self, pid: int) -> None:
        """Put a process, and all it starts from now on, into the group. What it holds already stays counted elsewhere."""
        self._write("cgroup.procs", str(pid))

    def limit(self, mib: int) -> None:
        """Let everything that is started from now on have `mib` MiB beyond what the group holds at the moment, and no swap."""
        usage, most, swap = _NAMES[self.version]
        bound = int((self.folder / usage).read_text()) + (mib << 20)
        if self.version == 1:  # its swap limit includes memory, and must never be the smaller one
            with suppress(OSError):
                self._write(swap, "-1")
        self._write(most, str(bound))
        with suppress(OSError):  # the kernel may not count swap
            self._write(swap, str(bound) if self.version == 1 else "0")

    def kills(self) -> int:
        """How often the kernel has killed in the group because it was full."""
        text = (self.folder / ("memory.oom_control" if self.version == 1 else "memory.events")).read_text()
        return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill "))

    def remove(self) -> None:
        """Give it back once it is empty; waits a moment for processes that are just ending."""
        until = time.monotonic() + _REMOVE_S
        while True:
            try:
                self.folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > until:
                    return
                time.sleep(0.005)
            else:
                return

    def _write(self, name: str, value: str) -> None:
        (self.folder / name).write_text(value)


_NAMES = {
    1: ("memory.usage_in_bytes", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    2: ("memory.current", "memory.max", "memory.swap.max"),
}


@dataclass(frozen=True, slots=True)
class Cgroups:
    """A group in which we may make others: outer limits then go on to hold for them.

    Args:
        folder: its folder.
        version: of the interface.
    """

    folder: Path
    version: Literal[1, 2]

    def make(self, number: int) -> Cgroup:
        """A new group.

        Raises:
            OSError: none can be made any more.
        """
        group = Cgroup(self.folder / f"treewright-{os.getpid()}-{number}", self.version)
        group.folder.mkdir()
        return group


def find(mounted: Path = _MOUNTED, own: Path = _OWN) -> Cgroups | None:
    """Where we may make groups that bound memory, found out by making one; None if nowhere.

    Args:
        mounted: where the interface is mounted.
        own: the file that names the groups of this process.
    """
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return None
    for _, controllers, path in lines:
        if controllers == "memory":
            return _proven(Cgroups(mounted / "memory" / path.lstrip("/"), 1))
    for _, controllers, path in lines:
        if not controllers:
            return _proven(Cgroups(_with_memory(mounted / path.lstrip("/")), 2))
    return None


def _with_memory(folder: Path) -> Path:
    """Version 2 counts memory in subgroups only where that is switched on, and then lets no process stay beside them."""
    with suppress(OSError):
        if "memory" not in (folder / "cgroup.subtree_control").read_text().split():
            if (folder / "cgroup.procs").read_text().split() == [str(os.getpid())]:
                host = folder / "treewright-host"
                host.mkdir(exist_ok=True)
                (host / "cgroup.procs").write_text(str(os.getpid()))
            (folder / "cgroup.subtree_control").write_text("+memory")
    return folder


def _proven(groups: Cgroups) -> Cgroups | None:
    try:
        group = groups.make(-1 - threading.get_ident())  # unlike what another thread tries
    except OSError:
        return None
    try:
        group.limit(64)
        group.kills()
    except (OSError, ValueError):
        return None
    finally:
        group.remove()
    return groups
