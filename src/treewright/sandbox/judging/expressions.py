"""Expressions of tests that the host works out by itself, over decoded plain data.

`build` turns an expression into a function once, and refuses (`NotPlain`) what it does not know; such a test needs a checker.
Only built-in operations on built-in types happen here, with exactly Python's meaning of `==`: what the program returned was
decoded to plain data, so no method of its classes can be called. What arrives is at most a megabyte, and what is done with it
is bounded too (`bounded`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from treewright.sandbox.judging.bounded import BINARY, COMPARISONS, FUNCTIONS, UNARY, UNHASHED, VALUES

Values = Sequence[object]
Work = Callable[[Values], object]


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
        apply, inner = UNARY[type(node.op)], self.work(node.operand)
        return lambda values: apply(inner(values))

    def _binary(self, node: ast.BinOp) -> Work:
        apply = BINARY.get(type(node.op)) or _unknown(type(node.op).__name__)
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
        steps = list(zip([COMPARISONS[type(operation)] for operation in node.ops], rest, strict=True))

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
        value = _value(self._dotted(node))
        return lambda _: value

    def _attribute(self, node: ast.Attribute) -> Work:
        value = _value(self._dotted(node))
        return lambda _: value

    def _dotted(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                return self._names.get(name, name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                return f"{self._names.get(name, name)}.{attribute}"
        return _unknown("an attribute")

    def _call(self, node: ast.Call) -> Work:
        if of_program := self._calls(node):
            return of_program
        name = self._dotted(node.func)
        function = FUNCTIONS.get(name) or _unknown(name)
        arguments, keywords = self._many(node.args), self._keywords(node)
        return lambda values: function(*arguments(values), **{word: work(values) for word, work in keywords.items()})

    def _keywords(self, node: ast.Call) -> dict[str, Work]:
        if any(isinstance(word.value, ast.Name) and word.value.id in UNHASHED for word in node.keywords):
            _unknown("a type as a function")
        return {word.arg or _unknown("**"): self.work(word.value) for word in node.keywords}


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


def _value(name: str) -> object:
    return VALUES[name] if name in VALUES else _unknown(name)


def _single(node: ast.expr) -> bool:
    """Whether `node` names an object that there is only one of, so that identity survives being sent."""
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, bool)
    return isinstance(node, ast.Name) and isinstance(VALUES.get(node.id), type)
