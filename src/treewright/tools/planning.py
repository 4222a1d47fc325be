"""Calls that a search only plans: what is noted of them, and what the program gets in place of a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treewright.tools.base import Card, Failure
from treewright.tools.schema_words import resolved

#: Failures after which the tool may have done its work all the same.
MAYBE_DONE: frozenset[Failure] = frozenset({"timeout", "too_large", "not_json"})
_MARK = "is done once, after the search, and only for the program that is chosen"


@dataclass(frozen=True, slots=True)
class Planned:
    """A call that a program made and that was noted instead.

    Args:
        number: its place among the calls noted in the same session, from 1.
        tool: its name.
        arguments: of the call, plain JSON.
    """

    number: int
    tool: str
    arguments: Mapping[str, Any]


def stand_in(card: Card) -> Any:
    """What a program gets in place of the result of a planned call, after the tool's return schema.

    A tool that returns text gives a sentence that says so, a tool that returns nothing gives None, and every other
    `{"planned": True, "note": "..."}`. Nothing is invented: a made-up order number would end up in an answer.
    """
    note = f"planned: {card.name} {_MARK}"
    kind = resolved(card.returns, card.returns).get("type") if card.returns is not None else None
    if kind == "null":
        return None
    return note if kind == "string" else {"planned": True, "note": note}


def holds_stand_in(value: Any) -> bool:
    """Whether plain data holds a stand-in, or text made with one."""
    match value:
        case str():
            return _MARK in value
        case list():
            return any(map(holds_stand_in, value))
        case dict():
            return any(map(holds_stand_in, value)) or any(map(holds_stand_in, value.values()))
    return False
