"""`treewright solve` and `resume`: exit statuses, what goes where, and every way to ask for something impossible."""

from __future__ import annotations

import io
import json
import os
import socket
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from adding import ANSWER, TALK, TOML, block, judged, rows, write_script
from command import Done, here
from treewright.journal.sqlite import SQLiteJournal
from treewright.models.throttled import Throttled

KEYS = ["task", "strategy", "model", "solved", "verified", "answer", "reason", "ended", "usage", "run_id"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a task and a script, a journal of its own, and a judge that starts no process."""
    for name in (*(n for n in os.environ if n.endswith("_API_KEY")), "TREEWRIGHT_MODEL", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", str(tmp_path / "own.db"))
    monkeypatch.setattr("treewright.assembly.run_tests", judged)
    monkeypatch.chdir(tmp_path)
    Path("add.toml").write_text(TOML)
    write_script(Path("talk.jsonl"), rows())
    return tmp_path


SOLVE = ("solve", "add.toml", "--model", "scripted:talk.jsonl", "--sandbox", "process")
Capture = pytest.CaptureFixture[str]


def runs(path: Path) -> list[tuple[str, bool]]:
    with closing(SQLiteJournal(path)) as journal:
        return [(line.run, line.ended is not None and line.ended.finished) for line in journal.runs()]


def write_task(text: str, name: str = "task.toml") -> str:
    Path(name).write_text(text)
    return name


def test_an_accepted_answer_is_printed_and_ends_with_0(home: Path, capsys: Capture) -> None:
    done = here(capsys, *SOLVE)
    assert (done.status, done.out) == (0, ANSWER)
    lines = done.err.splitlines()
    assert lines[0] == "node 0: 22 to try"
    assert lines[1] == "node 0.0: 1/3 tests, score 0.45, to refine"
    assert lines[-3].endswith("node 0.0.0.0: 3/3 tests, score 1.00, accepted")
    assert lines[-2].startswith(
        "verified: accepted; node 0.0.0.0, accepted: it passes every visible test (3 executions, 9 calls, "
    )
    assert lines[-1] == f"treewright show {runs(home / 'own.db')[0][0]}"


def test_an_unverified_answer_is_printed_and_ends_with_1(home: Path, capsys: Capture) -> None:
    done = here(capsys, *SOLVE, "--budget", "1")
    assert (done.status, done.out) == (1, "def add(a, b):\n    return a - b\n")
    assert "unverified: the budget of executions is spent; node 0.0, unverified: it passes 1 of 3 visible tests" in done.err


def test_an_answer_that_passes_its_tests_but_was_not_accepted_is_unverified(home: Path, capsys: Capture) -> None:
    told = json.loads((done := here(capsys, *SOLVE, "--budget", "2", "--json")).out)
    assert (done.status, told["solved"], told["verified"]) == (1, True, False)
    assert "it passes every visible test, but the Critic did not accept it" in told["reason"]


def test_a_task_without_tests_says_unverified_and_why(home: Path, capsys: Capture) -> None:
    again = (("Say", block("b + a")), ("Would it pass", "True")) * 3
    talk = (TALK[0], ("Say", block("a + b")), ("Would it pass", "True"), *again)
    write_script(Path("talk.jsonl"), rows(talk=talk))
    task = write_task('prompt = "Say how to add."')
    done = here(capsys, *SOLVE[:1], task, *SOLVE[2:])
    assert (done.status, done.out) == (1, "def add(a, b):\n    return a + b\n")
    assert "unverified: the task has no tests" in done.err


def test_no_answer_at_all_ends_with_1_and_prints_none(home: Path, capsys: Capture) -> None:
    write_script(Path("talk.jsonl"), rows(talk=[("", "I would rather not.")] * 2))
    done = here(capsys, *SOLVE, "--strategy", "direct", "--out", "answer.py")
    assert (done.status, done.out) == (1, "")
    assert "no answer: nothing was left to try; no program was found" in done.err
    assert not Path("answer.py").exists()


def test_json_is_exactly_one_object_with_all_there_is_to_know(home: Path, capsys: Capture) -> None:
    done = here(capsys, *SOLVE, "--json")
    assert done.status == 0
    assert done.out.count("\n") == 1
    told = json.loads(done.out)
    assert list(told) == KEYS
    assert (told["task"], told["strategy"], told["model"]) == ("add", "codetree", "scripted:talk.jsonl")
    assert (told["solved"], told["verified"], told["answer"], told["ended"]) == (True, True, ANSWER, "accepted")
    assert told["reason"].startswith("accepted; node 0.0.0.0")
    assert sorted(told["usage"]) == ["calls", "dollars", "executions", "seconds", "tokens", "tool_calls"]
    assert told["usage"]["executions"] == 3
    assert told["run_id"] == runs(home / "own.db")[0][0]
    assert "node 0.0.0: 3/3 tests" in done.err
    assert here(capsys, *SOLVE, "--json", "--quiet").err == ""


def test_quiet_shows_no_progress(home: Path, capsys: Capture) -> None:
    assert here(capsys, *SOLVE, "--quiet") == Done(0, ANSWER, "")


def test_the_answer_can_go_to_a_file(home: Path, capsys: Capture) -> None:
    assert here(capsys, *SOLVE, "--quiet", "--out", "answer.py") == Done(0, "", "")
    assert Path("answer.py").read_text() == ANSWER
    told = json.loads(here(capsys, *SOLVE, "--quiet", "--json", "--out", "answer.py").out)
    assert told["answer"] == Path("answer.py").read_text() == ANSWER


@pytest.mark.parametrize("out", [".", "nowhere/answer.py", "add.toml/answer.py"])
def test_a_place_for_the_answer_that_cannot_be_is_refused_before_anything_is_paid(
    home: Path, out: str, capsys: Capture
) -> None:
    done = here(capsys, *SOLVE, "--out", out)
    assert done.status == 2
    assert done.said.startswith(f"the answer cannot be written to {out}: name a file in a folder that is there")
    assert not Path("own.db").exists()


@pytest.mark.parametrize("out", ["/dev/full", "/proc/answer.py"])
def test_an_answer_that_cannot_be_written_is_on_record(home: Path, out: str, capsys: Capture) -> None:
    done = here(capsys, *SOLVE, "--quiet", "--out", out, "--journal", "my journal.db")
    assert (done.status, done.out) == (2, "")
    (run, finished), *_ = runs(home / "my journal.db")
    assert finished
    assert done.said.startswith(f"the answer cannot be written to {out} (")
    assert done.said.endswith(f"but is on record: treewright resume {run} --journal 'my journal.db' --out FILE")
    assert here(capsys, "resume", run, "--journal", "my journal.db", "--quiet") == Done(0, ANSWER, "")


def test_a_task_comes_from_a_python_file(home: Path, capsys: Capture) -> None:
    stub = 'def add(a, b):\n    """Write a Python function: the sum of two numbers."""\n\n\n'
    task = write_task(stub + "assert add(2, 3) == 5\nassert add(-4, 1) == -3\nassert add(0, 0) == 0\n", "sum.py")
    done = here(capsys, "solve", task, *SOLVE[2:], "--json", "--quiet")
    assert (done.status, json.loads(done.out)["task"]) == (0, "sum")


def test_a_task_comes_from_standard_input(home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TOML.encode())))
    done = here(capsys, "solve", "-", *SOLVE[2:], "--json", "--quiet")
    assert (done.status, json.loads(done.out)["task"]) == (0, "stdin")


def test_the_environment_names_the_model(home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEWRIGHT_MODEL", "scripted:talk.jsonl")
    assert here(capsys, "solve", "add.toml", "--sandbox", "process", "--quiet").out == ANSWER


BAD_TASKS = {
    "an empty prompt": ('prompt = "  "\ntests = ["assert f(1) == 1"]', "the prompt is empty: say in words what to write"),
    "a test that is no Python": ('prompt = "x"\ntests = ["assert f(1"]', "test 1 is no valid Python"),
    "a test that can never fail": ('prompt = "x"\ntests = ["f(1) == 1"]', "test 1 compares but can never fail"),
    "an entry point that is never called": (
        'prompt = "x"\nentry_point = "g"\ntests = ["assert f(1) == 1"]',
        "the tests never call the entry point 'g' (they call f)",
    ),
    "an unknown key": ('prompt = "x"\ntest = ["assert f(1) == 1"]', "unknown key 'test': did you mean 'tests'?"),
    "no TOML": ("prompt = ", "no valid TOML"),
    "a time limit of nothing": ('prompt = "x"\ntime_limit_s = 0', "time_limit_s is 0"),
}


@pytest.mark.parametrize("name", BAD_TASKS)
def test_a_task_that_makes_no_sense_is_one_sentence(home: Path, name: str, capsys: Capture) -> None:
    text, says = BAD_TASKS[name]
    done = here(capsys, "solve", write_task(text), *SOLVE[2:])
    assert (done.status, done.out) == (2, "")
    assert done.said.startswith("task.toml: ")
    assert says in done.said
    assert not Path("own.db").exists()


BAD_OPTIONS = {
    "an unknown strategy": (["--strategy", "magic"], 2, "unknown strategy 'magic': choose one of codetree, codetree-bfs, "),
    "an unknown preset": (["--preset", "magic"], 2, "unknown preset 'magic': choose one of "),
    "an unknown part": (["--without", "magic"], 2, "unknown part 'magic' to leave out: choose among verification, abort, scor"),
    "a part of another": (["--strategy", "direct", "--without", "abort"], 2, "direct has no abort to leave out"),
    "an unknown sandbox": (["--sandbox", "magic"], 2, "no sandbox 'magic': use auto, namespaces, landlock or process"),
    "a budget of nothing": (["--budget", "0"], 2, "a budget of 0 executions allows nothing to run: give a number above 0"),
    "a budget of less": (["--budget", "-5"], 2, "a budget of -5 executions allows nothing"),
    "a budget of no tokens": (["--budget", "20,tokens=0"], 2, "a budget of 0 tokens allows nothing"),
    "a budget of something": (["--budget", "euros=5"], 2, "unknown budget 'euros'; known are executions, calls"),
    "nobody at work": (["--parallel", "0"], 2, "parallel is 0: at least 1 step must be at work"),
    "an unknown model": (["--model", "magic:8b"], 2, "unknown model 'magic:8b'; known are local:, scripted:, anthropic:, goo"),
    "half a model": (["--model", "openai"], 2, "'openai' lacks the model's own name: openai:NAME"),
    "a key that is missing": (["--model", "openai:gpt-4o-mini"], 3, "set the environment variable OPENAI_API_KEY"),
    "another key": (["--model", "anthropic:claude-sonnet-4-5"], 3, "set the environment variable ANTHROPIC_API_KEY"),
    "no script": (["--model", "scripted:none.jsonl"], 2, "the script none.jsonl cannot be read: No such file or directory"),
    "a script that is none": (["--model", "scripted:add.toml"], 2, "add.toml, line 1: not JSON"),
    "a GGUF that is none": (["--model", "local:add.toml"], 2, "add.toml is not a GGUF file"),
    "no GGUF": (["--model", "local:none.gguf"], 2, "none.gguf cannot be read: No such file or directory"),
    "a price nobody knows": (
        ["--model", "openai:mine@http://127.0.0.1:9/v1", "--budget", "usd=1"], 2, "no price is known for openai:mine@http",
    ),
    "a journal below a file": (["--journal", "add.toml/j.db"], 2, "the journal add.toml/j.db cannot be written (add.toml is"),
    "a journal nobody may write": (["--journal", "/proc/j.db"], 2, "the journal /proc/j.db cannot be written ("),
    "a journal that is a folder": (["--journal", "."], 2, ". is a folder: name a file in it with --journal FILE"),
    "a journal that is none": (["--journal", "add.toml"], 2, "add.toml is not a treewright journal, or is damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_an_option_that_makes_no_sense_is_one_sentence(
    home: Path, name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, status, says = BAD_OPTIONS[name]
    monkeypatch.setenv("OPENAI_API_KEY", "x") if "127.0.0.1" in str(options) else None
    replaced = [word for flag in ("--model", "--sandbox") if flag in options for word in (flag, SOLVE[SOLVE.index(flag) + 1])]
    done = here(capsys, *(word for word in SOLVE if word not in replaced), *options)
    assert (done.status, done.out) == (status, ""), done.err
    assert says in done.said
    assert not Path("own.db").exists() or runs(home / "own.db") == [], "nothing was begun"


def test_a_task_that_is_not_there_says_what_a_task_is(home: Path, capsys: Capture) -> None:
    done = here(capsys, "solve", "none.toml", *SOLVE[2:])
    assert done.status == 2
    assert done.said.startswith("none.toml: cannot be opened (No such file or directory); a task is a .toml file, ")


def test_a_journal_from_a_newer_version_is_refused_and_left_alone(home: Path, capsys: Capture) -> None:
    here(capsys, *SOLVE)
    import sqlite3

    with closing(sqlite3.connect("own.db")) as database:
        database.execute("pragma user_version = 99")
    before = Path("own.db").read_bytes()
    for arguments in (SOLVE, ("runs",), ("show", "last"), ("resume", "last")):
        done = here(capsys, *arguments)
        assert (done.status, done.out) == (2, "")
        assert "was written by a newer treewright (schema 99, this one reads up to " in done.said
        assert "upgrade treewright" in done.said
    assert Path("own.db").read_bytes() == before


def test_a_server_that_cannot_be_reached_is_one_sentence_and_the_run_can_be_resumed(
    home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setattr("treewright.opening.Throttled", partial(Throttled, tries=2, first_pause_s=0.01))
    name = f"openai:mine@http://127.0.0.1:{port}/v1"
    done = here(capsys, "solve", "add.toml", "--model", name, "--sandbox", "process", "--quiet")
    assert (done.status, done.out) == (3, "")
    (run, finished), *_ = runs(home / "own.db")
    assert not finished
    assert done.err == f"to go on: treewright resume {run}\ntreewright: {name} cannot be reached; gave up after 2 tries\n"


def test_a_model_that_goes_away_ends_with_3_and_the_run_goes_on_later(home: Path, capsys: Capture) -> None:
    write_script(Path("talk.jsonl"), rows(talk=TALK[:4]))
    done = here(capsys, *SOLVE)
    assert done.status == 3
    assert done.out == ""
    assert "has no reply left for this call" in done.err.splitlines()[-1]
    (run, finished), *_ = runs(home / "own.db")
    assert not finished
    assert f"to go on: treewright resume {run}" in done.err.splitlines()
    write_script(Path("talk.jsonl"), rows())
    again = here(capsys, "resume", run[:-2], "--json", "--quiet")
    assert (again.status, again.err) == (0, "")
    told = json.loads(again.out)
    assert (told["run_id"], told["answer"], told["usage"]["calls"]) == (run, ANSWER, len(TALK) + 1)


def test_a_finished_run_is_resumed_for_nothing(home: Path, capsys: Capture) -> None:
    here(capsys, *SOLVE, "--budget", "1")
    Path("talk.jsonl").unlink()
    for _ in range(2):
        done = here(capsys, "resume", "last", "--out", "answer.py")
        assert (done.status, done.out) == (1, "")
        assert "the budget of executions is spent" in done.err
    assert Path("answer.py").read_text() == "def add(a, b):\n    return a - b\n"


def test_a_larger_budget_goes_on_where_the_run_ended(home: Path, capsys: Capture) -> None:
    here(capsys, *SOLVE, "--budget", "1,tokens=100000")
    done = here(capsys, "resume", "last", "--budget", "5", "--json", "--quiet")
    told = json.loads(done.out)
    assert (done.status, told["answer"], told["usage"]["executions"]) == (0, ANSWER, 3)
    assert told["usage"]["calls"] == len(TALK)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nobody"], "no run 'nobody' in this journal: `treewright runs` lists them"),
        (["2"], "2 runs begin with '2', such as "),
        (["last", "--budget", "0"], "a budget of 0 executions allows nothing"),
        (["last", "--journal", "none.db"], "there is no journal at none.db: run something first"),
    ],
)
def test_resuming_what_cannot_be_is_one_sentence(home: Path, arguments: list[str], says: str, capsys: Capture) -> None:
    for _ in range(2):
        here(capsys, *SOLVE, "--budget", "1")
    done = here(capsys, "resume", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.said.startswith(says)
    assert not Path("none.db").exists()


def test_a_prompt_of_five_megabytes_is_solved_like_any_other(home: Path, capsys: Capture) -> None:
    prompt = "Write a Python function `add(a, b)`. " + "The numbers may be very long. " * 180_000
    assert len(prompt) > 5_000_000
    write_script(Path("talk.jsonl"), rows(talk=[("The numbers", block("a + b"))]))
    task = write_task(f'prompt = "{prompt}"\ntests = ["assert add(1, 2) == 3"]')
    done = here(capsys, "solve", task, *SOLVE[2:], "--quiet", "--strategy", "direct")
    assert (done.status, done.out, done.err) == (0, "def add(a, b):\n    return a + b\n", "")
    assert Path("own.db").stat().st_size < 1_000_000
    assert here(capsys, "show", "last", "0.0").status == 0


def test_names_that_are_no_text_are_survived(home: Path, capsys: Capture) -> None:
    name = os.fsdecode(b"gr\xf6sse.toml")
    write_task(TOML, name)
    assert sys.getfilesystemencoding() == "utf-8"
    done = here(capsys, "solve", name, *SOLVE[2:], "--json", "--quiet")
    assert done.status == 0
    assert json.loads(done.out)["task"] == os.fsdecode(b"gr\xf6sse")
    assert here(capsys, "runs").status == here(capsys, "show", "last").status == 0
