"""What a container finds out about its own confinement before it is given a program. Runs inside: see `boot`.

An engine that cannot enforce an option may leave it out with a warning, or with none. So nothing rests on the command line:
the kernel is asked, in every container, and the host compares (`held`). Standard library only, Python 3.9.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

_UNBOUNDED = 1 << 60  # version 1 of control groups writes a huge number for "no limit"


def gather(root: Path = Path("/"), scratch: Path = Path("/tmp")) -> dict[str, Any]:
    """The facts, as `held.Facts` describes them.

    Args:
        root: where the container's file system begins.
        scratch: its writable folder.
    """
    status = _status(root)
    memory, swap = _memory(root)
    space = os.statvfs(scratch)
    return {
        "machine": os.uname().machine,
        "user": os.getuid(),
        "capable": any(int(status.get(name, "f"), 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")),
        "privileges_final": status.get("NoNewPrivs") == "1",
        "filtered": status.get("Seccomp") == "2",
        "read_only": bool(os.statvfs(root).f_flag & os.ST_RDONLY),
        "networks": sorted(path.name for path in (root / "sys/class/net").glob("*")),
        "memory": memory,
        "swap": swap,
        "tasks": _number(_of_group(root, "pids", "pids.max")),
        "scratch": space.f_blocks * space.f_frsize,
    }


def memory_kills(root: Path = Path("/")) -> int:
    """How many processes of this container the kernel has killed for want of memory."""
    for name in ("memory.events", "memory.oom_control"):
        for line in _of_group(root, "memory", name).splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _status(root: Path) -> dict[str, str]:
    lines = _text(root / "proc/self/status").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _memory(root: Path) -> tuple[int | None, int | None]:
    """Bytes of memory and of swap the container may use; None for no limit."""
    memory = _number(_of_group(root, "memory", "memory.max"))
    if memory is not None:
        swap = _of_group(root, "memory", "memory.swap.max")
        return memory, _number(swap) if swap else _swap_of_machine(root)
    memory = _number(_of_group(root, "memory", "memory.limit_in_bytes"))
    both = _of_group(root, "memory", "memory.memsw.limit_in_bytes")
    if not both or memory is None:
        return memory, _swap_of_machine(root)
    total = _number(both)
    return memory, None if total is None else total - memory


def _swap_of_machine(root: Path) -> int | None:
    """Where the kernel does not count swap, all of the machine's can be used: which may be none."""
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("SwapTotal:"):
            return int(line.split()[1]) * 1024
    return None


def _of_group(root: Path, controller: str, name: str) -> str:
    """A file of this container's control group, of version 2 or of version 1."""
    groups = root / "sys/fs/cgroup"
    return _text(groups / name) or _text(groups / controller / name)


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdecimal() and int(text) < _UNBOUNDED else None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
