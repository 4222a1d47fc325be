"""How long after its limit a hostile program is over, and what it leaves: for `attacks.py timeouts`.

Each program is run as a job with 2 s of wall and of processor time; after its own lines it calls its function and then loops for
ever, so that every one that is not ended by something else first is ended by a time-out.
"""

import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.attacks import Attack
from treewright.sandbox.base import Job, Limits, Sandbox
from treewright.sandbox.canaries import Canaries
from treewright.sandbox.jail import cgroup
from treewright.sandbox.landlock import LandlockSandbox
from treewright.sandbox.namespaces import NamespaceSandbox

LIMIT_S = 2.0
ALLOWED_S = 2.1
_CALL = {"add": "add(2, 3)", "magic": "magic(1)"}
_FOR_EVER = "\ntry:\n    {call}\nexcept Exception:\n    pass\nwhile True:\n    pass\n"


@dataclass(frozen=True, slots=True)
class Over:
    """How one program was over."""

    name: str
    status: str
    seconds: float
    left: list[str]


async def timeouts(attacks: list[Attack]) -> list[str]:
    """The lines of the section."""
    lines = [
        f"Each attack with a limit of {LIMIT_S:g} s, then an endless loop: from the start of the run until the block is left.\n",
        "| level | attacks | ended by the time-out | over 2.1 s | latest, s | median of time-outs, s | left behind |",
        "|---|---|---|---|---|---|---|",
    ]
    late: list[str] = []
    for name, make, processes in (
        ("namespaces", NamespaceSandbox, 0),
        ("namespaces, 8 processes", NamespaceSandbox, 8),
        ("landlock", LandlockSandbox, 0),
    ):
        with suppress(SandboxUnavailable), make() as sandbox:
            found = await _all(sandbox, attacks, Limits(wall_s=LIMIT_S, cpu_s=LIMIT_S, disk_mb=32, processes=processes))
            lines.append(_row(name, found))
            late += [
                f"- {name}: {over.name} ({over.status}) {over.seconds:.3f} s{', left ' + ', '.join(over.left) if over.left else ''}"
                for over in found
                if over.seconds > ALLOWED_S or over.left
            ]
    return [*lines, *(["\nOver the limit, or with something left:\n", *late] if late else [])]


def _row(level: str, found: list[Over]) -> str:
    ended = sorted(over.seconds for over in found if over.status == "timeout")
    worst = max(found, key=lambda over: over.seconds)
    cells = [len(found), len(ended), sum(over.seconds > ALLOWED_S for over in found), f"{worst.seconds:.3f} ({worst.name})"]
    cells += [f"{ended[len(ended) // 2]:.3f}" if ended else "", sum(len(over.left) for over in found)]
    return f"| {level} | {' | '.join(map(str, cells))} |"


async def _all(sandbox: Sandbox, attacks: list[Attack], limits: Limits) -> list[Over]:
    warm = Job(python="pass", limits=limits)
    for _ in range(4):
        async with sandbox.start(warm) as process:
            assert (await process.wait()).status == "ok"
    with Canaries() as canaries:
        return [await _one(sandbox, attack, limits, canaries) for attack in attacks]


async def _one(sandbox: Sandbox, attack: Attack, limits: Limits, canaries: Canaries) -> Over:
    program = attack.program + _FOR_EVER.format(call=_CALL[attack.problem])
    seen, counted = canaries.look(), _counts()
    started = time.perf_counter()
    async with sandbox.start(Job(python=program, limits=limits)) as process:
        ended = await process.wait()
    seconds = time.perf_counter() - started
    left = await canaries.left_since(seen)
    left += [f"{now - counted[name]} {name}" for name, now in _counts().items() if now > counted[name]]
    return Over(attack.name, ended.status, seconds, left)


def _counts() -> dict[str, int]:
    groups = cgroup.find()
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "files": len(list(Path(tempfile.gettempdir()).iterdir())),
        "cgroups": sum(f"treewright-{os.getpid()}-" in entry.name for entry in groups.folder.iterdir()) if groups else 0,
    }
