"""The command, run in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from treewright.cli import main

#: What starts the command in a process of its own, whatever is on the path.
COMMAND = (sys.executable, "-c", "from treewright.cli import main; main()")


@dataclass(frozen=True, slots=True)
class Done:
    """How the command ended: its exit status, standard output and standard error."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """The one sentence that went to standard error, without the command's name."""
        (line,) = self.err.splitlines()
        assert line.startswith("treewright: ")
        assert "Traceback" not in line
        return line.removeprefix("treewright: ")


def here(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Done:
    """Run the command in this process."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert isinstance(ended.value.code, int)
    return Done(ended.value.code, *capsys.readouterr())


def apart(*arguments: str | Path, stdin: str | None = None, **settings: Any) -> Done:
    """Run the command in a process of its own; `settings` as of `subprocess.run`."""
    usual: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": inherited()}
    done = subprocess.run([*COMMAND, *map(str, arguments)], input=stdin, text=True, check=False, **usual | settings)
    return Done(done.returncode, done.stdout or "", done.stderr or "")


def inherited() -> dict[str, str]:
    """This process's environment; output is buffered as it is for users."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def environment(**changes: str) -> dict[str, str]:
    """This process's environment without what would change how the command behaves."""
    dropped = ("TREEWRIGHT_", "OPENAI_", "ANTHROPIC_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
    return {name: value for name, value in inherited().items() if not name.startswith(dropped)} | changes
