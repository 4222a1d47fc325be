"""Plain JSON data: what crosses from tools to programs, prompts and the record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from treewright.core.scrub import scrub
from treewright.core.secrets import without_secrets

_LONGEST_MESSAGE = 2_000


class NotJsonError(ValueError):
    """The value has no form in JSON; the message says why."""


def encoded(value: Any) -> bytes:
    """The value as JSON in UTF-8. Lone surrogates, which UTF-8 does not have, become question marks.

    Raises:
        NotJsonError: it holds itself, NaN, an infinity, or something that JSON has no word for; it is nested too deep.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except TypeError as error:  # Object of type bytes is not JSON serializable
        raise NotJsonError(str(error).replace(" serializable", "")) from None
    except RecursionError:
        raise NotJsonError("it is nested too deep") from None
    except ValueError as error:  # NaN; a circle; an integer of thousands of digits
        raise NotJsonError(str(error).partition(":")[0]) from None
    return text.encode("utf-8", "replace")


def canonical(arguments: Mapping[str, Any]) -> str:
    """Arguments as one text, equal for equal arguments: keys sorted, 3.0 as 3.

    Raises:
        NotJsonError: as in `encoded`.
    """
    encoded(dict(arguments))
    return json.dumps(_even(dict(arguments)), sort_keys=True, separators=(",", ":"))


def said(text: str) -> str:
    """What a tool said, fit for a model, a program and the record: no secret, no path of this machine, not too long."""
    return scrub(without_secrets(text.encode("utf-8", "replace").decode()))[:_LONGEST_MESSAGE].strip()


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A copy of plain data with each of its texts changed, keys included."""
    match value:
        case str():
            return change(value)
        case list():
            return [mapped(item, change) for item in value]
        case dict():
            return {change(key): mapped(item, change) for key, item in value.items()}
    return value


def listed(names: Iterable[str], most: int = 5) -> str:
    """A few names in words: "a, b, c and 4 more"."""
    known = list(names)
    shown = ", ".join(known[:most])
    return f"{shown} and {len(known) - most} more" if len(known) > most else shown


def _even(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case list() | tuple():
            return [_even(item) for item in value]
        case dict():
            return {str(key): _even(item) for key, item in value.items()}
    return value
