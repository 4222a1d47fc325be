"""A Python that programs are to run with: where its parts lie on this machine, so that a jail can show them and no more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from treewright.core.errors import UserError

_OLDEST = (3, 10)
_ASK = """
import json, os, site, sys, sysconfig
base = getattr(sys, "_base_executable", "") or sys.executable
print(json.dumps({
    "version": sys.version_info[:2],
    "executable": os.path.realpath(base if os.path.exists(base) else sys.executable),
    "base": sys.base_prefix,
    "stdlib": sysconfig.get_path("stdlib"),
    "site": [path for path in site.getsitepackages() if os.path.isdir(path)],
}))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python and its packages.

    Args:
        version: (major, minor).
        executable: the real program, links followed.
        base: prefix of the installation, below which its library lies.
        stdlib: folder of the standard library.
        site: folders of installed packages, in the order in which they are searched.
    """

    version: tuple[int, int]
    executable: Path
    base: Path
    stdlib: Path
    site: tuple[Path, ...]

    def path(self) -> list[str]:
        """`sys.path` of a program on this machine: standard library and packages, nothing of the host's."""
        return [str(self.stdlib), str(self.stdlib / "lib-dynload"), *map(str, self.site)]


def find(python: Path | None = None) -> Interpreter:
    """Ask an interpreter where its parts lie.

    Args:
        python: an interpreter, or the folder of a virtual environment; None for the one that runs this.

    Raises:
        UserError: there is none at `python`, it does not run, or it is older than 3.10.
    """
    if python is not None and python.is_dir():
        python = python / "bin" / "python"
    asked = str(python or sys.executable)
    try:
        answer = subprocess.run([asked, "-I", "-c", _ASK], capture_output=True, check=True, timeout=30, text=True)
        facts = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        message = f"{asked} is not a Python that runs; name an interpreter or the folder of a virtual environment."
        raise UserError(message) from error
    version = (int(facts["version"][0]), int(facts["version"][1]))
    if version < _OLDEST:
        raise UserError(f"{asked} is Python {version[0]}.{version[1]}; the sandbox needs 3.10 or newer.")
    site = tuple(Path(path) for path in facts["site"])
    return Interpreter(version, Path(facts["executable"]), Path(facts["base"]), Path(facts["stdlib"]), site)


def open_to_others(path: Path) -> bool:
    """Whether another user than the owner could read `path`: every folder above it can be passed, and it can be read."""
    above = all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)
    return above and path.stat().st_mode & 0o004 != 0 and os.access(path, os.R_OK)
