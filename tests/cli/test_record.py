"""`treewright runs` and `show`: what is in the journal, for people and for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adding import ANSWER, TALK, TOML, block, judged, rows, write_script
from command import here
from treewright.assembly import CODE
from treewright.journal.sqlite import SQLiteJournal

Capture = pytest.CaptureFixture[str]
SOLVE = ("solve", "add.toml", "--model", "scripted:talk.jsonl", "--sandbox", "process", "--quiet")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("TREEWRIGHT_MODEL", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", str(tmp_path / "own.db"))
    monkeypatch.setattr("treewright.assembly.run_tests", judged)
    monkeypatch.chdir(tmp_path)
    Path("add.toml").write_text(TOML)
    write_script(Path("talk.jsonl"), rows())
    return tmp_path


@pytest.fixture
def four(home: Path, capsys: Capture) -> Iterator[SQLiteJournal]:
    """Runs that were verified, spent their budget, lost their model, and are at work now, oldest first."""
    here(capsys, *SOLVE)
    here(capsys, *SOLVE, "--budget", "1")
    write_script(Path("short.jsonl"), rows(talk=TALK[:4]))
    here(capsys, *SOLVE[:3], "scripted:short.jsonl", *SOLVE[4:], "--strategy", "codetree-dfs")
    with closing(SQLiteJournal(home / "own.db")) as journal:
        (newest, *_) = journal.runs()
        journal.append("99999999-at-work", next(iter(journal.read(newest.run, CODE))).event)
        yield journal


def test_without_any_run_it_says_so(home: Path, capsys: Capture) -> None:
    assert here(capsys, "runs").out == "no runs yet\n"
    assert here(capsys, "runs", "--json").out == ""
    assert not Path("own.db").exists(), "looking makes nothing"


def test_a_journal_that_is_named_has_to_be_there(home: Path, capsys: Capture) -> None:
    done = here(capsys, "runs", "--journal", "none.db")
    assert (done.status, done.said) == (
        2, "there is no journal at none.db: run something first, or name one with --journal FILE"
    )  # fmt: skip


def test_runs_are_listed_newest_first_with_their_status_and_cost(four: SQLiteJournal, capsys: Capture) -> None:
    done = here(capsys, "runs")
    assert (done.status, done.err) == (0, "")
    heading, *lines = [re.split(r"  +", line.strip()) for line in done.out.splitlines()]
    assert heading == ["run", "status", "task", "strategy", "model", "executions", "calls", "tokens", "cost"]
    assert [line[1] for line in lines] == ["running", "stopped", "unverified", "verified"]
    assert [line[0] for line in lines] == sorted((line[0] for line in lines), reverse=True)
    assert lines[3][2:7] == ["add", "codetree", "scripted:talk.jsonl", "3", "9"]
    assert lines[3][8] == "$0.0000"
    assert lines[1][2:5] == ["add", "codetree-dfs", "scripted:short.jsonl"]


def test_json_is_one_object_a_run(four: SQLiteJournal, capsys: Capture) -> None:
    done = here(capsys, "runs", "--json")
    told = [json.loads(line) for line in done.out.splitlines()]
    assert [run["status"] for run in told] == ["running", "stopped", "unverified", "verified"]
    assert [run["strategy"] for run in told] == ["codetree-dfs", "codetree-dfs", "codetree", "codetree"]
    assert [run["solved"] for run in told] == [False, False, False, True]
    best = told[3]
    assert (best["run_id"], best["task"], best["model"]) == (four.runs()[3].run, "add", "scripted:talk.jsonl")
    assert (best["cost"], best["executions"], best["calls"], best["verified"], best["reason"]) == (0.0, 3, 9, True, "accepted")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", best["started"])
    assert len(here(capsys, "runs", "--json", "--most", "2").out.splitlines()) == 2


def test_a_run_that_was_killed_is_stopped(four: SQLiteJournal, capsys: Capture) -> None:
    four.close()  # as the kernel does for a process that dies
    assert json.loads(here(capsys, "runs", "--json").out.splitlines()[0])["status"] == "stopped"


def test_a_damaged_run_hides_no_other(four: SQLiteJournal, capsys: Capture) -> None:
    import sqlite3

    with closing(sqlite3.connect("own.db")) as database:
        database.execute("update event set body = x'00' where place % 4294967296 = 1 and place / 4294967296 = 1")
        database.commit()
    told = [json.loads(line) for line in here(capsys, "runs", "--json").out.splitlines()]
    assert [(run["status"], run["strategy"]) for run in told][2:] == [("unverified", "codetree"), ("verified", "")]
    assert here(capsys, "show", told[2]["run_id"]).status == 0
    done = here(capsys, "show", told[3]["run_id"])
    assert done.status == 2
    assert done.said.startswith(f"event 1 of run {told[3]['run_id']} in {Path('own.db').absolute()} cannot be read: ")


def test_names_with_brackets_are_shown_as_they_are(home: Path, capsys: Capture) -> None:
    Path("[bold]add[red].toml").write_text(TOML)
    here(capsys, "solve", "[bold]add[red].toml", *SOLVE[2:])
    for command in (["runs"], ["show", "last"]):
        assert "[bold]add[red]" in here(capsys, *command).out


def test_the_tree_of_a_run_is_drawn(four: SQLiteJournal, capsys: Capture) -> None:
    run = four.runs()[3].run
    done = here(capsys, "show", run)
    lines = done.out.splitlines()
    assert lines[0] == f"{run}  add  codetree (recommended)  scripted:talk.jsonl"
    assert lines[1:5] == [
        "● 0  problem",
        "   ● 0.0  1/3  0.45  (no strategy)",
        "      ● 0.0.0  3/3  1.00  Use plus instead of minus.",
        "         ✔ 0.0.0.0  3/3  1.00  Put the second number first.",
    ]
    assert "   ○ 0.1  Subtract the second number from the first." in lines
    assert "   … and 19 plain samples in reserve" in lines
    assert lines[-1].startswith("accepted; node 0.0.0.0, accepted: it passes every visible test (3 executions, 9 calls, ")


def test_a_run_that_has_not_ended_says_how_to_go_on(four: SQLiteJournal, capsys: Capture) -> None:
    assert here(capsys, "show", "9999").out.splitlines()[-1] == "not ended; to go on: treewright resume 99999999-at-work"


def test_a_node_is_shown_with_its_program_tests_and_feedback(four: SQLiteJournal, capsys: Capture) -> None:
    done = here(capsys, "show", four.runs()[3].run, "0.0")
    assert "def add(a, b):\n    return a - b" in done.out
    assert "Passed 1 of 3 tests." in done.out
    assert "actual: something else" in done.out
    assert "It subtracts where it should add" in done.out
    assert "[user]" not in done.out


def test_prompts_are_shown_when_asked_for(four: SQLiteJournal, capsys: Capture) -> None:
    done = here(capsys, "show", four.runs()[3].run, "0.0.0", "--prompts")
    for words in ("debugger, ask 1", "critic.verification, ask 1", "thinker.reflections, ask 1"):
        assert words in done.out
    assert all(f"[{speaker}]\n" in done.out for speaker in ("system", "user", "assistant", "reply"))
    assert "The order of the numbers looks wrong to me." in done.out
    assert "solver, ask" not in done.out, "only the node's own"


def test_a_run_as_json_holds_every_node(four: SQLiteJournal, capsys: Capture) -> None:
    run = four.runs()[3].run
    told = json.loads(here(capsys, "show", run, "--json").out)
    assert told["run_id"] == run
    nodes = {node["node"]: node for node in told["nodes"]}
    assert len(nodes) == 25
    accepted = nodes["0.0.0.0"]
    assert (accepted["program"], accepted["evaluation"]["verdict"], accepted["status"]) == (ANSWER, "accept", "closed")
    assert (nodes["0.1"]["status"], nodes["0.1"]["program"], nodes["0.1"]["prior"]) == ("pending", None, 0.3)
    assert nodes["0.0"]["children"] == ["0.0.0"]
    one = json.loads(here(capsys, "show", run, "0.0", "--json", "--prompts").out)
    assert one == nodes["0.0"] | {"calls": one["calls"]}
    assert [call["role"] for call in one["calls"]] == ["solver", "critic.outputs", "thinker.reflections"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nobody"], "no run 'nobody' in this journal: `treewright runs` lists them"),
        (["2"], "3 runs begin with '2', such as "),
        (["9999", "0.7"], "run 99999999-at-work has no node '0.7': `treewright show 99999999-at-work` draws its tree"),
        (["last", "--journal", "none.db"], "there is no journal at none.db"),
    ],
)
def test_showing_what_is_not_there_is_one_sentence(
    four: SQLiteJournal, arguments: list[str], says: str, capsys: Capture
) -> None:
    done = here(capsys, "show", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.said.startswith(says)


def test_what_a_model_wrote_cannot_steer_a_terminal(home: Path, capsys: Capture) -> None:
    talk = list(TALK)
    talk[0] = ("Think of", "1. Clear \x1b[2J the screen.\x07\n2. Another \x9b31m way.")
    talk[1] = (TALK[1][0], block("a - b  # \x1b]0;title\x07"))
    write_script(Path("talk.jsonl"), rows(talk=talk))
    loud = here(capsys, *SOLVE[:-1])
    tree = here(capsys, "show", "last")
    for text in (loud.err, tree.out):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    assert "Clear ␛[2J the screen.␇" in tree.out
    assert "\x1b]0;title" in here(capsys, "show", "last", "0.0").out, "a file gets it as it is"
