"""The text of a value, as `values` describes it.

Subclasses become their base; numpy scalars and arrays become numbers and lists, without numpy being imported here. Bounded in
size and depth, so a cycle is refused as too deep.

Standard library only, and `values`: this text is also part of the programs sent into the sandbox.
"""

from __future__ import annotations

import builtins
import sys
from itertools import chain

from treewright.sandbox.judging.values import LIBRARY, MAX_RANGE, Handle, Reference

TYPE_CHECKING = False
if TYPE_CHECKING:  # not the one of typing, for importing that takes longer than all the rest
    from collections.abc import Callable, Iterable

try:  # it takes 8 ms less to start with this than with json itself, which needs re
    from _json import encode_basestring_ascii as quote
except ImportError:  # another implementation of Python
    from json.encoder import py_encode_basestring_ascii as quote

MAX_DEPTH = 100
MAX_CHARS = 1 << 20
_TOO_LARGE = "a value that is too large to be compared"
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


class Unsendable(ValueError):
    """A value that cannot be sent: too large, or nested too deep, which a cycle is too."""


def encode(value: object, other: Callable[[object], object] | None = None, max_chars: int = MAX_CHARS) -> str:
    """The text of `value`. What is not plain data is replaced by `other(value)`: a `Handle`, a `Reference` or plain data.

    Raises:
        Unsendable: longer than `max_chars`, deeper than `MAX_DEPTH`, or not plain data and there is no `other`.
    """
    return _Encoder(other, max_chars).text(value, 0)


