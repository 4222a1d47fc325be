"""Which sandbox to use on this machine: the strongest that proves itself. Never a weaker one than was asked for.

The order is namespaces, landlock, podman, docker. The last two isolate well but start a container for each run, so they come
when nothing warm works; podman before docker, since it has no daemon that runs as root. `process` isolates nothing, and is in
no order.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from treewright.core.errors import SandboxUnavailable, UserError
from treewright.sandbox.base import Sandbox
from treewright.sandbox.container import DEFAULT_IMAGE, ContainerSandbox
from treewright.sandbox.container.engine import EngineName
from treewright.sandbox.jail.bubblewrap import HOW_TO_GET, find_bwrap
from treewright.sandbox.landlock import LandlockSandbox
from treewright.sandbox.namespaces import NamespaceSandbox
from treewright.sandbox.probe import prove
from treewright.sandbox.process import ProcessSandbox

Home = NamespaceSandbox | LandlockSandbox | ContainerSandbox  # those that hold something, and are to be closed


@dataclass(frozen=True, slots=True)
class Cover:
    """What a level of isolation gives.

    Args:
        level: its name, as in `Sandbox.level`.
        covers: what a program cannot do, or what is bounded.
        misses: what it can do, or what is not bounded.
    """

    level: str
    covers: tuple[str, ...]
    misses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of trying a level on this machine.

    Args:
        cover: the level.
        works: it proved itself.
        reason: why not, one clause; empty if it works.
        remedy: how to get it, one clause; empty if it works.
    """

    cover: Cover
    works: bool
    reason: str = ""
    remedy: str = ""


_ALWAYS_MISSED = (
    "a fault of the kernel in the system calls that remain",
    "side channels of the processor and of timing",
)
_CONTAINED = (
    "files of the host: none can be seen, and those of the image not be written",
    "network: none, not even the host's own",
    "other processes: none can be seen or signalled; all that a run started ends with it",
    "secrets: an empty environment, no descriptor and no memory of the host",
    "privileges: an own user, no capability, about 190 system calls on top of the engine's own filter",
    "memory without swap, processor time, wall time, files, output, descriptors, processes and threads together",
)
_OF_CONTAINERS = (
    "speed: a container is started for each run, which takes 0.2 s to 1 s",
    "processes cannot be counted apart from threads, nor processor time for all of them together",
    "the image is trusted, and programs have its Python and its packages, not this machine's",
    *_ALWAYS_MISSED,
)
COVERS = (
    Cover(
        "namespaces",
        (
            "files of the host: none can be seen but the interpreter, its packages and system libraries, read-only",
            "network: none, not even the host's own",
            "other processes: none can be seen or signalled; all that a run started ends with it",
            "secrets: an empty environment, no descriptor and no memory of the host",
            "privileges: an own user, no capability, about 190 system calls",
            "memory, processor time, wall time, files (size and number), output, descriptors, processes",
        ),
        _ALWAYS_MISSED,
    ),
    Cover(
        "landlock",
        (
            "files of the host: none can be read but the interpreter, its packages and system libraries; none written",
            "network: none",
            "other processes: none can be signalled or made",
            "secrets: an empty environment, no descriptor and no memory of the host",
            "privileges: no capability, about 190 system calls",
            "memory, processor time, wall time, output, descriptors",
        ),
        (
            "programs that write files, start processes or are not in Python do not run",
            "ids of other processes, and the host's path to the interpreter, can be seen",
            *_ALWAYS_MISSED,
        ),
    ),
    Cover("podman", _CONTAINED, ("files: their number is bounded by memory alone", *_OF_CONTAINERS)),
    Cover(
        "docker",
        _CONTAINED,
        ("the engine: its daemon runs as root, and who may ask it for containers is root on this machine", *_OF_CONTAINERS),
    ),
    Cover(
        "process",
        ("memory, processor time, wall time, output, each for mistakes rather than ill will",),
        ("files, network, processes and secrets of the user who runs it: all within reach",),
    ),
)
_ORDER = ("namespaces", "landlock", "podman", "docker")
_CONTAINERS: tuple[EngineName, ...] = ("podman", "docker")


