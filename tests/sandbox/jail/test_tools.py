from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox_homes import ended, namespaces
from treewright.sandbox.base import Job, Limits
from treewright.sandbox.jail.tools import installed


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_installations_outside_usr_are_asked_for_and_broken_ones_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = tmp_path / "rust"
    program(prefix / "bin", "rustc", "true")
    program(tmp_path / "path", "rustc", f"echo {prefix}")
    program(tmp_path / "path", "go", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert installed() == (prefix,)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed() == ()


def test_their_programs_are_found_in_the_sandbox(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        with suppress(PermissionError):
            folder.chmod(folder.stat().st_mode | 0o055)
    program(tmp_path / "lang" / "bin", "newc", 'echo "compiled $1"')
    with namespaces(tools=(tmp_path / "lang",), slots=1) as sandbox:
        job = Job(command=("newc", "a.new"), limits=Limits(processes=2))
        assert asyncio.run(ended(sandbox, job)).stdout == b"compiled a.new\n"
