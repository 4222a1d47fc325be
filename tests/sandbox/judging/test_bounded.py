from __future__ import annotations

import ast
import math
import operator
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.sandbox.judging.bounded import BINARY, FUNCTIONS
from treewright.sandbox.judging.values import Malformed

numbers = st.integers(-1000, 1000) | st.floats(-1e6, 1e6)
OPERATORS: dict[type[ast.operator], Callable[[float, float], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@pytest.mark.parametrize("kind", OPERATORS)
@given(left=numbers, right=numbers)
def test_operators_do_what_pythons_do(kind: type[ast.operator], left: float, right: float) -> None:
    try:
        expected = OPERATORS[kind](left, right)
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            BINARY[kind](left, right)
        return
    assert BINARY[kind](left, right) == expected


@given(st.lists(st.integers() | st.text(max_size=3)))
def test_functions_do_what_pythons_do(items: list[object]) -> None:
    assert FUNCTIONS["set"](items) == set(items)
    assert FUNCTIONS["frozenset"](items) == frozenset(items)
    pairs = [(item, 1) for item in items]
    assert FUNCTIONS["dict"](pairs) == dict(pairs) == FUNCTIONS["dict"](dict(pairs))
    assert FUNCTIONS["dict"](pairs, a=2) == dict(pairs) | {"a": 2}
    assert FUNCTIONS["type"](items) is list


def test_the_rest_do_too() -> None:
    assert FUNCTIONS["range"](2, 5) == range(2, 5)
    assert FUNCTIONS["round"](2.675, 2) == round(2.675, 2)
    assert FUNCTIONS["round"](2.5) == 2
    assert FUNCTIONS["sum"]([1, 2.5], 1) == 4.5
    assert BINARY[ast.Mult]("ab", 2) == BINARY[ast.Mult](2, "ab") == "abab"
    assert BINARY[ast.Pow](2, -1) == 0.5
    assert math.isnan(BINARY[ast.Mod](math.inf, 2))  # type: ignore[arg-type]  # a float, for floats


HUGE = 1 << 4_000_000


@pytest.mark.parametrize(
    "work",
    [
        lambda: FUNCTIONS["set"]([number * (2**61 - 1) for number in range(50_000)]),
        lambda: FUNCTIONS["dict"]([(number * (2**61 - 1), 0) for number in range(50_000)]),
        lambda: FUNCTIONS["range"](10**18),
        lambda: FUNCTIONS["range"](10**30),
        lambda: FUNCTIONS["round"](5, -(10**10)),
        lambda: FUNCTIONS["sum"]([[1]] * 100_000, []),
        lambda: FUNCTIONS["type"]("name", (), {}),
        lambda: FUNCTIONS["str"](HUGE),
        lambda: BINARY[ast.Mult]("x" * 1000, 10**9),
        lambda: BINARY[ast.Mult]([0], 10**9),
        lambda: BINARY[ast.Mult]({}, 2),
        lambda: BINARY[ast.Pow](10, 10**9),
        lambda: BINARY[ast.Pow]("x", 2),
        lambda: BINARY[ast.Mod]("%0999999999d", 1),
        lambda: BINARY[ast.FloorDiv](HUGE * HUGE, HUGE + 1),
    ],
)
def test_what_would_be_a_burden_is_an_error(work: Callable[[], object]) -> None:
    started = time.monotonic()
    with pytest.raises((ValueError, TypeError, ArithmeticError, Malformed)):
        work()
    assert time.monotonic() - started < 5
