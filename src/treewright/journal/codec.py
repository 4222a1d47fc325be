"""Events as rows: one JSON body each, with longer texts taken out and stored once by their content.

A search repeats itself: the same problem in every prompt, the same program in a report and in the next prompt. Each text
longer than `INLINE` characters is replaced by a number, so the journal grows with what is new.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

from treewright.core.errors import IllegalMove
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
from treewright.journal.base import Shapes
from treewright.journal.packing import WORDS, pack, unpack

#: Texts up to this many characters stay in the body.
INLINE = 32
#: The key that stands for a text taken out. Plain data with just this key stands in a list below it.
_REF = "§"

_PLAIN: dict[str, type[Any]] = {
    "run_started": RunStarted,
    "budget_changed": BudgetChanged,
    "model_called": ModelCalled,
    "program_ran": ProgramRan,
    "tool_called": ToolCalled,
    "commit_begun": CommitBegun,
    "commit_ended": CommitEnded,
    "run_ended": RunEnded,
}


def encode(event: Event, keep: Callable[[str], int]) -> bytes:
    """An event as a body.

    Args:
        event: what happened.
        keep: stores a text and gives its number; equal texts have equal numbers.

    Raises:
        TypeError: an action or outcome holds something else than dataclasses, enums, and what JSON has.
    """
    plain = _take_out(event, keep)
    for amount in ("spent", "reserved"):  # most dimensions of an amount are zero, the default
        if amount in plain:
            plain[amount] = {name: value for name, value in plain[amount].items() if value}
    text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False)
    # subtle: not ASCII, where two lone surrogates side by side would be read back as one character.
    return pack(text.encode("utf-8", "surrogatepass"), WORDS)


def decode(body: bytes, text: Callable[[int], str], shapes: Shapes) -> Event:
    """The event of a body.

    Args:
        body: as `encode` made it.
        text: the text of a number.
        shapes: types of actions and outcomes.

    Raises:
        ValueError: the body is damaged or not one of ours; the message is a clause that says how.
    """
    from pydantic import ValidationError

    try:
        plain = _put_back(json.loads(unpack(body, WORDS).decode("utf-8", "surrogatepass")), text)
        event: Event = _reader(plain["kind"], shapes).validate_python(plain)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except (IllegalMove, LookupError, RecursionError, TypeError) as error:
        raise ValueError(f"it is no event of ours ({error})") from error
    return event


@cache
def _reader(kind: str, shapes: Shapes) -> Any:
    from pydantic import TypeAdapter

    if kind == "node_expanded":
        return TypeAdapter(_of(NodeExpanded, shapes.action))
    if kind == "node_evaluated":
        return TypeAdapter(_of(NodeEvaluated, shapes.outcome))
    return TypeAdapter(_PLAIN[kind])


def _of(generic: Any, argument: Any) -> Any:
    return generic[argument]


def _take_out(value: Any, keep: Callable[[str], int]) -> Any:
    if isinstance(value, str):
        return value if len(value) <= INLINE else {_REF: keep(value)}
    if is_dataclass(value):
        return {f.name: _take_out(getattr(value, f.name), keep) for f in fields(value)}
    if isinstance(value, Enum):
        return _take_out(value.value, keep)
    if isinstance(value, dict):
        taken = {key: _take_out(item, keep) for key, item in value.items()}
        return {_REF: [taken[_REF]]} if taken.keys() == {_REF} else taken
    if isinstance(value, list | tuple):
        return [_take_out(item, keep) for item in value]
    return value


def _put_back(value: Any, text: Callable[[int], str]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_REF}:
            found = value[_REF]
            return {_REF: _put_back(found[0], text)} if isinstance(found, list) else text(found)
        return {key: _put_back(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [_put_back(item, text) for item in value]
    return value
