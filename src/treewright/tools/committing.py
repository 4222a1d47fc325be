"""Carries out, after a search, what its chosen program planned: each call at most once, each asked about first.

A record is written before a call and after it. When a process dies between the two, nobody can know whether the call was made;
so the next attempt, which is given the records of the earlier ones, reports it as unknown and does not repeat it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from treewright.core.errors import BudgetSpent
from treewright.tools.base import Card, Result, Session, Toolbox
from treewright.tools.planning import Planned

#: done         the call was made, now or in an earlier attempt
#: failed       the tool said no: nothing was done, as far as it says
#: refused      it was not allowed
#: unknown      it may have happened: it took too long, or an earlier attempt broke off during it
#: not_reached  a call before it was not done, so it was not tried
Fate = Literal["done", "failed", "refused", "unknown", "not_reached"]

#: Decides whether a call may be made: (the tool's card, the arguments) -> allowed.
Allow = Callable[[Card, Mapping[str, Any]], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a planned call.

    Args:
        planned: the call.
        fate: in a word.
        result: of the tool, where it was called.
    """

    planned: Planned
    fate: Fate
    result: Result = Result()  # noqa: RUF009 - a frozen value


async def commit(
    planned: Sequence[Planned],
    toolbox: Toolbox,
    *,
    allow: Allow,
    before: Callable[[Planned], None],
    after: Callable[[Done], None],
    earlier: Iterable[Planned | Done] = (),
) -> tuple[Done, ...]:
    """Carry out planned calls in their order. The first that is not done ends it: what follows may build on it.

    Args:
        planned: the notes of the chosen program's session.
        toolbox: open; the one beneath `Effects`. The calls share one new session of it, so a tool with a state begins anew.
        allow: asked before each call.
        before: writes its argument to the record, durably; called directly before each call.
        after: the same, directly after each call that ended.
        earlier: all that `before` and `after` were given in earlier attempts at the same notes.

    Returns:
        What became of each, in the same order.
    """
    known = _known(earlier)
    cards = {card.name: card for card in toolbox.cards}
    ends: list[Done] = []
    async with toolbox.session("commit") as session:
        for call in planned:
            if ends and ends[-1].fate != "done":
                ends.append(Done(call, "not_reached"))
            elif call.number in known:
                ends.append(known[call.number])
            elif (card := cards.get(call.tool)) is None:
                ends.append(
                    Done(call, "failed", Result(failure="unavailable", message=f"there is no tool {call.tool} any more"))
                )
            elif not await allow(card, call.arguments):
                ends.append(Done(call, "refused", Result(failure="refused", message=f"{call.tool} was not allowed")))
            else:
                before(call)
                ends.append(await _carried_out(call, session))
                after(ends[-1])
    return tuple(ends)


def _known(earlier: Iterable[Planned | Done]) -> dict[int, Done]:
    """What became of the calls that were begun before. A call that failed may be tried again."""
    known: dict[int, Done] = {}
    for record in earlier:
        if isinstance(record, Planned):
            told = f"an earlier attempt broke off while {record.tool} was called: it may have happened"
            known[record.number] = Done(record, "unknown", Result(failure="timeout", message=told))
        elif record.fate == "failed":
            known.pop(record.planned.number, None)
        else:
            known[record.planned.number] = record
    return known


async def _carried_out(call: Planned, session: Session) -> Done:
    try:
        result = await session.call(call.tool, call.arguments)
    except BudgetSpent as error:  # reserved before the call, so nothing was done
        return Done(call, "failed", Result(failure="refused", message=str(error)))
    if result.failure is None:
        return Done(call, "done", result)
    # subtle: a result that is too large or no JSON is one: the tool has done its work.
    fates: dict[str, Fate] = {"timeout": "unknown", "too_large": "done", "not_json": "done"}
    return Done(call, fates.get(result.failure, "failed"), result)
