"""Python's built-in functions and operators for data whose sender may be hostile.

Same results, but never more work or memory than the data itself is worth: no sets of numbers that were chosen to collide, no
`bytearray(10**12)`, no text formats, no product or power of a size that nobody would test. What goes beyond is an error, as it
would be of a wrong answer.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable

from treewright.sandbox.judging.approx import Approx
from treewright.sandbox.judging.values import apart

_MOST = 1 << 20  # items of a sequence, bits of a number
_SLOW_BITS = 1 << 16  # division takes time that grows with the square of the size


def _product(left: object, right: object) -> object:
    if isinstance(left, int | float | complex) and isinstance(right, int | float | complex):
        return left * right
    sequence, times = (right, left) if isinstance(left, int) else (left, right)
    if isinstance(sequence, str | bytes | list | tuple) and isinstance(times, int) and len(sequence) * times <= _MOST:
        return sequence * times
    raise TypeError("not a product of numbers, or too long")


def _power(left: object, right: object) -> object:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > _MOST:
        raise OverflowError("too large a power")
    if isinstance(left, int | float | complex) and isinstance(right, int | float | complex):
        return left**right
    raise TypeError("not a power of numbers")


def _dividing(apply: Callable[..., object]) -> Callable[[object, object], object]:
    def divide(left: object, right: object) -> object:
        if not (isinstance(left, int | float | complex) and isinstance(right, int | float | complex)):
            raise TypeError("not a division of numbers")  # a `%` on text would be a format, which can ask for any amount
        if isinstance(right, int) and right.bit_length() > _SLOW_BITS:
            raise OverflowError("too large a divisor")
        return apply(left, right)

    return divide


def _set(items: Iterable[object] = ()) -> set[object]:
    return set(apart(list(items)))


def _frozenset(items: Iterable[object] = ()) -> frozenset[object]:
    return frozenset(apart(list(items)))


def _dict(pairs: dict[object, object] | Iterable[tuple[object, object]] = (), /, **named: object) -> dict[object, object]:
    keys, items = [], []
    for key, item in pairs.items() if isinstance(pairs, dict) else pairs:
        keys.append(key)
        items.append(item)
    return dict(zip(apart(keys), items, strict=True)) | named


def _range(*numbers: int) -> range:
    found = range(*numbers)
    if len(found) > _MOST:
        raise OverflowError("too long a range")
    return found


def _round(number: float, digits: int | None = None) -> object:
    if digits is not None and abs(digits) > 1000:
        raise OverflowError("too many digits")
    return round(number, digits)


def _sum(numbers: Iterable[complex], start: complex = 0) -> object:
    if not isinstance(start, int | float | complex):
        raise TypeError("not a sum of numbers")  # of lists, it takes time that grows with the square of their number
    return sum(numbers, start)


FUNCTIONS: dict[str, Callable[..., object]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "complex": complex,
    "dict": _dict,
    "float": float,
    "frozenset": _frozenset,
    "int": int,
    "isinstance": isinstance,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "range": _range,
    "repr": repr,
    "round": _round,
    "set": _set,
    "sorted": sorted,
    "str": str,
    "sum": _sum,
    "tuple": tuple,
    "type": lambda value: type(value),
    "math.isclose": math.isclose,
    "math.isinf": math.isinf,
    "math.isnan": math.isnan,
    "pytest.approx": Approx,
}
VALUES: dict[str, object] = {
    **{kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, bytearray, list, tuple, range)},
    **{kind.__name__: kind for kind in (dict, set, frozenset)},
    "abs": abs,
    "len": len,
    "math.e": math.e,
    "math.inf": math.inf,
    "math.nan": math.nan,
    "math.pi": math.pi,
}
UNHASHED = ("dict", "set", "frozenset")  # of `VALUES`, those that are not called on a program's data unless by `FUNCTIONS`
COMPARISONS: dict[type[ast.cmpop], Callable[..., object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
UNARY: dict[type[ast.unaryop], Callable[..., object]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
BINARY: dict[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.Mult: _product,
    ast.Pow: _power,
    ast.Div: _dividing(operator.truediv),
    ast.FloorDiv: _dividing(operator.floordiv),
    ast.Mod: _dividing(operator.mod),
}
