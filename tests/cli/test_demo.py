"""`treewright demo`: every task of a folder, and a table."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from adding import TOML, judged, rows, write_script
from command import here
from treewright.journal.sqlite import SQLiteJournal

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tasks, a script that solves each of them, and files that are no tasks."""
    for name in ("TREEWRIGHT_MODEL", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", str(tmp_path / "own.db"))
    monkeypatch.setattr("treewright.assembly.run_tests", judged)
    monkeypatch.chdir(tmp_path)
    Path("tasks").mkdir()
    Path("tasks/2-second.toml").write_text(TOML)
    Path("tasks/1-[red]first.toml").write_text(TOML)
    Path("tasks/notes.txt").write_text("not a task")
    write_script(Path("talk.jsonl"), rows())
    return tmp_path


DEMO = ("demo", "tasks", "--model", "scripted:talk.jsonl", "--sandbox", "process", "--parallel", "1")


def test_it_solves_every_task_and_prints_a_table(home: Path, capsys: Capture) -> None:
    done = here(capsys, *DEMO)
    assert done.status == 0
    assert "2 of 2 tasks solved" in done.out
    lines = [line.replace("│", " ").split() for line in done.out.splitlines() if "verified" in line]
    assert [line[:5] for line in lines] == [
        ["1-[red]first", "verified", "3", "9", "1,829"], ["2-second", "verified", "3", "9", "1,829"],
    ]  # fmt: skip
    for heading in ("task", "solved", "executions", "calls", "tokens", "seconds"):
        assert heading in done.out
    titles = [line for line in done.err.splitlines() if line.startswith("[")]
    assert titles == ["[1/2] 1-[red]first", "[2/2] 2-second"]
    with closing(SQLiteJournal(home / "own.db")) as journal:
        assert len(journal.runs()) == 2


def test_one_that_is_not_verified_makes_it_1(home: Path, capsys: Capture) -> None:
    done = here(capsys, *DEMO, "--budget", "2", "--quiet")
    assert (done.status, done.err) == (1, "")
    assert "2 of 2 tasks solved" in done.out
    assert here(capsys, *DEMO, "--budget", "1", "--quiet").out.startswith("0 of 2 tasks solved")


def test_json_is_one_object_a_task(home: Path, capsys: Capture) -> None:
    done = here(capsys, *DEMO, "--json", "--quiet")
    told = [json.loads(line) for line in done.out.splitlines()]
    assert [(run["task"], run["verified"]) for run in told] == [("1-[red]first", True), ("2-second", True)]


def test_what_was_solved_before_the_model_went_away_is_shown(home: Path, capsys: Capture) -> None:
    Path("tasks/2-second.toml").write_text(TOML.replace("sum of", "total of"))
    write_script(Path("talk.jsonl"), [row | {"when": f"(?s)(?!.*total of).*{row['when']}"} for row in rows()])
    done = here(capsys, *DEMO, "--quiet")
    assert done.status == 3
    assert "1 of 1 tasks solved" in done.out
    assert "has no reply left" in done.err


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["nowhere"], 2, "there is no folder nowhere: name one with tasks in it"),
        (["empty"], 2, "there is no task in empty: see `treewright solve --help` for the forms"),
        (["broken"], 2, "broken/bad.toml: no valid TOML"),
        (["tasks", "--strategy", "magic"], 2, "unknown strategy 'magic'"),
        (["tasks", "--budget", "0"], 2, "a budget of 0 executions"),
        (["tasks", "--preset", "magic"], 2, "unknown preset 'magic'"),
        (["tasks", "--journal", "/proc/j.db"], 2, "the journal /proc/j.db cannot be written"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(home: Path, arguments: list[str], status: int, says: str, capsys: Capture) -> None:
    Path("empty").mkdir()
    Path("broken").mkdir()
    Path("broken/bad.toml").write_text("prompt = ")
    done = here(capsys, "demo", *arguments, *DEMO[2:], "--quiet")
    assert (done.status, done.out) == (status, "")
    assert done.said.startswith(says)
