from __future__ import annotations

import ast
import math

import pytest

from treewright.sandbox.judging.compare import Literal, literal
from treewright.sandbox.judging.expressions import NotPlain
from treewright.sandbox.judging.values import Handle


def parsed(text: str) -> Literal:
    def call(node: ast.Call) -> str | None:
        return ast.unparse(node) if isinstance(node.func, ast.Name) and node.func.id in "fg" else None

    return literal(ast.parse(text, mode="eval").body, text, call=call, names={"math": "math"})


@pytest.mark.parametrize(
    ("text", "values", "holds", "expected", "actual"),
    [
        ("f(1) == [1, 2]", [[1, 2]], True, "[1, 2]", "[1, 2]"),
        ("(1,) == f(1)", [[1]], False, "(1,)", "[1]"),
        ("f(1) == 1", [True], True, "1", "True"),
        ("f(1) is True", [1], False, "True", "1"),
        ("f(1) == {1: 'a'}", [{1.0: "a"}], True, "{1: 'a'}", "{1.0: 'a'}"),
        ("f(1) == 0.3", [0.1 + 0.2], False, "0.3", "0.30000000000000004"),
        ("f(1) < 3", [2], True, "f(1) < 3", "2"),
        ("f(1) == g(2)", [2, 3], False, "f(1) == g(2)", "2, 3"),
        ("math.isnan(f(1))", [math.nan], True, "math.isnan(f(1))", "nan"),
        ("f(1)", [[]], False, "f(1)", "[]"),
    ],
)
def test_a_check_is_judged_from_the_values_of_its_calls(
    text: str, values: list[object], holds: bool, expected: str, actual: str
) -> None:
    check = parsed(text)
    assert not check.needs_objects(values)
    judged = check.judge(values)
    assert (judged.holds, judged.expected, judged.actual, judged.detail) == (holds, expected, actual, "")


def test_calls_are_listed_in_order() -> None:
    assert parsed("f(1) + f(2) == g(3)").calls == ("f(1)", "f(2)", "g(3)")
    assert parsed("0 < f(1) < 2").calls == ("f(1)",)


def test_what_cannot_be_worked_out_does_not_hold() -> None:
    judged = parsed("len(f(1)) > 2").judge([5])
    assert (judged.holds, judged.detail) == (False, "TypeError: object of type 'int' has no len()")


def test_an_object_equals_nothing_and_is_otherwise_left_to_a_checker() -> None:
    thing = Handle(0, "C")
    assert not parsed("f(1) == 2").needs_objects([thing])
    assert not parsed("f(1) == 2").judge([thing]).holds
    assert not parsed("f(1) == [2]").judge([[thing]]).holds
    for text in ("f(1)", "abs(f(1) - 2) < 1", "2 in f(1)", "len(f(1)) == 2", "f(1) < 2", "f(1) != 2"):
        assert parsed(text).needs_objects([thing]), text


def test_a_call_that_python_might_leave_out_is_left_to_a_checker() -> None:
    assert parsed("f(1) or True").calls == ("f(1)",)
    with pytest.raises(NotPlain):
        parsed("True or f(1)")
