"""Compilers and interpreters of this machine that lie outside /usr, where a jail would not show them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

# program -> how to ask it for its installation, a folder with `bin`
_ASK = {"rustc": ("--print", "sysroot"), "go": ("env", "GOROOT")}


def installed() -> tuple[Path, ...]:
    """The installations of those that are found on PATH and are not below /usr anyway."""
    found = []
    for program, question in _ASK.items():
        here = shutil.which(program)
        if here is None or Path(here).resolve().is_relative_to("/usr"):
            continue
        try:
            answer = subprocess.run([here, *question], capture_output=True, check=True, timeout=30, text=True)
        except (OSError, subprocess.SubprocessError):
            continue  # a stub without an installation behind it
        prefix = Path(answer.stdout.strip())
        if (prefix / "bin").is_dir():
            found.append(prefix)
    return tuple(found)
