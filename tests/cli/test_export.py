"""`treewright export`: rows of recorded runs, to a file or to standard output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adding import TALK, TOML, judged, rows, write_script
from command import here
from treewright.exporting import LICENCE

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """A journal with two runs: one that was verified, and one that only failed."""
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", str(tmp_path / "own.db"))
    monkeypatch.setattr("treewright.assembly.run_tests", judged)
    monkeypatch.chdir(tmp_path)
    Path("add.toml").write_text(TOML)
    for name, talk, budget in (("talk", TALK, "20"), ("short", TALK[:4], "1")):
        model = write_script(Path(f"{name}.jsonl"), rows(talk=talk))
        here(capsys, "solve", "add.toml", "--model", model, "--sandbox", "process", "--quiet", "--budget", budget)
    return tmp_path


def ids(capsys: Capture) -> list[str]:
    """Oldest first."""
    return [json.loads(line)["run_id"] for line in here(capsys, "runs", "--json").out.splitlines()][::-1]


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(("form", "count"), [("sft", 7), ("preference", 1), ("reward", 3)])
def test_rows_go_to_standard_output(home: Path, capsys: Capture, form: str, count: int) -> None:
    run = ids(capsys)[0]
    done = here(capsys, "export", run, "--format", form)
    assert done.status == 0
    assert len(lines(done.out)) == count
    assert {row["metadata"]["run_id"] for row in lines(done.out)} == {run}
    assert done.err == f"{count} row{'s' * (count != 1)} of 1 run; licence: {LICENCE}\n"
    assert here(capsys, "export", run, "--format", form, "--quiet").err == ""


def test_rows_go_to_a_file_with_the_licence_that_was_named(home: Path, capsys: Capture) -> None:
    done = here(capsys, "export", *ids(capsys), "last", "--format", "reward", "--out", "rows.jsonl", "--licence", "CC0")
    assert (done.status, done.out) == (0, "")
    assert done.err == "3 rows of 2 runs; licence: CC0\n", "the second run's only program is the first one's"
    found = lines(Path("rows.jsonl").read_text())
    assert [row["metadata"]["licence"] for row in found] == ["CC0"] * 3
    assert not Path("rows.jsonl.part").exists()


def test_a_run_without_a_right_program_leaves_nothing_and_says_so(home: Path, capsys: Capture) -> None:
    done = here(capsys, "export", "last", "--format", "preference")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("0 rows of 1 run")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--format", "sft"], "name a run, as in: treewright export last --format sft"),
        (["nobody", "--format", "sft"], "no run 'nobody' in this journal"),
        (
            ["last", "--format", "sft", "--out", "none/rows.jsonl"],
            "the rows cannot be written to none/rows.jsonl (No such file",
        ),
        (["last", "--format", "sft", "--out", "."], "the rows cannot be written to ., which is a folder"),
        (["last", "--format", "sft", "--journal", "none.db"], "there is no journal at none.db"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(home: Path, capsys: Capture, arguments: list[str], says: str) -> None:
    done = here(capsys, "export", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.said.startswith(says)


def test_a_file_that_is_there_stays_when_the_rows_cannot_be_made(home: Path, capsys: Capture) -> None:
    Path("rows.jsonl").write_text("kept")
    done = here(capsys, "export", "last", "nobody", "--format", "sft", "--out", "rows.jsonl")
    assert done.status == 2
    assert Path("rows.jsonl").read_text() == "kept"


def test_the_format_has_to_be_named(home: Path, capsys: Capture) -> None:
    assert here(capsys, "export", "last").status == 2
    assert here(capsys, "export", "last", "--format", "csv").status == 2


def test_a_pipe_is_written_to_and_not_replaced(home: Path, capsys: Capture) -> None:
    import os
    import threading

    os.mkfifo("pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_text()))
    reader.start()
    assert here(capsys, "export", *ids(capsys), "--format", "reward", "--out", "pipe").status == 0
    reader.join()
    assert len(lines(read[0])) == 3
    assert Path("pipe").is_fifo()
