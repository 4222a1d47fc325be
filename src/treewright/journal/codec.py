"""Events as rows: one JSON body each, with long texts taken out and stored once by their content.

A search repeats itself: the same problem in every prompt, the same program in a report and in the next prompt. Each text
longer than `INLINE` characters is replaced by its hash, so the journal grows with what is new.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from treewright.core.errors import IllegalMove
from treewright.core.events import (
    BudgetChanged,
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
INLINE = 80
#: The key that stands for a text taken out. Plain data with just this key stands in a list below it.
_REF = "§"

_PLAIN: dict[str, type[Any]] = {
    "run_started": RunStarted,
    "budget_changed": BudgetChanged,
    "model_called": ModelCalled,
    "program_ran": ProgramRan,
    "tool_called": ToolCalled,
    "run_ended": RunEnded,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One event as the store keeps it.

    Args:
        kind: of the event.
        body: packed JSON.
        texts: hash -> packed text, all that `body` refers to.
        executions: 1 if the event is an execution.
        calls: 1 if it is a model call.
        tokens: charged by it.
        dollars: charged by it.
    """

    kind: str
    body: bytes
    texts: dict[bytes, bytes]
    executions: int
    calls: int
    tokens: int
    dollars: float


def encode(event: Event) -> Row:
    """An event as a row."""
    from pydantic_core import to_jsonable_python

    texts: dict[bytes, bytes] = {}
    plain = to_jsonable_python(event)
    kind = str(plain.pop("kind"))
    for amount in ("spent", "reserved"):  # most dimensions of an amount are zero, the default
        if amount in plain:
            plain[amount] = {name: value for name, value in plain[amount].items() if value}
    # subtle: not ASCII, where two lone surrogates side by side would be read back as one character.
    body = json.dumps(_take_out(plain, texts), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    spent = event.spent if isinstance(event, ModelCalled) else None
    return Row(
        kind,
        pack(body, WORDS),
        texts,
        executions=int(isinstance(event, NodeEvaluated)),
        calls=1 if spent else 0,
        tokens=spent.tokens if spent else 0,
        dollars=spent.dollars if spent else 0.0,
    )


def decode(kind: str, body: bytes, text: Callable[[bytes], str], shapes: Shapes) -> Event:
    """The event of a row.

    Args:
        kind: of the event.
        body: packed JSON.
        text: the text of a hash.
        shapes: types of actions and outcomes.

    Raises:
        ValueError: the row is damaged or not one of ours; the message is a clause that says how.
    """
    from pydantic import ValidationError

    reader = _reader(kind, shapes)
    try:
        event: Event = reader.validate_python(_put_back(json.loads(unpack(body, WORDS)), text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc'])) or kind}: {first['msg']}") from error
    except (IllegalMove, RecursionError, TypeError) as error:
        raise ValueError(f"it is not what a {kind} looks like ({error})") from error
    return event


@cache
def _reader(kind: str, shapes: Shapes) -> Any:
    from pydantic import TypeAdapter

    if kind == "node_expanded":
        return TypeAdapter(_of(NodeExpanded, shapes.action))
    if kind == "node_evaluated":
        return TypeAdapter(_of(NodeEvaluated, shapes.outcome))
    if kind not in _PLAIN:
        raise ValueError(f"unknown kind of event: {kind!r}")
    return TypeAdapter(_PLAIN[kind])


def _of(generic: Any, argument: Any) -> Any:
    return generic[argument]


def _take_out(value: Any, texts: dict[bytes, bytes]) -> Any:
    if isinstance(value, str):
        if len(value) <= INLINE:
            return value
        data = value.encode("utf-8", "surrogatepass")
        digest = _digest(data)
        texts[digest] = pack(data)
        return {_REF: b64encode(digest).decode()}
    if isinstance(value, dict):
        taken = {key: _take_out(item, texts) for key, item in value.items()}
        return {_REF: [taken[_REF]]} if taken.keys() == {_REF} else taken
    if isinstance(value, list):
        return [_take_out(item, texts) for item in value]
    return value


def _put_back(value: Any, text: Callable[[bytes], str]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_REF}:
            found = value[_REF]
            return {_REF: _put_back(found[0], text)} if isinstance(found, list) else text(b64decode(found))
        return {key: _put_back(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [_put_back(item, text) for item in value]
    return value


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=12).digest()


def read_text(digest: bytes, body: bytes | None) -> str:
    """A stored text, if it is the one that was stored.

    Raises:
        ValueError: it is missing or damaged.
    """
    if body is None:
        raise ValueError("one of its texts is missing")
    data = unpack(body)
    if _digest(data) != digest:
        raise ValueError("one of its texts is damaged")
    return data.decode("utf-8", "surrogatepass")
