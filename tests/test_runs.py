"""Runs: put together, stopped anywhere, and taken up again without paying for anything twice."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from adding import ANSWER, TALK, TASK, Teller, block, judged
from tree_checks import facts
from treewright.core.budget import Limits, Spend
from treewright.core.errors import JournalError, ModelUnavailable, TreewrightError, UserError
from treewright.core.events import BudgetChanged, Event, ModelCalled, NodeEvaluated, RunEnded, RunStarted
from treewright.core.task import CodeTask, Example
from treewright.journal.base import Journal
from treewright.journal.replay import Past, replay
from treewright.journal.sqlite import SQLiteJournal
from treewright.models.base import Reply, Request
from treewright.runs import CODE, Run, new_id, resume, start
from treewright.spec import RunSpec, Solution
from treewright.strategies.codetree_settings import CodeAction, CodeOutcome

SPEC = RunSpec(task=TASK, model="scripted:talk", sandbox="process")
REPLIES = tuple(reply for _, reply in TALK)


@dataclass(slots=True, eq=False)
class Desk:
    """A journal, and the model that the next run is put together with."""

    folder: Path
    model: Any = field(default_factory=Teller)
    opened: list[SQLiteJournal] = field(default_factory=list)

    def journal(self) -> SQLiteJournal:
        self.opened.append(SQLiteJournal(self.folder / f"{len(self.opened)}.db"))
        return self.opened[-1]

    def go(self, run: Run) -> Solution:
        return asyncio.run(run.go())

    def solve(self, journal: Journal, **changes: Any) -> Solution:
        return self.go(start(replace(SPEC, **changes), journal=journal, run_id="run"))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    monkeypatch.setattr("treewright.runs.run_tests", judged)
    monkeypatch.setattr("treewright.runs.build", lambda name, **_: desk.model)
    yield desk
    for journal in desk.opened:
        journal.close()


def events(journal: Journal, run: str = "run") -> list[Event]:
    return [entry.event for entry in journal.read(run, CODE)]


def copied(old: Journal, new: Journal, count: int) -> None:
    """Fill a journal with the first events of a run: what is left when its process dies after them."""
    for event in events(old)[:count]:
        new.append("run", event)
    new.close()


def past_of(journal: Journal) -> Past[CodeAction, CodeOutcome]:
    return replay(journal.read("run", CODE))


def ended(journal: Journal) -> RunEnded:
    last = events(journal)[-1]
    assert isinstance(last, RunEnded)
    return last


def replied(all_events: Sequence[Event]) -> list[ModelCalled]:
    return [event for event in all_events if isinstance(event, ModelCalled) and event.reply is not None]


def lost(all_events: Sequence[Event]) -> Spend:
    """What calls without an end were reserved for."""
    begun = {event.call: event.reserved for event in all_events if isinstance(event, BudgetChanged)}
    for event in all_events:
        if isinstance(event, ModelCalled):
            del begun[event.call]
    return sum(begun.values(), Spend())


def without_time(spent: Spend) -> Spend:
    return replace(spent, seconds=0.0)


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


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_run_that_dies_after_any_event_goes_on_as_if_it_had_not(desk: Desk, cut: int) -> None:
    whole = desk.journal()
    through = desk.solve(whole)
    copied(whole, SQLiteJournal(desk.folder / "cut.db"), cut)
    with closing(SQLiteJournal(desk.folder / "cut.db")) as journal:
        known = events(journal)
        desk.model = Teller(REPLIES[len(replied(known)) :])
        solution = desk.go(resume("run", journal=journal))
        assert facts(solution.tree) == facts(through.tree)
        assert (solution.answer, solution.verified, solution.reason) == (through.answer, through.verified, through.reason)
        assert len(desk.model.asked) == len(TALK) - len(replied(known)), "what was paid is not paid again"
        after = events(journal)
        assert Counter(call.digest for call in replied(after)) == Counter(call.digest for call in replied(events(whole)))
        assert [event.call for event in after if isinstance(event, BudgetChanged)] == list(
            range(1, 1 + len([event for event in after if isinstance(event, BudgetChanged)]))
        )
        assert without_time(solution.usage) == without_time(through.usage) + lost(after)
        assert past_of(journal).spent == solution.usage


def test_a_run_can_die_again_and_again(desk: Desk) -> None:
    whole = desk.journal()
    through = desk.solve(whole)
    path = desk.folder / "cut.db"
    copied(whole, SQLiteJournal(path), 4)
    said = 1
    for sitting in range(20):
        with closing(SQLiteJournal(path)) as journal:
            desk.model = Teller(REPLIES[said:])
            left = 5 + sitting

            def die(event: Event) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    raise OSError("the power is gone")

            try:
                solution = desk.go(resume("run", journal=journal, sinks=[die]))
            except (OSError, ExceptionGroup):
                said = len(replied(events(journal)))
                continue
            assert facts(solution.tree) == facts(through.tree)
            assert len(replied(events(journal))) == len(TALK)
            return
    pytest.fail("it never ended")


@dataclass(slots=True, eq=False)
class Oracle(Teller):
    """A model whose reply depends on the question alone, and on how often it was asked."""

    solves: bool = True
    ways: int = 3

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        number = int(request.digest, 16)
        await asyncio.sleep(number % 5 / 1000)
        text = request.messages[-1].text
        if "Think of different strategies" in text:
            return Reply("\n".join(f"{way}. The {way}th way of doing it." for way in range(1, self.ways + 1)))
        if "Reflect on" in text:
            return Reply(f"1. Change the number {number % 7}.\n2. Change the sign {number % 5}.")
        if "How close" in text:
            return Reply(f"It is off.\n{number % 6}")
        if "Would it pass" in text:
            return Reply("True" if number % 3 else "False")
        return Reply(block("a + b" if self.solves and number % 11 == 0 else f"a - b + {number % 9 + 100}"))


@pytest.mark.parametrize("strategy", ["codetree", "codetree-bfs", "resample"])
def test_a_run_of_many_steps_at_once_pays_for_nothing_twice_wherever_it_dies(desk: Desk, strategy: str) -> None:
    whole, limits = desk.journal(), Limits(executions=8)
    desk.model = Oracle()
    desk.solve(whole, strategy=strategy, parallel=4, limits=limits)
    record = events(whole)
    assert len(record) > 15
    for cut in range(1, len(record) + 1, 4):
        path = desk.folder / f"cut-{cut}.db"
        copied(whole, SQLiteJournal(path), cut)
        with closing(SQLiteJournal(path)) as journal:
            before = past_of(journal)
            desk.model = Oracle()
            solution = desk.go(resume("run", journal=journal))
            paid = {(call.node, call.role, call.attempt, call.digest) for call in before.calls}
            asked = {(r.caller.node, r.caller.role, r.caller.attempt, r.digest) for r in desk.model.asked}
            assert not paid & asked
            assert solution.usage.executions <= 8
            assert facts(past_of(journal).tree) == facts(solution.tree)
            judged_nodes = Counter(event.node for event in events(journal) if isinstance(event, NodeEvaluated))
            assert max(judged_nodes.values(), default=1) == 1


def test_a_finished_run_gives_its_answer_again_and_asks_nobody(desk: Desk) -> None:
    journal = desk.journal()
    first = desk.solve(journal)
    before = events(journal)
    desk.model = Teller(())
    again = desk.go(resume("run", journal=journal))
    assert replace(again, tree=first.tree) == first
    assert facts(again.tree) == facts(first.tree)
    assert events(journal) == before


@pytest.mark.parametrize("limits", [Limits(executions=1), Limits(calls=3), Limits(tokens=1500)])
def test_a_run_that_spent_its_budget_goes_on_only_with_more(desk: Desk, limits: Limits) -> None:
    journal = desk.journal()
    first = desk.solve(journal, limits=limits)
    name = next(name for name in ("executions", "calls", "tokens") if getattr(limits, name))
    assert first.ended == name
    assert getattr(first.usage, name) <= getattr(limits, name)
    assert not first.verified
    before, said = events(journal), len(desk.model.asked)
    for same in (None, limits):
        assert desk.go(resume("run", journal=journal, limits=same)).answer == first.answer
    other = Limits(executions=first.usage.executions + 5, calls=limits.calls, tokens=limits.tokens)
    if name != "executions":
        assert desk.go(resume("run", journal=journal, limits=other)).ended == name
    assert events(journal) == before, "nothing was raised that stood in the way"
    desk.model = Teller(REPLIES[said:])
    more = desk.go(resume("run", journal=journal, limits=Limits()))
    assert (more.answer, more.verified) == (ANSWER, True)
    assert more.usage.calls == len(TALK)
    started = [event for event in events(journal) if isinstance(event, RunStarted)]
    assert [event.resumed for event in started] == [0, 1]


def test_a_limit_that_was_raised_holds_for_the_whole_run(desk: Desk) -> None:
    journal = desk.journal()
    desk.solve(journal, limits=Limits(executions=1))
    said = len(desk.model.asked)
    desk.model = Teller(REPLIES[said:])
    solution = desk.go(resume("run", journal=journal, limits=Limits(executions=2)))
    assert (solution.ended, solution.usage.executions) == ("executions", 2)
    assert solution.solved
    assert not solution.verified


def test_a_call_under_way_when_the_process_died_counts_at_its_worst(desk: Desk) -> None:
    whole = desk.journal()
    desk.solve(whole)
    path = desk.folder / "cut.db"
    copied(whole, SQLiteJournal(path), 5)
    with closing(SQLiteJournal(path)) as journal:
        known = events(journal)
        assert isinstance(known[-1], BudgetChanged)
        run = resume("run", journal=journal)
        assert run.budget.spent.tokens == replied(known)[0].spent.tokens + known[-1].reserved.tokens
        assert run.budget.spent.calls == 2
        room = run.budget.spent.tokens + 30
        desk.model = Teller(REPLIES[1:])
        solution = desk.go(resume("run", journal=journal, limits=Limits(tokens=room)))
        assert (solution.ended, desk.model.asked) == ("tokens", [])


def test_the_time_that_a_killed_run_took_is_spent(desk: Desk) -> None:
    now = 1_000.0
    whole = desk.journal()
    desk.solve(whole)
    path = desk.folder / "cut.db"
    with closing(SQLiteJournal(path, clock=lambda: now)) as journal:
        for event in events(whole)[:10]:
            journal.append("run", event)
            now += 2.0
    with closing(SQLiteJournal(path)) as journal:
        run = resume("run", journal=journal, limits=Limits(seconds=18.0))
        assert run.budget.spent.seconds == 18.0
        desk.model = Teller(())
        assert desk.go(run).ended == "seconds"


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


def test_two_that_take_up_one_run_get_one_sentence_and_one_run(desk: Desk) -> None:
    whole = desk.journal()
    desk.solve(whole)
    path = desk.folder / "cut.db"
    copied(whole, SQLiteJournal(path), 12)
    with closing(SQLiteJournal(path)) as mine, closing(SQLiteJournal(path)) as theirs:
        desk.model = Teller(REPLIES[len(replied(events(mine))) :])
        late = resume("run", journal=theirs)

        def meddle(event: Event) -> None:
            said = "has moved on" if isinstance(event, RunEnded) else "another process is at work on run run"
            with ThreadPoolExecutor(1) as elsewhere, pytest.raises(JournalError, match=said):
                elsewhere.submit(desk.go, late).result()

        solution = desk.go(resume("run", journal=mine, sinks=[meddle]))
        assert solution.verified
        with pytest.raises(JournalError, match="has moved on"):
            desk.go(late)
        assert facts(past_of(mine).tree) == facts(solution.tree)


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
    assert run.spec.task.entry_point == "add"


def test_resuming_what_is_not_there_is_the_users_error(desk: Desk) -> None:
    with pytest.raises(UserError, match="no run 'nobody' in this journal"):
        resume("nobody", journal=desk.journal())


def test_resuming_with_a_budget_of_nothing_is_refused(desk: Desk) -> None:
    journal = desk.journal()
    desk.solve(journal)
    with pytest.raises(UserError, match="a budget of 0 executions"):
        resume("run", journal=journal, limits=Limits(executions=0))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"strategy": "from the future"}, UserError),
        ({"preset": "from the future"}, JournalError),
        ({"task": None}, JournalError),
        ({"parallel": "many"}, JournalError),
    ],
)
def test_a_spec_that_this_version_does_not_know_is_one_sentence(
    desk: Desk, change: dict[str, Any], error: type[TreewrightError]
) -> None:
    whole, journal = desk.journal(), desk.journal()
    desk.solve(whole)
    first = events(whole)[0]
    assert isinstance(first, RunStarted)
    journal.append("run", RunStarted(first.spec | change))
    with pytest.raises(error) as caught:
        resume("run", journal=journal)
    assert "\n" not in str(caught.value)


def test_a_spec_comes_back_from_the_journal_as_it_was(desk: Desk) -> None:
    journal = desk.journal()
    spec = replace(SPEC, without=["abort"], limits=Limits(executions=4, tokens=90_000, seconds=60.5), seed=7, parallel=2)
    desk.go(start(spec, journal=journal, run_id="run"))
    assert resume("run", journal=journal).spec == spec
    assert spec.without == ("abort",)


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
