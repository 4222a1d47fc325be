"""Arithmetic written as text, worked out without running it as a program."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

Number = int | float
_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_LONGEST = 2000
_LARGEST_EXPONENT = 64
_LARGEST_BASE = 10**6


def calculate(expression: str) -> Number:
    """The value of an expression of numbers, + - * / // % **, signs and brackets.

    Raises:
        ValueError: it is something else, or too large.
        ZeroDivisionError: it divides by zero.

    >>> calculate("2 + (3 * 4)")
    14
    """
    if not isinstance(expression, str) or len(expression) > _LONGEST:
        raise ValueError(f"an expression is a text of at most {_LONGEST} characters")
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"{expression!r} is no arithmetic expression") from None


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left), _value(right))
    raise ValueError(f"{ast.unparse(node)!r} is no number and no arithmetic of numbers")


def _power(base: Number, exponent: Number) -> Number:
    if abs(base) > _LARGEST_BASE or abs(exponent) > _LARGEST_EXPONENT:
        raise ValueError(f"{base} ** {exponent} is too large")
    value = base**exponent
    if isinstance(value, complex):
        raise ValueError(f"{base} ** {exponent} is no real number")
    return value
