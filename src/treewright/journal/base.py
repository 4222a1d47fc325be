"""The `Journal` port: an append-only record of events, by run.

Every event is durable when `append` returns, so whatever is acted on is on record first. Actions and outcomes belong to the
strategy that made them; a reader says of which types they are (`Shapes`), or takes them as plain data.

One run belongs to one writer at a time: whoever appends to it first holds it until its `RunEnded`, or until the journal is
closed or its process dies. And only who has seen a whole run can add to it: `append` goes on after the last event that
this journal object read or wrote, so nobody acts on a state that another process has left behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from treewright.core.events import Event, RunEnded


@dataclass(frozen=True, slots=True)
class Shapes:
    """The types that a strategy's actions and outcomes are read back as; `Any` for plain data."""

    action: Any = Any
    outcome: Any = Any


#: Actions and outcomes as plain data.
PLAIN = Shapes()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal.

    Args:
        seq: its number in the run, from 1, without gaps.
        at: when it was written, in seconds since 1970.
        event: what happened.
    """

    seq: int
    at: float
    event: Event


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run at a glance.

    Args:
        run: its id.
        started: when it began, in seconds since 1970.
        updated: when its last event was written.
        spec: the run as plain data, as `RunStarted` has it; empty when that cannot be read.
        ended: the last `RunEnded`, None while it runs or when it was killed.
        running: a process holds it now.
        executions: nodes executed.
        calls: model calls.
        tokens: charged.
        dollars: charged.
    """

    run: str
    started: float
    updated: float
    spec: dict[str, Any]
    ended: RunEnded | None
    running: bool
    executions: int
    calls: int
    tokens: int
    dollars: float


class Journal(Protocol):
    """Where runs are recorded. Safe for several processes at once."""

    def append(self, run: str, event: Event) -> None:
        """Write one event; it is durable when this returns.

        Raises:
            JournalError: it could not be written (disk full, read-only, the journal is gone), another process holds the
                run, or the run has events that were not read here.
        """
        ...

    def read(self, run: str, shapes: Shapes = PLAIN) -> Iterator[Entry]:
        """All events of a run, in order; none for a run that is not there.

        Raises:
            JournalError: the journal cannot be read, or an event is damaged or missing.
        """
        ...

    def runs(self) -> list[RunLine]:
        """All runs, newest first, those that are damaged too.

        Raises:
            JournalError: the journal cannot be read.
        """
        ...

    def close(self) -> None:
        """Let go of the file or connection. Can be called twice."""
        ...
