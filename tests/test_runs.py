"""Runs: put together, held to their budget, stopped, and refused when they make no sense."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from adding import ANSWER, TALK, TASK, Teller
from run_desk import REPLIES, SPEC, Desk, Oracle, at_desk, ended, events, past_of, replied
from tree_checks import facts
from treewright.core.budget import Limits
from treewright.core.errors import JournalError, ModelUnavailable, UserError
from treewright.core.events import BudgetChanged, Event, ModelCalled, NodeEvaluated, RunStarted
from treewright.core.task import CodeTask, Example
from treewright.journal.sqlite import SQLiteJournal
from treewright.models.base import Reply, Request
from treewright.runs import new_id, resume, start


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with at_desk(tmp_path) as desk:
        yield desk


def test_a_run_is_solved_and_on_record(desk: Desk) -> None:
    journal = desk.journal()
    solution = desk.solve(journal)
    assert (solution.run_id, solution.task, solution.strategy, solution.model) == ("run", "add", "codetree", "scripted:talk")
    assert (solution.answer, solution.solved, solution.verified, solution.ended) == (ANSWER, True, True, "accepted")
    assert (solution.usage.executions, solution.usage.calls) == (3, len(TALK))
    assert [request.caller.role for request in desk.model.asked] == [
        "thinker.strategies", "solver", "critic.outputs", "thinker.reflections", "debugger", "critic.verification",
        "thinker.reflections", "debugger", "critic.verification",
    ]  # fmt: skip
    record = events(journal)
    assert isinstance(record[0], RunStarted)
    assert len(replied(record)) == len(TALK)
    assert ended(journal).spent == solution.usage
    past = past_of(journal)
    assert facts(past.tree) == facts(solution.tree)
    assert past.spent == solution.usage


def test_every_event_is_on_record_before_anybody_else_sees_it(desk: Desk) -> None:
    journal, seen = desk.journal(), list[Event]()

    def look(event: Event) -> None:
        seen.append(event)
        assert events(journal) == seen

    desk.go(start(SPEC, journal=journal, sinks=[look], run_id="run"))
    assert events(journal) == seen
    assert len(seen) == 29


GONE = ModelUnavailable("teller is gone")


@pytest.mark.parametrize("after", range(len(TALK)))
def test_a_model_that_goes_away_stops_the_run_and_it_can_be_resumed(desk: Desk, after: int) -> None:
    journal = desk.journal()
    desk.model = Teller((*REPLIES[:after], GONE))
    with pytest.raises(ModelUnavailable, match="teller is gone"):
        desk.solve(journal)
    assert (ended(journal).finished, ended(journal).reason) == (False, "teller is gone")
    (line,) = journal.runs()
    assert not line.running
    desk.model = Teller(REPLIES[after:])
    solution = desk.go(resume("run", journal=journal))
    assert (solution.answer, solution.verified) == (ANSWER, True)
    assert len(desk.model.asked) == len(TALK) - after
    assert solution.usage.calls == len(TALK) + 1, "the failed call is charged"


def test_a_sink_that_fails_stops_the_run_and_it_can_be_resumed(desk: Desk) -> None:
    journal, left = desk.journal(), 7

    def fail(event: Event) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise OSError("nobody listens")

    with pytest.raises(ExceptionGroup) as caught:
        desk.go(start(SPEC, journal=journal, sinks=[fail], run_id="run"))
    assert "nobody listens" in repr(caught.value)
    desk.model = Teller(REPLIES[len(replied(events(journal))) :])
    assert desk.go(resume("run", journal=journal)).verified


def test_a_journal_that_fails_stops_the_run_with_its_own_sentence(desk: Desk) -> None:
    journal = desk.journal()

    def delete(event: Event) -> None:
        if isinstance(event, NodeEvaluated):
            (desk.folder / "0.db").unlink()

    with pytest.raises(JournalError, match="was moved or replaced meanwhile"):
        desk.go(start(SPEC, journal=journal, sinks=[delete], run_id="run"))
    assert len(desk.model.asked) == 3


def test_stopping_lets_the_call_under_way_end_and_records_it(desk: Desk) -> None:
    journal = desk.journal()

    def stop(event: Event) -> None:
        if isinstance(event, BudgetChanged) and event.call == 2:
            run.stop()

    run = start(SPEC, journal=journal, sinks=[stop], run_id="run")
    solution = desk.go(run)
    assert (solution.ended, solution.answer, len(desk.model.asked)) == ("interrupted", "", 2)
    assert (len(replied(events(journal))), ended(journal).finished) == (2, False)
    desk.model = Teller(REPLIES[2:])
    assert desk.go(resume("run", journal=journal)).verified


@pytest.mark.parametrize("moment", ["before it goes", "at its start"])
def test_a_run_can_be_stopped_before_anything_was_asked(desk: Desk, moment: str) -> None:
    journal = desk.journal()
    run = start(SPEC, journal=journal, sinks=[lambda _: run.stop()] if moment == "at its start" else [], run_id="run")
    if moment == "before it goes":
        run.stop()
    assert desk.go(run).ended == "interrupted"
    assert desk.model.asked == []
    assert desk.go(resume("run", journal=journal)).verified


def test_a_run_that_is_cancelled_is_on_record_as_interrupted(desk: Desk) -> None:
    third = asyncio.Event()

    @dataclass(slots=True, eq=False)
    class Slow(Teller):
        async def complete(self, request: Request) -> Reply:
            if len(self.asked) == 2:
                third.set()
                await asyncio.sleep(3600)
            return await Teller.complete(self, request)

    journal = desk.journal()
    desk.model = Slow()

    async def cancel() -> None:
        going = asyncio.ensure_future(start(SPEC, journal=journal, run_id="run").go())
        await third.wait()
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going

    asyncio.run(cancel())
    end = ended(journal)
    assert (end.reason, end.finished) == ("interrupted", False)
    (line,) = journal.runs()
    assert not line.running
    cut = events(journal)[-2]
    assert isinstance(cut, ModelCalled)
    assert (cut.error, cut.spent.calls) == ("cancelled", 1)
    desk.model = Teller(REPLIES[2:])
    assert desk.go(resume("run", journal=journal)).verified


def test_a_run_never_writes_into_another_of_the_same_id(desk: Desk) -> None:
    journal = desk.journal()
    desk.solve(journal)
    before = events(journal)
    with closing(SQLiteJournal(desk.folder / "0.db")) as other, pytest.raises(JournalError):
        desk.go(start(SPEC, journal=other, run_id="run"))
    assert events(journal) == before


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"task": CodeTask(" ")}, "the prompt is empty"),
    ({"task": CodeTask("x", tests=["assert f(1"])}, "test 1 is no valid Python"),
    ({"task": CodeTask("x", tests=["assert f(1) == 1"], entry_point="g")}, "never call the entry point 'g'"),
    ({"task": CodeTask("x", tests=["assert 1"], examples=[Example("", "")])}, "both tests and examples"),
    ({"strategy": "codetre"}, "unknown strategy 'codetre': choose one of codetree, "),
    ({"preset": "best"}, "unknown preset 'best': choose one of "),
    ({"without": ("judgement",)}, "unknown part 'judgement'"),
    ({"strategy": "direct", "without": ("abort",)}, "direct has no abort to leave out"),
    ({"parallel": 0}, "parallel is 0"),
    ({"limits": Limits(executions=0)}, "a budget of 0 executions"),
    ({"limits": Limits(dollars=-1.0)}, "a budget of -1.0 dollars"),
    ({"limits": Limits(seconds=float("nan"))}, "a budget of nan seconds"),
    ({"model": "openai:a-model-nobody-knows", "limits": Limits(dollars=1.0)}, "no price is known for openai:a-model-nobody-k"),
]


@pytest.mark.parametrize(("changes", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_what_makes_no_sense_is_refused_before_anything_is_recorded(desk: Desk, changes: dict[str, Any], says: str) -> None:
    journal = desk.journal()
    with pytest.raises(UserError, match=re.escape(says)) as caught:
        desk.solve(journal, **changes)
    assert "\n" not in str(caught.value)
    assert journal.runs() == []
    assert desk.model.asked == []


def test_a_known_price_is_charged_and_limits_dollars(desk: Desk) -> None:
    solution = desk.solve(desk.journal(), model="openai:gpt-4o-mini", limits=Limits(dollars=0.01))
    assert solution.verified
    assert 0 < solution.usage.dollars < 0.01


def test_the_entry_point_is_found_in_the_tests(desk: Desk) -> None:
    run = start(replace(SPEC, task=replace(TASK, entry_point="")), journal=desk.journal())
    assert isinstance(run.spec.task, CodeTask)
    assert run.spec.task.entry_point == "add"


def test_ids_sort_by_time_wherever_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    summer_ends = 1_793_000_000
    moments = [0.0, 1e9, 1e9 + 0.001, 1e9 + 0.0011, 1e9 + 0.9999, summer_ends, summer_ends + 1800, summer_ends + 3600, 4e9]
    ids = []
    for zone in ("Europe/Berlin", "America/New_York", "UTC"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        for moment in moments:
            monkeypatch.setattr(time, "time", lambda moment=moment: moment)
            ids.append((new_id(), moment))
    monkeypatch.undo()
    time.tzset()
    assert [moment for _, moment in sorted(ids)] == sorted(moment for _, moment in ids)
    assert len({name for name, _ in ids}) == len(ids)


def test_a_run_costs_the_journal_less_than_a_kilobyte_a_node(desk: Desk) -> None:
    journal = desk.journal()
    desk.model = Oracle(solves=False, ways=10)
    solution = desk.solve(journal, limits=Limits(executions=120), without=("abort",), preset="paper")
    nodes = solution.usage.executions
    journal.close()
    with closing(sqlite3.connect(desk.folder / "0.db")) as database:
        database.execute("pragma wal_checkpoint(truncate)")
        texts = database.execute("select sum(length(body)) from text").fetchone()[0]
    empty = desk.journal()
    empty.close()
    size = (desk.folder / "0.db").stat().st_size - (desk.folder / "1.db").stat().st_size
    assert nodes > 50
    assert (size - texts) / nodes < 1000
