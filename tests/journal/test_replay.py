"""Replay: where a run stood, from any beginning of its record."""

import pytest

from tree_checks import facts, rebuilt
from treewright.core.budget import Spend
from treewright.core.errors import JournalError
from treewright.core.events import (
    BudgetChanged,
    Event,
    ModelCalled,
    NodeEvaluated,
    NodeExpanded,
    ProgramRan,
    RunEnded,
    RunStarted,
)
from treewright.core.tree import Evaluation, Proposal, Verdict
from treewright.journal.base import Entry
from treewright.journal.replay import Past, replay


def entries(*events: Event | tuple[float, Event]) -> list[Entry]:
    """The events one second apart from 100 on, but those that say when."""
    timed = [event if isinstance(event, tuple) else (99.0 + seq, event) for seq, event in enumerate(events, 1)]
    return [Entry(seq, at, event) for seq, (at, event) in enumerate(timed, 1)]


def past_of(*events: Event | tuple[float, Event]) -> Past[str, str]:
    return replay(entries(*events))


def call(number: int, tokens: int = 10, reply: str | None = "r") -> ModelCalled:
    return ModelCalled(number, "0", "solver", 0, "d", "m", (), reply, spent=Spend(calls=1, tokens=tokens))


def end(reason: str = "accepted", seconds: float = 0.0, *, finished: bool = True) -> RunEnded:
    return RunEnded(reason, finished, True, True, "a", "", Spend(seconds=seconds))


GROWN = NodeExpanded("0", (Proposal("a"), Proposal("b")))
SEEN = NodeEvaluated("0.1", "saw b", Evaluation(0.75, Verdict.EXPAND))


def test_nothing_is_a_run_that_never_began() -> None:
    past = past_of()
    assert (past.sittings, past.spent, past.calls, past.last_call, past.end) == (0, Spend(), [], 0, None)


def test_the_tree_is_rebuilt_and_executions_are_counted() -> None:
    past = past_of(RunStarted({"a": 1}), GROWN, SEEN, ProgramRan("0.1", "none", 1, 2, 0.5))
    assert facts(past.tree) == facts(rebuilt([GROWN, SEEN]))
    assert past.spent.executions == 1
    assert past.spec == {"a": 1}


def test_calls_are_charged_as_they_ended_and_kept_in_their_order() -> None:
    past = past_of(RunStarted({}), BudgetChanged(1, Spend(calls=1, tokens=500)), call(1, 7), call(2, 5, reply=None))
    assert (past.spent.calls, past.spent.tokens) == (2, 12)
    assert [c.call for c in past.calls] == [1, 2]


def test_a_call_without_an_end_counts_at_its_worst_whenever_it_began() -> None:
    worst = BudgetChanged(4, Spend(calls=1, tokens=500, dollars=0.5))
    past = past_of(RunStarted({}), worst, RunStarted({}), BudgetChanged(5, Spend(calls=1, tokens=900)), call(5, 3))
    assert (past.spent.calls, past.spent.tokens, past.spent.dollars) == (2, 503, 0.5)
    assert past.last_call == 5


def test_the_last_spec_holds_and_sittings_are_counted() -> None:
    past = past_of(RunStarted({"limit": 1}), end(), RunStarted({"limit": 2}, 1))
    assert (past.spec, past.sittings, past.end) == ({"limit": 2}, 2, None)


def test_an_end_stands_until_the_run_is_taken_up_again() -> None:
    assert past_of(RunStarted({}), end("tokens")).end == end("tokens")


def test_seconds_are_those_that_the_ends_tell() -> None:
    past = past_of((100.0, RunStarted({})), (107.0, end(seconds=5.0)), (900.0, RunStarted({})), (950.0, end(seconds=9.0)))
    assert past.spent.seconds == 9.0


def test_the_seconds_of_a_sitting_that_was_killed_run_to_its_last_event() -> None:
    killed: list[tuple[float, Event]] = [(100.0, RunStarted({})), (103.0, call(1)), (104.5, call(2))]
    assert past_of(*killed).spent.seconds == 4.5
    assert past_of(*killed, (900.0, RunStarted({}))).spent.seconds == 4.5
    assert past_of(*killed, (900.0, RunStarted({})), (902.0, call(3))).spent.seconds == 6.5
    assert past_of(*killed, (900.0, RunStarted({})), (903.0, end(seconds=7.25))).spent.seconds == 7.25


def test_a_clock_that_was_set_back_gives_no_time_back() -> None:
    assert past_of((100.0, RunStarted({})), (40.0, call(1))).spent.seconds == 0.0


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(NodeExpanded("0.7", ()), id="a node that nobody proposed"),
        pytest.param(SEEN, id="a node that is judged twice"),
        pytest.param(NodeExpanded("0", ()), id="a node that is expanded twice"),
    ],
)
def test_events_that_do_not_follow_are_one_sentence_about_the_record(event: Event) -> None:
    with pytest.raises(JournalError, match=r"^the record is damaged: event 4 does not follow from those before it$"):
        past_of(RunStarted({}), GROWN, SEEN, event)
