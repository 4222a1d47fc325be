from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from treewright.sandbox.judging.rewriting import Text, fixed


def run(source: str, names: dict[str, object] | None = None) -> list[object]:
    """Run the rewritten statements of `source`; what their asserts have reported."""
    seen: list[object] = []

    def compare(sign: str, left: object, right: object, expected_first: bool, said: Callable[[], object]) -> None:
        seen.append((sign, left, right, expected_first, said()))

    def true(value: object, said: Callable[[], object]) -> None:
        seen.append((value, said()))

    variables: dict[str, object] = {"_tw_compare": compare, "_tw_true": true} | (names or {})
    text = Text(source)
    for node in ast.parse(source).body:
        statements = node.body if isinstance(node, ast.FunctionDef) and node.name == "check" else [node]
        for statement in statements:
            exec(text.statement(statement), variables)
    return seen


def test_comparisons_report_both_sides() -> None:
    assert run("x = 3\nassert x == 4, 'no ' + str(x)") == [("==", 3, 4, False, "no 3")]
    assert run("x = 3\nassert 4 == x") == [("==", 4, 3, True, None)]
    assert run("assert 'a' not in ('b')") == [("not in", "a", "b", False, None)]


def test_other_conditions_report_their_value() -> None:
    assert run("assert 1 < 2 < 3, ()") == [(True, ())]
    assert run("assert [] or 5") == [(5, None)]


@pytest.mark.parametrize(
    "source",
    [
        "def check(c):\n    x = 1\n    assert x == 1",
        "def check(c):\n\tx = 1\n\tassert x == 1",
        "def check(c): x = 1; assert x == 1",
        "def check(c):\n    x = 1\n    if x: assert x == 1",
        "def check(c):\n    x = 1\n    for y in [x]:\n        assert y == 1",
        "x = 1\nassert (\n    x  # first\n    ==\n    1  # second\n)",
        "x = 1\nassert (x) == \\\n    1",
        "x = 1\nassert (y := x) == 1",
        "def check(c):\n    'é ü 日本'; x = 1; assert x == 1",
        "x = 1\r\nassert x == 1\r\n",
        "x = 1\x0c\nassert x == 1",
        "x = 1\nwith open('/dev/null') as _, open('/dev/null'):\n    assert x == 1",
        "def check(c):\n    @staticmethod\n    def f():\n        assert 1 == 1\n    f()",
        "class C:\n    def f(self):\n        __x = 1\n        assert __x == 1\nC().f()",
    ],
)
def test_layout_does_not_matter(source: str) -> None:
    assert run(source) == [("==", 1, 1, False, None)]


def test_all_asserts_of_a_statement_report() -> None:
    source = "for x in [1]:\n    assert x == 1\n    if x: assert x, 'é'\n    assert (x\n        == 2)"
    assert run(source) == [("==", 1, 1, False, None), (1, "é"), ("==", 1, 2, False, None)]


def test_strings_of_several_lines_stay_as_they_are() -> None:
    source = "def check(c):\n    x = '''a\n  b\n'''\n    assert x == '''a\n  b\n'''"
    assert run(source) == [("==", "a\n  b\n", "a\n  b\n", False, None)]


def test_the_text_of_a_node_is_cut_out_exactly() -> None:
    source = "x = 'é' + f(1)"
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.Assign)
    assert isinstance(node.value, ast.BinOp)
    assert Text(source).of(node.value.right) == "f(1)"


def test_fixed_values_name_nothing() -> None:
    def expression(text: str) -> ast.expr:
        return ast.parse(text, mode="eval").body

    assert fixed(expression("[1, {'a': -2}]"))
    assert not fixed(expression("[x]"))
    assert not fixed(expression("f()"))
