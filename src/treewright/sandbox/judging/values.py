"""Plain data as text, both ways: the only thing that crosses between a program and the host. Never pickle.

JSON, in which these stand for themselves: None, booleans, strings, floats, ints of up to 64 bits, lists. Everything else is an
object with one key, its tag:

    t tuple    d dict (keys and values in turn)    s set    z frozenset    i int (hex)    c complex    r range    l slice
    b bytes    a bytearray (both hex)    u string with surrogates (hex of UTF-8)    y built-in type (name)
    x value of the standard library (name, parts): Decimal, Fraction, deque, date, time, datetime, timedelta
    h anything else (number, type name): on the far side a `Handle`, which equals nothing
    n name of the program    k function of the test (number)

Both sides assume a hostile peer. `encoding` writes these texts; `decode` here reads them, refuses unknown tags, and refuses
sets and dicts whose members were chosen to collide: numbers hash to themselves, so collisions cost an attacker nothing.

Standard library only: this text is also part of the programs sent into the sandbox.
"""

from __future__ import annotations

import builtins
from itertools import groupby
from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:  # not the one of typing, for importing that takes longer than all the rest
    from collections.abc import Callable, Sequence
    from typing import Any

try:  # it takes 8 ms less to start with this than with json itself, which needs re
    from _json import make_scanner
except ImportError:  # another implementation of Python
    from json.scanner import make_scanner

_MAX_ALIKE = 64
_MAX_SHOWN = 500
_MAX_EXPONENT = 10_000
MAX_RANGE = 1_000_000
LIBRARY = {
    "Decimal": "decimal",
    "Fraction": "fractions",
    "deque": "collections",
    "date": "datetime",
    "time": "datetime",
    "datetime": "datetime",
    "timedelta": "datetime",
}


class Malformed(ValueError):
    """Text that no `encode` has written."""


class Handle:
    """Stands for an object that lives on the far side. Equal to itself only; methods of its class never run on this side."""

    __slots__ = ("number", "type")

    def __init__(self, number: int, type_name: str) -> None:
        self.number, self.type = number, type_name

    def __repr__(self) -> str:
        return f"<{self.type} object>"


class Reference:
    """Sent in place of a value that the receiver has: a name of the program ("n"), a function of the test ("k")."""

    __slots__ = ("tag", "target")

    def __init__(self, tag: str, target: str | int) -> None:
        self.tag, self.target = tag, target


def decode(text: str, resolve: Callable[[str, object], object] | None = None) -> object:
    """The value of a text that `encode` has written.

    Args:
        text: at most some MiB; the caller caps it.
        resolve: what a tag "h", "n" or "k" and its content stand for here. Default: "h" is a `Handle`, the others are refused.

    Raises:
        Malformed: anything that `encode` would not have written, or colliding members.
    """
    try:
        value, end = _scanner(resolve or _handle_only)(text, 0)
    except (StopIteration, ValueError, TypeError, ArithmeticError, RecursionError, KeyError) as error:
        raise Malformed(f"not a value: {error}") from error
    if end != len(text):
        raise Malformed("text after the value")
    return value


def message(text: str, resolve: Callable[[str, object], object] | None = None) -> list[Any]:
    """The same for a message, which is a list; its items are for the reader to check.

    Raises:
        Malformed: as above, or it is not a list.
    """
    value = decode(text, resolve)
    if not isinstance(value, list):
        raise Malformed("not a message")
    return value


def _scanner(resolve: Callable[[str, object], object]) -> Callable[[str, int], tuple[object, int]]:
    def tagged(pairs: list[tuple[str, object]]) -> object:
        ((tag, content),) = pairs
        return resolve(tag, content) if tag in ("h", "n", "k") else _DECODERS[tag](content)

    reading = SimpleNamespace(
        strict=False,
        object_hook=None,
        object_pairs_hook=tagged,
        parse_float=float,
        parse_int=int,
        parse_constant=lambda name: float(name.replace("Infinity", "inf")),
        memo={},
    )
    scan: Callable[[str, int], tuple[object, int]] = make_scanner(reading)  # type: ignore[arg-type]  # any object with these
    return scan


def _handle_only(tag: str, content: object) -> object:
    if tag == "h" and isinstance(content, list):
        number, name = content
        if isinstance(number, int) and isinstance(name, str):
            return Handle(number, name)
    raise Malformed("a reference that has no meaning here")


def apart(members: Sequence[object]) -> Sequence[object]:
    """`members`, unless too many of them have the same hash."""
    if len(members) > _MAX_ALIKE:
        for _, alike in groupby(sorted(map(hash, members))):
            if sum(1 for _ in alike) > _MAX_ALIKE:
                raise Malformed("too many members of a set or keys of a dict have the same hash")
    return members


def _dict(content: list[object]) -> dict[object, object]:
    keys = apart(content[::2])
    return dict(zip(keys, content[1::2], strict=True))


def _range(content: list[int]) -> range:
    value = range(*content)
    if len(value) > MAX_RANGE:
        raise Malformed("a range of more than a million numbers")  # a test that iterates over it would not end
    return value


def _type(content: str) -> type:
    kind = vars(builtins)[content]
    if not isinstance(kind, type):
        raise Malformed("not a type")
    return kind


def _library(content: list[str]) -> object:
    import importlib

    name, first, *rest = content
    kind = getattr(importlib.import_module(LIBRARY[name]), name)
    if name == "deque":
        return kind(first, *rest)
    if name == "timedelta":
        return kind(first, *rest)
    if name == "Fraction" and not set(first) <= set("-0123456789/"):
        raise Malformed("a fraction with an exponent, which could be huge")
    if name == "Fraction":
        return kind(first)
    if name == "Decimal":
        value = kind(first)
        if value.is_finite() and abs(value.adjusted()) > _MAX_EXPONENT:
            raise Malformed("a decimal number with a huge exponent")
        return value
    return kind.fromisoformat(first)


_DECODERS: dict[str, Callable[..., object]] = {
    "t": tuple,
    "d": _dict,
    "s": lambda content: set(apart(content)),
    "z": lambda content: frozenset(apart(content)),
    "i": lambda content: int(content, 16),
    "c": lambda content: complex(*content),
    "r": _range,
    "l": lambda content: slice(*content),
    "b": bytes.fromhex,
    "a": bytearray.fromhex,
    "u": lambda content: bytes.fromhex(content).decode("utf-8", "surrogatepass"),
    "y": _type,
    "x": _library,
}


def show(value: object) -> str:
    """`value` as text for people, cut at some hundred characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int of thousands of digits, or deep nesting
        text = f"<{type(value).__name__} too large to show>"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}... ({len(text)} characters)"
