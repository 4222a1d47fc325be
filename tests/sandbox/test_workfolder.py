from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Exit
from treewright.sandbox.workfolder import work_folder


def use(parent: Path | None, files: dict[str, bytes] | None = None, then: str = "") -> Path | Exit:
    async def run() -> Path | Exit:
        async with work_folder(parent, files or {}) as folder:
            if isinstance(folder, Path):
                assert {path.name: path.read_bytes() for path in folder.iterdir()} == (files or {})
                if then == "nest":
                    nest(folder)
                elif then == "lock":
                    (folder / "a" / "b").mkdir(parents=True)
                    (folder / "a").chmod(0)
            return folder

    return asyncio.run(run())


def nest(folder: Path) -> None:
    """Folders in folders, deeper than Python recurses and longer than a path may be."""
    here = os.open(folder, os.O_DIRECTORY)
    for _ in range(1050):
        os.mkdir("deeper", dir_fd=here)
        below = os.open("deeper", os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


@pytest.mark.parametrize("then", ["", "nest", "lock"])
def test_a_folder_is_gone_whatever_was_done_to_it(tmp_path: Path, then: str) -> None:
    folder = use(tmp_path, {"a.txt": b"\x00"} if not then else {}, then)
    assert isinstance(folder, Path)
    assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match=r"cannot write to .*missing.*: No such file"):
        use(tmp_path / "missing")


def test_nothing_is_left_when_a_file_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable):
        use(tmp_path, {"no/such/folder": b""})
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_the_hosts_shortage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", full)
    found = use(tmp_path)
    assert isinstance(found, Exit)
    assert (found.status, "No space left" in found.detail) == ("unavailable", True)
