"""Replay: from the events of a run back to where it stood."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic

from treewright.core.budget import NOTHING, ONE_EXECUTION, Spend
from treewright.core.events import BudgetChanged, Event, ModelCalled, NodeEvaluated, NodeExpanded, RunEnded, RunStarted
from treewright.core.tree import A, O, Tree


@dataclass(slots=True)
class Past(Generic[A, O]):
    """Where a run stood when its last event was written.

    Args:
        tree: rebuilt exactly.
        spent: everything charged so far. A call that was begun and has no end on record counts at its worst case.
        calls: model calls, oldest first.
        last_call: number of the last call that was begun.
        spec: the run as plain data.
        sittings: how often the run was started or taken up.
        end: the last end on record, if nothing followed it.
    """

    tree: Tree[A, O] = field(default_factory=Tree)
    spent: Spend = NOTHING
    calls: list[ModelCalled] = field(default_factory=list)
    last_call: int = 0
    spec: dict[str, object] = field(default_factory=dict)
    sittings: int = 0
    end: RunEnded | None = None


def replay(events: Iterable[Event]) -> Past[A, O]:
    """The state after `events`, in their recorded order.

    Raises:
        IllegalMove: the events are not those of one run.
    """
    past: Past[A, O] = Past()
    begun: dict[int, Spend] = {}
    for event in events:
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
            case RunEnded():
                past.spent += Spend(seconds=max(0.0, event.spent.seconds - past.spent.seconds))
                past.end = event
            case _:
                pass
    for worst in begun.values():
        past.spent += worst
    return past
