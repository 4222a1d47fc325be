from __future__ import annotations

import ast
import math

import pytest

from treewright.sandbox.judging.expressions import NotPlain, Values, Work, build


def work(text: str, names: dict[str, str] | None = None) -> Work:
    """Build `text`, in which `f(n)` is a call to the program whose value is the n-th."""

    def calls(node: ast.Call) -> Work | None:
        if not (isinstance(node.func, ast.Name) and node.func.id == "f"):
            return None
        at = ast.literal_eval(node.args[0])
        return lambda values: values[at]

    return build(ast.parse(text, mode="eval").body, calls=calls, names={"math": "math", "pytest": "pytest"} | (names or {}))


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2 * 3 - -4",
        "[1, (2,), {3}, {'a': 4}]",
        "not [] and 5 or 6",
        "0 < 1 <= 1 != 2",
        "3 in [1, 2, 3]",
        "'b' not in 'abc'",
        "[1, 2, 3][1:]",
        "{'a': [1]}['a'][-1]",
        "sorted([3, 1], reverse=True)",
        "set([1, 1]) == {1}",
        "round(2.345, 2)",
        "len('ab' * 3)",
        "2 ** 10",
        "7 // 2, 7 % 2, 7 / 2",
        "math.isclose(0.1 + 0.2, 0.3)",
        "float('inf') == math.inf",
        "type(1) is int",
        "isinstance(True, (int, str))",
        "None is None",
        "1 == 1.0 == True",
        "(1, 2) < (1, 3)",
        "5 & 6 | 8",
        "max([1, 2])",
    ],
)
def test_expressions_mean_what_python_means(text: str) -> None:
    assert work(text)(()) == eval(text, {"math": math})


@pytest.mark.parametrize(
    ("text", "values", "result"),
    [
        ("f(0) == [1, 2]", [[1, 2]], True),
        ("f(0) == [1, 2]", [(1, 2)], False),
        ("f(0) is True", [1], False),
        ("abs(f(0) - 2.5) < 1e-6", [2.5000001], True),
        ("math.isclose(f(0), 3.2, abs_tol=0.1)", [3.25], True),
        ("f(0) == pytest.approx(0.3)", [0.1 + 0.2], True),
        ("1 <= f(0) <= 3", [2], True),
        ("f(0) in (f(1), 5)", [4, 4], True),
        ("f(0)[1]", [{1: "x"}], "x"),
    ],
)
def test_calls_stand_for_their_values(text: str, values: Values, result: object) -> None:
    assert work(text)(values) == result


def test_the_middle_of_a_chain_is_worked_out_once() -> None:
    seen = []

    def calls(node: ast.Call) -> Work | None:
        seen.append(node)
        return lambda values: 2

    build(ast.parse("1 < f() < 3", mode="eval").body, calls=calls, names={})
    assert len(seen) == 1


@pytest.mark.parametrize(
    "text",
    [
        "g(1)",
        "x",
        "f(0).strip()",
        "[n for n in f(0)]",
        "lambda: 1",
        "f(0) is f(1)",
        "f(0) is 1000",
        "max(*f(0))",
        "dict(**f(0))",
        "{**f(0)}",
        "1 << 5",
        "f'{f(0)}'",
        "'%d' % f(0)",
        "math.factorial(5)",
        "exit()",
        "print(1)",
        "open('x')",
        "().__class__",
        "getattr(1, 'real')",
        "math.pi.real",
    ],
)
def test_anything_else_is_left_to_a_checker(text: str) -> None:
    with pytest.raises(NotPlain):
        work(text)


def test_a_name_with_a_meaning_of_its_own_is_not_the_builtin() -> None:
    with pytest.raises(NotPlain):
        work("len([1])", {"len": "?"})
    assert work("near(1.0, 1.0)", {"near": "math.isclose"})(()) is True


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("f(0) * f(1)", ["x" * 1000, 10**9]),
        ("f(0) * 5", [{}]),
        ("f(0) ** f(1)", [10, 10**9]),
        ("f(0) ** 2", ["x"]),
        ("f(0)[0]", [object()]),
        ("f(0)[0]", [[]]),
        ("f(0) % 5", ["%d"]),
        ("f(0) < 5", [None]),
        ("sorted(f(0))", [[1, "a"]]),
        ("int(f(0))", [math.inf]),
        ("5 / f(0)", [0]),
    ],
)
def test_what_cannot_or_must_not_be_worked_out_is_an_error(text: str, values: Values) -> None:
    with pytest.raises((TypeError, ValueError, ArithmeticError, LookupError)):
        work(text)(values)
