"""What every `Journal` must do, wherever it keeps its record. `test_journals.py` runs it over each of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treewright.core.budget import Spend
from treewright.core.errors import JournalError
from treewright.core.events import (
    BudgetChanged,
    CommitBegun,
    CommitEnded,
    Event,
    ModelCalled,
    NodeEvaluated,
    NodeExpanded,
    ProgramRan,
    RunEnded,
    RunStarted,
    ToolCalled,
)
from treewright.core.tree import Evaluation, Proposal, Verdict
from treewright.journal.base import Journal, Shapes


@dataclass(frozen=True, slots=True)
class Subject:
    """One kind of journal under test.

    Args:
        open: another hold of the same record, empty at first, with the given clock.
    """

    open: Callable[[Callable[[], float]], Journal]

    def journal(self, clock: Callable[[], float] = lambda: 1_800_000_000.0) -> Journal:
        return self.open(clock)


@dataclass(frozen=True, slots=True)
class Move:
    """An action."""

    idea: str
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Sight:
    """An outcome."""

    text: str
    moves: tuple[Move, ...] = ()
    right: bool | None = None


SHAPES = Shapes(Move, Sight)
STARTED = RunStarted({"task": {"name": "t"}, "model": "m"})
ENDED = RunEnded("accepted", True, True, True, "x = 1", "node 0.0", Spend(1, 2, 0, 30, 0.25, 1.5))

# Every character there is, lone halves of surrogate pairs and NUL included.
texts = st.text(st.characters(exclude_categories=()), max_size=200) | st.builds(
    lambda text, times: text * times, st.text(st.characters(exclude_categories=()), max_size=9), st.integers(1, 400)
)
numbers = st.integers(0, 1 << 40)
amounts = st.floats(0, 1e9)
spends = st.builds(Spend, numbers, numbers, numbers, numbers, amounts, amounts)
moves = st.builds(Move, texts, st.lists(numbers, max_size=3).map(tuple))
sights = st.builds(Sight, texts, st.lists(moves, max_size=3).map(tuple), st.none() | st.booleans())
plain: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("§"), inner, max_size=3),
    max_leaves=8,
)
judgements = st.builds(Evaluation, st.floats(0, 1), st.sampled_from(Verdict), texts, st.booleans())
proposals = st.builds(Proposal, moves, st.floats(0, 1))
messages = st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), texts), max_size=4).map(tuple)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(RunStarted, st.dictionaries(texts, plain, max_size=3), numbers),
    st.builds(NodeExpanded, texts, st.lists(proposals, max_size=4).map(tuple)),
    st.builds(NodeEvaluated, texts, sights, judgements),
    st.builds(BudgetChanged, numbers, spends),
    st.builds(
        ModelCalled, numbers, texts, texts, numbers, texts, texts, messages, st.none() | texts, texts, texts,
        numbers, numbers, numbers, spends, amounts,
    ),
    st.builds(ProgramRan, texts, texts, numbers, numbers, amounts),
    st.builds(ToolCalled, texts, texts, texts, st.none() | texts, texts, amounts),
    st.builds(CommitBegun, texts, numbers, texts, st.dictionaries(texts | st.just("§"), plain, max_size=3)),
    st.builds(CommitEnded, texts, numbers, texts, texts),
    st.builds(RunEnded, texts, st.booleans(), st.booleans(), st.booleans(), texts, texts, spends),
)  # fmt: skip
SOME = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def called(number: int, *, tokens: int = 10, dollars: float = 0.125, reply: str = "yes") -> ModelCalled:
    spent = Spend(calls=1, tokens=tokens, dollars=dollars)
    return ModelCalled(number, "0", "solver", 0, "d", "m", (("user", "why?"),), reply, spent=spent)


def evaluated(node: str) -> NodeEvaluated[Sight]:
    return NodeEvaluated(node, Sight("seen"), Evaluation(0.5, Verdict.KEEP))


def kept(journal: Journal, run: str) -> list[Event]:
    return [entry.event for entry in journal.read(run, SHAPES)]


def it_gives_every_event_back_as_it_was(subject: Subject) -> None:
    ids = count(1)
    with closing(subject.journal()) as journal, closing(subject.journal()) as other:

        @SOME
        @given(st.lists(events, min_size=1, max_size=4))
        def check(written: list[Event]) -> None:
            run = f"run-{next(ids)}"
            for event in written:
                journal.append(run, event)
            assert kept(other, run) == written

        check()


def it_gives_actions_and_outcomes_back_as_plain_data_to_who_knows_no_shapes(subject: Subject) -> None:
    ids = count(1)
    with closing(subject.journal()) as journal:

        @SOME
        @given(plain, plain)
        def check(action: Any, outcome: Any) -> None:
            run = f"run-{next(ids)}"
            written = NodeExpanded("0", (Proposal(action),)), NodeEvaluated("0.0", outcome, Evaluation(1.0, Verdict.ACCEPT))
            for event in written:
                journal.append(run, event)
            assert [entry.event for entry in journal.read(run)] == list(written)

        check()
        journal.append("typed", NodeEvaluated("0.0", Sight("s", (Move("m", (1,)),)), Evaluation(1.0, Verdict.KEEP)))
        event = next(iter(journal.read("typed"))).event
        assert isinstance(event, NodeEvaluated)
        assert event.outcome == {"text": "s", "moves": [{"idea": "m", "steps": [1]}], "right": None}


def it_numbers_and_dates_the_events_of_each_run(subject: Subject) -> None:
    ticks = count(1_800_000_000)
    with closing(subject.journal(lambda: next(ticks) + 0.25)) as journal:
        for run in ("a", "b", "a", "b", "a"):
            journal.append(run, evaluated("0.0"))
        entries = {run: list(journal.read(run, SHAPES)) for run in ("a", "b")}
    assert [entry.seq for entry in entries["a"]] == [1, 2, 3]
    assert [entry.seq for entry in entries["b"]] == [1, 2]
    times = [entry.at for entry in entries["a"]]
    assert times == sorted(times)
    assert len(set(times)) == 3
    assert all(at % 1 == 0.25 and 1_800_000_000 <= at < 1_800_000_100 for at in times)


def it_has_nothing_of_a_run_that_is_not_there(subject: Subject) -> None:
    with closing(subject.journal()) as journal:
        assert kept(journal, "nobody") == []
        assert journal.runs() == []


def it_lists_runs_newest_first_with_what_they_cost(subject: Subject) -> None:
    now = 1_800_000_000.0
    with closing(subject.journal(lambda: now)) as journal:
        for run, at in (("b", 1_800_000_010.0), ("c", 1_800_000_030.0), ("a", 1_800_000_020.0)):
            now = at
            journal.append(run, RunStarted({"name": run}))
        now = 1_800_000_050.5
        for event in (called(1), BudgetChanged(2, Spend(calls=1, tokens=999)), called(2, tokens=5), evaluated("0.0"), ENDED):
            journal.append("a", event)
        lines = journal.runs()
    assert [(line.run, line.started, line.spec["name"]) for line in lines] == [
        ("c", 1_800_000_030.0, "c"),
        ("a", 1_800_000_020.0, "a"),
        ("b", 1_800_000_010.0, "b"),
    ]
    costs = [(line.updated, line.executions, line.calls, line.tokens, line.dollars, line.ended) for line in lines]
    assert costs[1] == (1_800_000_050.5, 1, 2, 15, 0.25, ENDED)
    assert costs[2] == (1_800_000_010.0, 0, 0, 0, 0.0, None)


def it_tells_who_is_at_work(subject: Subject) -> None:
    def states() -> dict[str, tuple[bool, bool]]:
        with closing(subject.journal()) as other:
            seen = {line.run: (line.running, line.ended is not None) for line in other.runs()}
            assert seen == {line.run: (line.running, line.ended is not None) for line in writer.runs()}
            return seen

    writer, killed = subject.journal(), subject.journal()
    for run in ("ends", "again", "works"):
        writer.append(run, STARTED)
    killed.append("killed", STARTED)
    for run in ("ends", "again"):
        writer.append(run, ENDED)
    assert states() == {"ends": (False, True), "again": (False, True), "works": (True, False), "killed": (True, False)}
    killed.close()
    writer.append("again", STARTED)
    assert states() == {"ends": (False, True), "again": (True, False), "works": (True, False), "killed": (False, False)}
    writer.close()
    writer = subject.journal()
    assert [running for running, _ in states().values()] == [False] * 4
    writer.close()


def it_shows_others_what_is_written_at_once(subject: Subject) -> None:
    with closing(subject.journal()) as writer, closing(subject.journal()) as reader:
        for number in range(1, 6):
            writer.append("a", called(number, reply="a longer reply, not to be kept within a line " * number))
            assert kept(reader, "a") == kept(writer, "a")
            assert len(kept(reader, "a")) == number


def it_lets_two_read_while_one_writes(subject: Subject) -> None:
    done, seen = threading.Event(), list[int]()

    def watch() -> None:
        with closing(subject.journal()) as reader:
            last = 0
            while not done.is_set():
                numbers = [event.call for event in kept(reader, "a") if isinstance(event, ModelCalled)]
                assert numbers == list(range(1, len(numbers) + 1))
                assert len(numbers) >= last
                last = len(numbers)
                assert reader.runs()[0].calls >= last
            seen.append(last)

    with closing(subject.journal()) as writer:
        writer.append("a", called(1))
        readers = [threading.Thread(target=watch) for _ in range(2)]
        for thread in readers:
            thread.start()
        for number in range(2, 60):
            writer.append("a", called(number, reply=f"reply number {number} " * 30))
        done.set()
        for thread in readers:
            thread.join()
        assert len(seen) == 2
        assert len(kept(writer, "a")) == 59


def it_gives_a_run_to_one_writer_at_a_time(subject: Subject) -> None:
    with closing(subject.journal()) as first, closing(subject.journal()) as second:
        first.append("a", STARTED)
        assert kept(second, "a") == [STARTED]
        with pytest.raises(JournalError, match="another process is at work on run a") as caught:
            second.append("a", STARTED)
        assert "\n" not in str(caught.value)
        second.append("b", STARTED)  # other runs are free
        first.append("a", called(1))  # the first does not even notice
        first.append("a", ENDED)
        assert kept(second, "a") == [STARTED, called(1), ENDED]
        second.append("a", STARTED)
        with pytest.raises(JournalError):
            first.append("a", STARTED)
        assert kept(first, "a") == [STARTED, called(1), ENDED, STARTED]


def it_adds_nothing_to_a_run_that_was_not_read_to_its_end(subject: Subject) -> None:
    with closing(subject.journal()) as first, closing(subject.journal()) as late, closing(subject.journal()) as blind:
        first.append("a", STARTED)
        assert kept(late, "a") == [STARTED]
        first.append("a", ENDED)  # after `late` had read
        for journal in (late, blind):
            with pytest.raises(JournalError) as caught:
                journal.append("a", called(1))
            assert "\n" not in str(caught.value)
            journal.close()
        assert kept(first, "a") == [STARTED, ENDED]


def it_frees_its_runs_when_it_is_closed(subject: Subject) -> None:
    first = subject.journal()
    first.append("a", STARTED)
    first.close()
    first.close()
    with closing(subject.journal()) as second:
        assert kept(second, "a") == [STARTED]
        second.append("a", called(1))
        assert kept(second, "a") == [STARTED, called(1)]


def it_keeps_five_megabytes(subject: Subject) -> None:
    huge = "ein Wort, 一个词, одно слово " * 180_000
    assert len(huge.encode()) > 5_000_000
    with closing(subject.journal()) as journal:
        journal.append("a", called(1, reply=huge))
        assert kept(journal, "a") == [called(1, reply=huge)]


CHECKS: tuple[Callable[[Subject], None], ...] = (
    it_gives_every_event_back_as_it_was,
    it_gives_actions_and_outcomes_back_as_plain_data_to_who_knows_no_shapes,
    it_numbers_and_dates_the_events_of_each_run,
    it_has_nothing_of_a_run_that_is_not_there,
    it_lists_runs_newest_first_with_what_they_cost,
    it_tells_who_is_at_work,
    it_shows_others_what_is_written_at_once,
    it_lets_two_read_while_one_writes,
    it_gives_a_run_to_one_writer_at_a_time,
    it_adds_nothing_to_a_run_that_was_not_read_to_its_end,
    it_frees_its_runs_when_it_is_closed,
    it_keeps_five_megabytes,
)
