"""Replay: from the record of a run back to where it stood."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic

from treewright.core.budget import NOTHING, ONE_EXECUTION, Spend
from treewright.core.errors import IllegalMove, JournalError
from treewright.core.events import (
    BudgetChanged,
    CommitBegun,
    CommitEnded,
    Event,
    ModelCalled,
    NodeEvaluated,
    NodeExpanded,
    RunEnded,
    RunStarted,
    ToolCalled,
)
from treewright.core.tree import A, O, Tree
from treewright.journal.base import Entry


@dataclass(slots=True)
class Past(Generic[A, O]):
    """Where a run stood when its last event was written.

    Args:
        tree: rebuilt exactly.
        spent: everything charged so far. A call that was begun and has no end on record counts at its worst case, a sitting
            without an end until its last event.
        calls: model calls, oldest first.
        last_call: number of the last call that was begun.
        spec: the run as plain data.
        sittings: how often the run was started or taken up.
        end: the last end on record, if nothing followed it.
        commits: calls that are not taken back, begun and ended, oldest first.
    """

    tree: Tree[A, O] = field(default_factory=Tree)
    spent: Spend = NOTHING
    calls: list[ModelCalled] = field(default_factory=list)
    last_call: int = 0
    spec: dict[str, object] = field(default_factory=dict)
    sittings: int = 0
    end: RunEnded | None = None
    commits: list[CommitBegun | CommitEnded] = field(default_factory=list)


def replay(entries: Iterable[Entry]) -> Past[A, O]:
    """The state after `entries`, in their recorded order.

    Raises:
        JournalError: they are not those of one run.
    """
    past: Past[A, O] = Past()
    begun: dict[int, Spend] = {}
    began, heard = None, 0.0
    for entry in entries:
        if isinstance(entry.event, RunStarted):
            past.spent += _unended(began, heard)
            began = entry.at
        elif isinstance(entry.event, RunEnded):
            began = None
        heard = entry.at
        try:
            _apply(past, entry.event, begun)
        except (IllegalMove, KeyError) as error:
            raise JournalError(f"the record is damaged: event {entry.seq} does not follow from those before it") from error
    past.spent += _unended(began, heard)
    for worst in begun.values():
        past.spent += worst
    return past


def _apply(past: Past[A, O], event: Event, begun: dict[int, Spend]) -> None:
    match event:
        case RunStarted():
            past.spec, past.end = event.spec, None
            past.sittings += 1
        case NodeExpanded():
            past.tree.expand(past.tree.nodes[event.node], event.proposals)
        case NodeEvaluated():
            past.tree.record(past.tree.nodes[event.node], event.outcome, event.evaluation)
            past.spent += ONE_EXECUTION
        case BudgetChanged():
            begun[event.call] = event.reserved
            past.last_call = max(past.last_call, event.call)
        case ModelCalled():
            begun.pop(event.call, None)
            past.spent += event.spent
            past.calls.append(event)
        case ToolCalled():
            # Taking a call back costs nothing. No tool has a space in its name.
            past.spent += NOTHING if event.tool.startswith("undo ") else Spend(tool_calls=1)
        case CommitBegun() | CommitEnded():
            past.commits.append(event)
        case RunEnded():
            past.spent += Spend(seconds=max(0.0, event.spent.seconds - past.spent.seconds))
            past.end = event
        case _:
            pass


def _unended(began: float | None, heard: float) -> Spend:
    """What a sitting took whose end is not on record, from its begin until it was last heard of."""
    return NOTHING if began is None else Spend(seconds=max(0.0, heard - began))