class _Encoder:
    """One value on its way to text. `room` is what is left of the allowed length.

    A method for each type, found through the true classes of a value: `isinstance` believes what an object says of itself.
    Each calls the base class's own methods, as in `list.__iter__(value)`, for a subclass may have redefined them.
    """

    def __init__(self, other: Callable[[object], object] | None, room: int) -> None:
        self._other, self._room = other, room

    def text(self, value: object, depth: int) -> str:
        for base in type(value).__mro__:
            if method := _ENCODERS.get(base):
                return method(self, value, depth)
        return self._foreign(value, depth)

    def _charge(self, text: str) -> str:
        self._room -= len(text) + 1
        if self._room < 0:
            raise Unsendable(_TOO_LARGE)
        return text

    def _tag(self, tag: str, text: str) -> str:
        return self._charge(f'{{"{tag}":') + text + "}"

    def _items(self, items: Iterable[object], depth: int) -> str:
        if depth > MAX_DEPTH:
            raise Unsendable(f"a value nested deeper than {MAX_DEPTH} levels, or one that contains itself")
        self._charge("[]")
        return "[" + ",".join([self.text(item, depth + 1) for item in items]) + "]"

    def _none(self, value: None, depth: int) -> str:
        return self._charge("null")

    def _bool(self, value: bool, depth: int) -> str:
        return self._charge("true" if value else "false")

    def _int(self, value: int, depth: int) -> str:
        value = int.__int__(value)
        if -(1 << 63) <= value < 1 << 63:
            return self._charge(str(value))
        if value.bit_length() > 4 * self._room:
            raise Unsendable(_TOO_LARGE)
        return self._tag("i", self._charge(quote(hex(value))))  # decimal text of a large int is slow, and capped by Python

    def _float(self, value: float, depth: int) -> str:
        text = float.__repr__(value)
        return self._charge(_NOT_FINITE.get(text, text))

    def _str(self, value: str, depth: int) -> str:
        value = str.__str__(value)
        if len(value) > self._room:
            raise Unsendable(_TOO_LARGE)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:  # JSON would join two surrogates that happen to make a pair
                return self._tag("u", self._charge(quote(value.encode("utf-8", "surrogatepass").hex())))
        return self._charge(quote(value))

    def _list(self, value: list[object], depth: int) -> str:
        return self._items(list.__iter__(value), depth)

    def _tuple(self, value: tuple[object, ...], depth: int) -> str:
        return self._tag("t", self._items(tuple.__iter__(value), depth))

    def _dict(self, value: dict[object, object], depth: int) -> str:
        return self._tag("d", self._items(chain.from_iterable(dict.items(value)), depth))

    def _set(self, value: set[object], depth: int) -> str:
        return self._tag("s", self._items(set.__iter__(value), depth))

    def _frozenset(self, value: frozenset[object], depth: int) -> str:
        return self._tag("z", self._items(frozenset.__iter__(value), depth))

    def _bytes(self, value: bytes, depth: int) -> str:
        if 2 * len(value) > self._room:
            raise Unsendable(_TOO_LARGE)
        return self._tag("b", self._charge(quote(bytes.hex(value))))

    def _bytearray(self, value: bytearray, depth: int) -> str:
        if 2 * len(value) > self._room:
            raise Unsendable(_TOO_LARGE)
        return self._tag("a", self._charge(quote(bytearray.hex(value))))

    def _complex(self, value: complex, depth: int) -> str:
        plain = complex.__pos__(value)
        return self._tag("c", self._items((plain.real, plain.imag), depth))

    def _range(self, value: range, depth: int) -> str:
        if abs((value.stop - value.start) // value.step) > MAX_RANGE:
            raise Unsendable("a range of more than a million numbers")
        return self._tag("r", self._items((value.start, value.stop, value.step), depth))

    def _slice(self, value: slice, depth: int) -> str:
        return self._tag("l", self._items((value.start, value.stop, value.step), depth))

    def _type(self, value: type, depth: int) -> str:
        name = type.__dict__["__name__"].__get__(value)
        return self._tag("y", self._charge(quote(name))) if vars(builtins).get(name) is value else self._foreign(value, depth)

    def _handle(self, value: Handle, depth: int) -> str:
        return self._tag("h", self._items((value.number, value.type), depth))

    def _reference(self, value: Reference, depth: int) -> str:
        return self._tag(value.tag, self.text(value.target, depth))

    def _foreign(self, value: object, depth: int) -> str:
        if (parts := _library_parts(value)) is not None:
            return self._tag("x", self._items(parts, depth))
        if type(value).__module__ == "numpy" and (plain := getattr(value, "tolist", None)):
            return self.text(plain(), depth + 1)
        if self._other is None or depth > MAX_DEPTH:
            raise Unsendable(f"a value of type {type(value).__name__}")
        return self.text(self._other(value), depth + 1)


_ENCODERS: dict[type, Callable[..., str]] = {
    type(None): _Encoder._none,
    bool: _Encoder._bool,
    int: _Encoder._int,
    float: _Encoder._float,
    str: _Encoder._str,
    list: _Encoder._list,
    tuple: _Encoder._tuple,
    dict: _Encoder._dict,
    set: _Encoder._set,
    frozenset: _Encoder._frozenset,
    bytes: _Encoder._bytes,
    bytearray: _Encoder._bytearray,
    complex: _Encoder._complex,
    range: _Encoder._range,
    slice: _Encoder._slice,
    type: _Encoder._type,
    Handle: _Encoder._handle,
    Reference: _Encoder._reference,
}


def _library_parts(value: object) -> list[object] | None:
    """A standard-library value as the name of its type and what to build it from. Subclasses are left alone."""
    name = type(value).__name__
    if name not in LIBRARY or type(value) is not getattr(sys.modules.get(LIBRARY[name]), name, None):
        return None
    if name == "deque":
        return [name, list(value), value.maxlen]  # type: ignore[call-overload, attr-defined]  # the type was compared above
    if name == "timedelta":
        return [name, value.days, value.seconds, value.microseconds]  # type: ignore[attr-defined]
    if name in ("Decimal", "Fraction"):
        return [name, str(value)]
    return [name, value.isoformat()]  # type: ignore[attr-defined]
