"""Runs without processes and without a network: a journal, a model that counts, and a judge that runs programs right here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from adding import TALK, TASK, Teller, block, judged
from treewright.assembly import CODE
from treewright.core.budget import Spend
from treewright.core.events import BudgetChanged, Event, ModelCalled, RunEnded
from treewright.journal.base import Journal
from treewright.journal.replay import Past, replay
from treewright.journal.sqlite import SQLiteJournal
from treewright.models.base import Reply, Request
from treewright.runs import Run, start
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


@contextmanager
def at_desk(folder: Path) -> Iterator[Desk]:
    """A desk; while it is there, runs are put together with its model and judged in this process."""
    desk = Desk(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("treewright.assembly.run_tests", judged)
        patch.setattr("treewright.opening.build", lambda name, **_: desk.model)
        try:
            yield desk
        finally:
            for journal in desk.opened:
                journal.close()


def events(journal: Journal, run: str = "run") -> list[Event]:
    return [entry.event for entry in journal.read(run, CODE)]


def write(path: Path, some: Sequence[Event]) -> None:
    """Write the first events of a run into a new journal: what is left when its process dies after them."""
    journal = SQLiteJournal(path)
    for event in some:
        journal.append("run", event)
    journal.close()


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
