"""Ctrl-C, a second Ctrl-C, and `kill -9`: whatever stops a run, it goes on with what it has, in a process of its own."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from adding import ANSWER, TALK, TOML, rows, write_script
from command import COMMAND, apart, environment
from treewright.assembly import CODE
from treewright.core.errors import JournalError
from treewright.core.events import BudgetChanged, Event, ModelCalled, NodeEvaluated, RunEnded
from treewright.journal.replay import Past, replay
from treewright.journal.sqlite import SQLiteJournal
from treewright.strategies.codetree_settings import CodeAction, CodeOutcome

JOURNAL = "my journal.db"
SOLVE = ("solve", "add.toml", "--model", "scripted:talk.jsonl", "--sandbox", "process", "--journal", JOURNAL)
PATIENCE_S = 60.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "add.toml").write_text(TOML)
    write_script(tmp_path / "talk.jsonl", rows(latency_s=0.3))
    return tmp_path


@contextmanager
def going(home: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command at work in `home`; killed at the end if it still is."""
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, *arguments], cwd=home, env=environment(), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def record(home: Path) -> list[Event]:
    """All events of the newest run so far; none while there is no journal yet."""
    try:
        with closing(SQLiteJournal(home / JOURNAL, must_exist=True)) as journal:
            lines = journal.runs()
            return [entry.event for entry in journal.read(lines[0].run, CODE)] if lines else []
    except JournalError:
        return []


def until(home: Path, ready: Callable[[list[Event]], bool]) -> list[Event]:
    """Wait until the record shows something."""
    end = time.monotonic() + PATIENCE_S
    while not ready(events := record(home)):
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)
    return events


def under_way(call: int) -> Callable[[list[Event]], bool]:
    """Whether a call of that number has begun and not ended."""

    def ready(events: list[Event]) -> bool:
        begun = any(isinstance(event, BudgetChanged) and event.call == call for event in events)
        return begun and not any(isinstance(event, ModelCalled) and event.call == call for event in events)

    return ready


def calls(events: Sequence[Event]) -> list[ModelCalled]:
    return [event for event in events if isinstance(event, ModelCalled)]


def resume_command(err: str) -> list[str]:
    """The arguments of the command that is printed for going on."""
    (line,) = re.findall(r"^to go on: (.*)$", err, re.MULTILINE)
    name, *arguments = shlex.split(line)
    assert name == "treewright"
    return arguments


def whole(home: Path) -> Past[CodeAction, CodeOutcome]:
    with closing(SQLiteJournal(home / JOURNAL)) as journal:
        return replay(journal.read(journal.runs()[0].run, CODE))


def test_a_run_survives_all_that_can_stop_it_and_pays_for_nothing_twice(home: Path) -> None:
    with going(home, *SOLVE) as process:
        until(home, under_way(2))
        process.kill()  # -9, in the first call of a program
        process.wait()
    run = json.loads(apart("runs", "--json", "--journal", home / JOURNAL).out)
    assert (run["status"], run["calls"]) == ("stopped", 1)
    resume = ["resume", run["run_id"][:-1], "--journal", JOURNAL]

    with going(home, *resume) as process:
        until(home, under_way(5))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, out) == (130, "def add(a, b):\n    return a - b\n")
        assert "stopping after the calls under way; press Ctrl-C again to stop at once" in err
    events = record(home)
    assert isinstance(events[-1], RunEnded)
    assert (events[-1].reason, events[-1].finished) == ("interrupted", False)
    assert calls(events)[-1].call == 5, "the call under way has ended and is on record"
    assert calls(events)[-1].reply is not None
    assert resume_command(err)[1] == run["run_id"]

    with going(home, *resume_command(err)) as process:
        until(home, lambda events: len([event for event in events if isinstance(event, NodeEvaluated)]) == 2)
        process.kill()  # -9, between two nodes
        process.wait()

    done = apart("resume", "last", "--journal", JOURNAL, "--json", cwd=home, env=environment())
    assert done.status == 0
    told = json.loads(done.out)
    assert (told["run_id"], told["answer"], told["verified"]) == (run["run_id"], ANSWER, True)
    replies = [call for call in calls(record(home)) if call.reply is not None]
    assert Counter(call.reply for call in replies) == Counter(reply for _, reply in TALK), "each was paid once"
    tree = whole(home).tree
    assert [node.id for node in tree.nodes.values() if node.outcome is not None] == ["0.0", "0.0.0", "0.0.0.0"]
    assert told["usage"]["executions"] == 3
    lost = len([event for event in record(home) if isinstance(event, BudgetChanged)]) - len(calls(record(home)))
    assert 1 <= lost <= 2
    assert told["usage"]["calls"] == len(TALK) + lost, "what was under way when it was killed counts"


def test_a_second_interrupt_stops_at_once(home: Path) -> None:
    talk = rows()
    talk[1]["latency_s"] = 300.0
    write_script(home / "talk.jsonl", talk)
    with going(home, *SOLVE, "--json", "--quiet") as process:
        until(home, under_way(2))
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("stopping after the calls under way")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "treewright: interrupted"
    assert "Traceback" not in err
    events = record(home)
    assert (calls(events)[-1].error, calls(events)[-1].reply) == ("cancelled", None)
    assert isinstance(events[-1], RunEnded)
    assert (events[-1].reason, events[-1].finished) == ("interrupted", False)
    write_script(home / "talk.jsonl", rows())
    done = apart(*resume_command(err), "--quiet", cwd=home, env=environment())
    assert (done.status, done.out, done.err) == (0, ANSWER, "")


def test_a_run_that_is_at_work_is_not_taken_up_by_another(home: Path) -> None:
    talk = rows()
    talk[1]["latency_s"] = 300.0
    write_script(home / "talk.jsonl", talk)
    with going(home, *SOLVE, "--quiet"):
        until(home, under_way(2))
        assert json.loads(apart("runs", "--json", "--journal", home / JOURNAL).out)["status"] == "running"
        done = apart("resume", "last", "--journal", JOURNAL, "--quiet", cwd=home, env=environment())
        assert done.status == 2
        assert "another process is at work on run" in done.err.splitlines()[-1]
        assert under_way(2)(record(home)), "nothing was added"
