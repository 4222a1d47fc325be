"""Runs that died: taken up anywhere, they go on as if they had not, and pay for nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from adding import ANSWER, TALK, Teller
from run_desk import REPLIES, SPEC, Desk, Oracle, at_desk, events, lost, past_of, replied, without_time, write
from tree_checks import facts
from treewright.core.budget import Limits
from treewright.core.errors import JournalError, TreewrightError, UserError
from treewright.core.events import BudgetChanged, Event, NodeEvaluated, RunEnded, RunStarted
from treewright.journal.sqlite import SQLiteJournal
from treewright.runs import resume, start
from treewright.spec import Solution


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with at_desk(tmp_path) as desk:
        yield desk


@cache
def through() -> tuple[list[Event], Solution]:
    """The events of a run that nothing disturbed, and how it ended."""
    with TemporaryDirectory() as folder, at_desk(Path(folder)) as desk:
        journal = desk.journal()
        solution = desk.solve(journal)
        return events(journal), solution


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_run_that_dies_after_any_event_goes_on_as_if_it_had_not(desk: Desk, cut: int) -> None:
    whole, undisturbed = through()
    assert len(whole) == 29
    write(desk.folder / "cut.db", whole[:cut])
    with closing(SQLiteJournal(desk.folder / "cut.db")) as journal:
        known = events(journal)
        desk.model = Teller(REPLIES[len(replied(known)) :])
        solution = desk.go(resume("run", journal=journal))
        assert facts(solution.tree) == facts(undisturbed.tree)
        assert (solution.answer, solution.verified, solution.reason) == (
            undisturbed.answer,
            undisturbed.verified,
            undisturbed.reason,
        )
        assert len(desk.model.asked) == len(TALK) - len(replied(known)), "what was paid is not paid again"
        after = events(journal)
        assert Counter(call.digest for call in replied(after)) == Counter(call.digest for call in replied(whole))
        assert [event.call for event in after if isinstance(event, BudgetChanged)] == list(
            range(1, 1 + len([event for event in after if isinstance(event, BudgetChanged)]))
        )
        assert without_time(solution.usage) == without_time(undisturbed.usage) + lost(after)
        assert past_of(journal).spent == solution.usage


def test_a_run_can_die_again_and_again(desk: Desk) -> None:
    path = desk.folder / "cut.db"
    write(path, through()[0][:4])
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
            assert facts(solution.tree) == facts(through()[1].tree)
            assert len(replied(events(journal))) == len(TALK)
            return
    pytest.fail("it never ended")


@pytest.mark.parametrize("strategy", ["codetree", "codetree-bfs", "resample"])
def test_a_run_of_many_steps_at_once_pays_for_nothing_twice_wherever_it_dies(desk: Desk, strategy: str) -> None:
    whole, limits = desk.journal(), Limits(executions=8)
    desk.model = Oracle()
    desk.solve(whole, strategy=strategy, parallel=4, limits=limits)
    record = events(whole)
    assert len(record) > 15
    for cut in range(1, len(record) + 1, 4):
        path = desk.folder / f"cut-{cut}.db"
        write(path, record[:cut])
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
    path = desk.folder / "cut.db"
    write(path, through()[0][:5])
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
    path = desk.folder / "cut.db"
    with closing(SQLiteJournal(path, clock=lambda: now)) as journal:
        for event in through()[0][:10]:
            journal.append("run", event)
            now += 2.0
    with closing(SQLiteJournal(path)) as journal:
        run = resume("run", journal=journal, limits=Limits(seconds=18.0))
        assert run.budget.spent.seconds == 18.0
        desk.model = Teller(())
        assert desk.go(run).ended == "seconds"


def test_two_that_take_up_one_run_get_one_sentence_and_one_run(desk: Desk) -> None:
    path = desk.folder / "cut.db"
    write(path, through()[0][:12])
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
    journal, first = desk.journal(), through()[0][0]
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
