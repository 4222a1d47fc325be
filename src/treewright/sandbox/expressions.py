"""Expressions of tests that the host works out by itself, over decoded plain data.

`build` turns an expression into a function once, and refuses (`NotPlain`) what it does not know; such a test needs a checker.
Only built-in operations on built-in types happen here, with exactly Python's meaning of `==`: what the program returned was
decoded to plain data, so no method of its classes can be called. What arrives is at most a megabyte and its sets cannot collide
(`values`), so the operations allowed here end soon.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from treewright.sandbox.approx import Approx

Values = Sequence[object]
Work = Callable[[Values], object]

_MAX_PRODUCT = 1 << 20

_FUNCTIONS: dict[str, Callable[..., object]] = {
    function.__name__: function
    for function in (
        abs,
        all,
        any,
        bool,
        complex,
        dict,
        float,
        frozenset,
        int,
        isinstance,
        len,
        list,
        max,
        min,
        round,
        set,
        sorted,
    )
} | {"str": str, "sum": sum, "tuple": tuple, "type": type, "repr": repr, "bytes": bytes, "bytearray": bytearray, "range": range}
_KNOWN: dict[str, object] = {
    **_FUNCTIONS,
    "math.isclose": math.isclose,
    "math.inf": math.inf,
    "math.nan": math.nan,
    "math.pi": math.pi,
    "math.e": math.e,
    "math.isnan": math.isnan,
    "math.isinf": math.isinf,
    "pytest.approx": Approx,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[..., object]] = {
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
_UNARY: dict[type[ast.unaryop], Callable[..., object]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


class NotPlain(Exception):
    """The expression does more than the host works out by itself."""


def build(node: ast.expr, *, calls: Callable[[ast.Call], Work | None], names: Mapping[str, str]) -> Work:
    """The function that works `node` out, given the values of the calls to the program.

    Args:
        node: an expression of a test.
        calls: for a call to the program, the function that picks its value; None for any other call.
        names: what imported names stand for, such as `isclose` for "math.isclose".

    Raises:
        NotPlain: something in it is not allowed here.
    """
    return _Builder(calls, names).work(node)


class _Builder:
    def __init__(self, calls: Callable[[ast.Call], Work | None], names: Mapping[str, str]) -> None:
        self._calls, self._names = calls, names

    def work(self, node: ast.expr) -> Work:
        method = _BUILDERS.get(type(node))
        return method(self, node) if method else _unknown(type(node).__name__)

    def _many(self, nodes: Sequence[ast.expr]) -> Callable[[Values], list[object]]:
        if any(isinstance(node, ast.Starred) for node in nodes):
            _unknown("*")
        works = [self.work(node) for node in nodes]
        return lambda values: [work(values) for work in works]

    def _constant(self, node: ast.Constant) -> Work:
        return lambda _: node.value

    def _list(self, node: ast.List) -> Work:
        return self._many(node.elts)

    def _tuple(self, node: ast.Tuple) -> Work:
        items = self._many(node.elts)
        return lambda values: tuple(items(values))

    def _set(self, node: ast.Set) -> Work:
        items = self._many(node.elts)
        return lambda values: set(items(values))

    def _dict(self, node: ast.Dict) -> Work:
        keys = self._many([key if key is not None else _unknown("**") for key in node.keys])
        items = self._many(node.values)
        return lambda values: dict(zip(keys(values), items(values), strict=True))

    def _unary(self, node: ast.UnaryOp) -> Work:
        apply, inner = _UNARY[type(node.op)], self.work(node.operand)
        return lambda values: apply(inner(values))

    def _binary(self, node: ast.BinOp) -> Work:
        apply = _BINARY.get(type(node.op)) or _unknown(type(node.op).__name__)
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str | bytes):
            _unknown("formatting")
        left, right = self.work(node.left), self.work(node.right)
        return lambda values: apply(left(values), right(values))

    def _both(self, node: ast.BoolOp) -> Work:
        works = [self.work(value) for value in node.values]
        stop = isinstance(node.op, ast.Or)

        def decide(values: Values) -> object:
            result: object = None
            for work in works:
                result = work(values)
                if bool(result) is stop:
                    break
            return result

        return decide

    def _compare(self, node: ast.Compare) -> Work:
        sides = [node.left, *node.comparators]
        for operation, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(operation, ast.Is | ast.IsNot) and not (_single(left) or _single(right)):
                _unknown("identity")
        first, *rest = [self.work(side) for side in sides]
        steps = list(zip([_COMPARISONS[type(operation)] for operation in node.ops], rest, strict=True))

        def compare(values: Values) -> object:
            left, result = first(values), None
            for apply, work in steps:
                right = work(values)
                result = apply(left, right)
                if not result:
                    break
                left = right
            return result

        return compare

    def _subscript(self, node: ast.Subscript) -> Work:
        value, place = self.work(node.value), self.work(node.slice)

        def pick(values: Values) -> object:
            holder = value(values)
            if not isinstance(holder, str | bytes | list | tuple | dict | range):
                raise TypeError(f"a value of type {type(holder).__name__} cannot be indexed")
            return holder[place(values)]  # type: ignore[index, call-overload]  # a wrong index is the test's TypeError

        return pick

    def _slice(self, node: ast.Slice) -> Work:
        parts = [self.work(part) if part else (lambda _: None) for part in (node.lower, node.upper, node.step)]
        return lambda values: slice(*[part(values) for part in parts])

    def _name(self, node: ast.Name) -> Work:
        value = _known(self._names.get(node.id, node.id))
        return lambda _: value

    def _attribute(self, node: ast.Attribute) -> Work:
        if not isinstance(node.value, ast.Name):
            _unknown("an attribute")
        value = _known(f"{self._names.get(node.value.id, node.value.id)}.{node.attr}")
        return lambda _: value

    def _call(self, node: ast.Call) -> Work:
        if of_program := self._calls(node):
            return of_program
        function, arguments = self.work(node.func), self._many(node.args)
        keywords = {word.arg or _unknown("**"): self.work(word.value) for word in node.keywords}

        def call(values: Values) -> object:
            apply = function(values)
            if not callable(apply):
                raise TypeError(f"{apply!r} is not callable")
            return apply(*arguments(values), **{word: work(values) for word, work in keywords.items()})

        return call


_BUILDERS: dict[type[ast.expr], Callable[..., Work]] = {
    ast.Constant: _Builder._constant,
    ast.List: _Builder._list,
    ast.Tuple: _Builder._tuple,
    ast.Set: _Builder._set,
    ast.Dict: _Builder._dict,
    ast.UnaryOp: _Builder._unary,
    ast.BinOp: _Builder._binary,
    ast.BoolOp: _Builder._both,
    ast.Compare: _Builder._compare,
    ast.Subscript: _Builder._subscript,
    ast.Slice: _Builder._slice,
    ast.Name: _Builder._name,
    ast.Attribute: _Builder._attribute,
    ast.Call: _Builder._call,
}


def _unknown(what: str) -> NoReturn:
    raise NotPlain(what)


def _known(name: str) -> object:
    if name in _KNOWN:
        return _KNOWN[name]
    return _unknown(name)


def _single(node: ast.expr) -> bool:
    """Whether `node` names an object that there is only one of, so that identity survives being sent."""
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, bool)
    return isinstance(node, ast.Name) and isinstance(_KNOWN.get(node.id), type)


def _product(left: object, right: object) -> object:
    if isinstance(left, int | float | complex) and isinstance(right, int | float | complex):
        return left * right
    sequence, times = (right, left) if isinstance(left, int) else (left, right)
    if isinstance(sequence, str | bytes | list | tuple) and isinstance(times, int) and len(sequence) * times <= _MAX_PRODUCT:
        return sequence * times
    raise TypeError("not a product of numbers, or too long")


def _power(left: object, right: object) -> object:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > _MAX_PRODUCT:
        raise OverflowError("too large a power")
    if isinstance(left, int | float | complex) and isinstance(right, int | float | complex):
        return left**right
    raise TypeError("not a power of numbers")


def _remainder(left: object, right: object) -> object:
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left % right
    raise TypeError("not a remainder of numbers")  # text of the program's would be a format, which can ask for any amount


_BINARY: dict[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.Mult: _product,
    ast.Pow: _power,
    ast.Mod: _remainder,
}
