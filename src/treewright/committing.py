"""After a search: the calls that its chosen program only noted, carried out at most once each, on record before and after.

A run that is taken up again knows from its record what was begun. Calls noted by another program than the one that was chosen
before are never added to those already made: the run says so instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from treewright.core.events import CommitBegun, CommitEnded, Sink
from treewright.core.tree import Node
from treewright.tools.base import Card, Result, Toolbox
from treewright.tools.committing import Allow, Done, Fate, commit
from treewright.tools.planning import Planned

Past = Iterable[CommitBegun | CommitEnded]


async def carry_out(
    node: Node[Any, Any], toolbox: Toolbox, *, mode: Literal["ask", "yes", "dry_run"], ask: Allow | None, emit: Sink, past: Past
) -> str:
    """Make the calls that the program of `node` noted; what became of them in a sentence, "" when it noted none.

    Args:
        node: the chosen one.
        toolbox: open; the one beneath `Effects`.
        mode: as in `ToolChoices.commits`.
        ask: asks the user; None where there is nobody to ask, which refuses every call.
        emit: writes to the record.
        past: what is on record of this run's calls.
    """
    noted: tuple[Planned, ...] = node.outcome.run.planned if node.outcome is not None else ()
    if not noted:
        return ""
    begun = list(past)
    not_made = f"{len(noted)} noted call{'s were' if len(noted) > 1 else ' was'} not made"
    if any(event.node != node.id for event in begun):
        return f"{not_made}: those of an earlier answer of this run were"
    if mode == "dry_run":
        return f"{not_made} (dry run)"

    async def allow(card: Card, arguments: Mapping[str, Any]) -> bool:
        return mode == "yes" or (ask is not None and await ask(card, arguments))

    def before(call: Planned) -> None:
        emit(CommitBegun(node.id, call.number, call.tool, dict(call.arguments)))

    def after(done: Done) -> None:
        emit(CommitEnded(node.id, done.planned.number, done.fate, done.result.message))

    ends = await commit(noted, toolbox, allow=allow, before=before, after=after, earlier=_earlier(begun))
    nobody = mode == "ask" and ask is None
    return "; ".join(_told(end, "not allowed, as there was nobody to ask" if nobody else "not allowed") for end in ends)


def _earlier(events: Past) -> list[Planned | Done]:
    found: list[Planned | Done] = []
    begun: dict[int, Planned] = {}
    for event in events:
        if isinstance(event, CommitBegun):
            begun[event.number] = Planned(event.number, event.tool, event.arguments)
            found.append(begun[event.number])
        else:
            fates: dict[str, Fate] = {"done": "done", "failed": "failed"}
            found.append(Done(begun[event.number], fates.get(event.fate, "unknown"), Result(message=event.message)))
    return found


def _told(end: Done, refused: str) -> str:
    words = {"refused": refused, "unknown": "may have happened", "not_reached": "not tried"}
    why = f" ({end.result.message})" if end.fate in ("failed", "unknown") and end.result.message else ""
    return f"{end.planned.tool}: {words.get(end.fate, end.fate)}{why}"
