"""The calculator works out arithmetic and nothing else."""

from __future__ import annotations

import pytest

from treewright.bench.calculator import calculate


@pytest.mark.parametrize(
    ("expression", "value"),
    [("2 + (3 * 4)", 14), ("-3 - +2", -5), ("7 / 2", 3.5), ("7 // 2 % 2", 1), (" 2 ** 10 ", 1024), ("0.1 * 3", 0.1 * 3)],
)
def test_it_has_the_value_of_arithmetic(expression: str, value: float) -> None:
    assert calculate(expression) == value
    assert type(calculate(expression)) is type(value)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "2 +",
        "x",
        "True",
        "'a' * 9",
        "abs(-1)",
        "(1, 2)",
        "9 ** 9 ** 9",
        "(-8) ** 0.5",
        "2 ** 65",
        "1" * 2001,
        "(" * 500 + "1",
    ],
)
def test_anything_else_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"expression|number|too large"):
        calculate(expression)