async def select(
    level: str = "auto", *, python: Path | None = None, warm: tuple[str, ...] = (), slots: int | None = None
) -> Sandbox:
    """The sandbox of that level, after it has proved itself here.

    Args:
        level: "auto" for the strongest that works, or "namespaces", "landlock", "podman", "docker", "process". "podman" and
            "docker" can be followed by a colon and an image. "process" isolates nothing and is therefore never taken by itself.
        python: an interpreter or a virtual environment whose packages the programs get; default: the host's own. Containers
            have their image's instead.
        warm: packages to import ahead, by name. Containers do not.
        slots: warm interpreters to keep; default: one a processor. Containers have none.

    Raises:
        UserError: there is no such level, or no such Python, or a container is to have one.
        SandboxUnavailable: it does not work here; the message says why and how to get it.
    """
    if level == "process":
        return ProcessSandbox(python=python)
    name, _, image = level.partition(":")
    if name not in ("auto", *_ORDER) or (image and name not in _CONTAINERS):
        raise UserError(f"There is no sandbox {level!r}: use auto, namespaces, landlock or process, or podman or docker.")
    if name in _CONTAINERS and python is not None:
        raise UserError(
            f"A container cannot have a Python of this machine: use {name}:IMAGE with an image that has the packages."
        )
    failures = []
    for each in _ORDER if name == "auto" else (name,):
        tried = await _try(each, python, warm, slots, image or DEFAULT_IMAGE)
        if not isinstance(tried, str):
            return tried
        failures.append(f"{each}: {tried} (to get it, {remedy(each)})")
    raise SandboxUnavailable(
        f"No isolation for untrusted programs on this machine. {'; '.join(failures)}. "
        "To run programs without isolation, ask for the sandbox 'process'."
    )


async def survey(*, python: Path | None = None) -> tuple[Finding, ...]:
    """Try every level and say what came of it, strongest first."""
    findings = []
    for cover in COVERS:
        if cover.level == "process":
            findings.append(Finding(cover, works=True))
            continue
        tried = await _try(cover.level, python, (), 1, DEFAULT_IMAGE)
        if isinstance(tried, str):
            findings.append(Finding(cover, works=False, reason=tried, remedy=remedy(cover.level)))
        else:
            tried.close()
            findings.append(Finding(cover, works=True))
    return tuple(findings)


def describe(level: str) -> Cover:
    """What a level gives.

    Raises:
        UserError: there is no such level.
    """
    for cover in COVERS:
        if cover.level == level:
            return cover
    raise UserError(f"There is no sandbox {level!r}: use {', '.join(cover.level for cover in COVERS)}.")


async def _try(level: str, python: Path | None, warm: tuple[str, ...], slots: int | None, image: str) -> Home | str:
    """The sandbox, or why it is none."""
    if level in _CONTAINERS and python is not None:
        return "a container cannot have a Python of this machine"
    try:
        sandbox = await asyncio.to_thread(_make, level, python, warm, slots, image)
    except SandboxUnavailable as error:
        return str(error).rstrip(".")
    wrong = ""
    try:
        wrong = await prove(sandbox)
    except BaseException:
        sandbox.close()
        raise
    if wrong:
        sandbox.close()
    return wrong or sandbox


def _make(level: str, python: Path | None, warm: tuple[str, ...], slots: int | None, image: str) -> Home:
    for engine in _CONTAINERS:
        if level == engine:
            return ContainerSandbox(engine, image=image)
    if level == "landlock":
        return LandlockSandbox(python=python, warm=warm, slots=slots)
    return NamespaceSandbox(python=python, warm=warm, slots=slots)


def remedy(level: str, root: Path = Path("/")) -> str:
    """How to get a level on this machine, one clause.

    Args:
        level: its name.
        root: where the system's files lie.
    """
    if level == "landlock":
        return "use Linux 5.13 or newer with Landlock among its security modules"
    if level in _CONTAINERS:
        return f"install {level} with control groups for its containers, and have an image: {level} pull {DEFAULT_IMAGE}"
    if _says(root / "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
        return "give bubblewrap an AppArmor profile that allows user namespaces (see docs), or run as root"
    if _says(root / "proc/sys/user/max_user_namespaces", "0"):
        return "set the sysctl user.max_user_namespaces above 0, or run as root"
    if _says(root / "proc/sys/kernel/unprivileged_userns_clone", "0"):
        return "set the sysctl kernel.unprivileged_userns_clone to 1, or run as root"
    try:
        find_bwrap()
    except SandboxUnavailable:
        return HOW_TO_GET
    return "in a container: --security-opt seccomp=unconfined, or a profile that allows clone, unshare and mount"


def _says(path: Path, text: str) -> bool:
    with suppress(OSError):
        return path.read_text().strip() == text
    return False
