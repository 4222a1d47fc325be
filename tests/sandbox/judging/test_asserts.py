from __future__ import annotations

import pytest

from treewright.sandbox.judging.asserts import Block, Check, InvalidTest, called_names, plan


def block(test: str, *, entry_point: str = "f", setup: str = "") -> Block:
    return plan((test,), setup, entry_point).blocks[0]


def checks(test: str, *, entry_point: str = "f", setup: str = "") -> list[str]:
    return [check.source for check in block(test, entry_point=entry_point, setup=setup).checks]


def only(test: str, *, setup: str = "") -> Check:
    (check,) = block(test, setup=setup).checks
    return check


PLAIN = [
    "assert f(1) == 2",
    "assert 2 == f(1)",
    "assert f([1, {'a': (2, 3)}], k=-1.5, flag=None) != {4}",
    "assert f(1)",
    "assert not f('x')",
    "assert f(1) is None",
    "assert f(1) is True",
    "assert f(1) in (1, 2)",
    "assert 1 in f(1)",
    "assert 0 < f(1) <= 3",
    "assert abs(f(1) - 2.5) < 1e-6",
    "import math\nassert math.isclose(f(1), 3.2, rel_tol=1e-9)",
    "from math import isclose as near\nassert near(f(1), 3.2)",
    "assert f(1) == pytest.approx(3.2, abs=0.1)",
    "assert f(1) == f(2)",
    "assert set(f(1)) == set([1, 2])",
    "assert sorted(f(1))[0] == 3 and len([1]) == 1",
    "assert f(1) == [0] * 5",
    "assert isinstance(f(1), list)",
    "assert type(f(1)) is int",
    "METADATA = {'author': 'x'}\nassert f(1) == 2",
    "def unused(): return g(1)\nassert f(1) == 2",
    "assert f(float('inf')) == 2, 'message'",
]
NOT_PLAIN = [
    "assert f(lambda x: x) == 2",
    "assert f(f(1)) == 2",
    "assert f(1).value == 2",
    "assert f(1).strip() == 'a'",
    "assert [x for x in f(1)] == [2]",
    "assert f(*[1]) == 2",
    "assert f(1) is f(1)",
    "assert f(1) or f(2)",
    "expected = 2\nassert f(1) == expected",
    "x = f(1)\nassert f(1) == 2",
    "f(0)\nassert f(1) == 2",
    "def len(x): return 1\nassert len(f(1)) == 1",
    "from operator import abs\nassert abs(f(1)) == 1",
    "assert helper(f(1)) == 2",
    "assert all(f(n) == n for n in range(3))",
    "assert 1 == 1.0 and [1]",
    "assert f(1 // 0) == 2",
]


@pytest.mark.parametrize("test", PLAIN)
def test_a_call_compared_with_plain_data_is_judged_by_the_host(test: str) -> None:
    check = only(test)
    assert check.literal
    assert not check.whole
    assert block(test).plain


@pytest.mark.parametrize("test", NOT_PLAIN)
def test_anything_else_is_left_to_the_checker(test: str) -> None:
    assert not block(test).plain


def test_each_assert_is_a_check_of_its_own() -> None:
    assert checks("assert f(1) == 2\nassert f(2) == 3; assert f(3) == 4") == [
        "assert f(1) == 2",
        "assert f(2) == 3",
        "assert f(3) == 4",
    ]


HUMANEVAL = """

METADATA = {'author': 'jt'}


def check(candidate):
    # Check some simple cases
    assert True, "This prints if this assert fails 1 (good for debugging!)"
    assert candidate([1.0, 2.0], 0.3) == True
    assert candidate("äöü") == False, "é"

"""


def test_check_functions_are_taken_apart() -> None:
    assert checks(HUMANEVAL) == ["assert f([1.0, 2.0], 0.3) == True", 'assert f("äöü") == False, "é"']
    assert block(HUMANEVAL).plain
    assert block(HUMANEVAL).aliases == (("candidate", "f"),)
    assert checks(HUMANEVAL + "check(g)", entry_point="")[0] == "assert g([1.0, 2.0], 0.3) == True"
    with pytest.raises(InvalidTest, match="entry point"):
        checks(HUMANEVAL, entry_point="")


def test_a_check_function_that_cannot_be_taken_apart_runs_whole() -> None:
    (check,) = block("def check(candidate):\n    if not candidate(1): return\n    assert candidate(2) == 3").checks
    assert check.whole == "a test function"
    assert check.code.endswith("check(f)")


def test_statements_that_check_nothing_go_with_the_next_check() -> None:
    found = block(
        "s = Stack()\ns.push(1)\ns.push(2)\nassert s.pop() == 2\nassert len(s) == 1\ns.clear()", entry_point="Stack"
    ).checks
    assert [check.source for check in found] == [
        "s = Stack()\ns.push(1)\ns.push(2)\nassert s.pop() == 2",
        "assert len(s) == 1",
        "s.clear()",
    ]
    assert not any(check.literal for check in found)


@pytest.mark.parametrize(
    ("test", "whole"),
    [
        ("for x in range(3):\n    assert f(x) == x", "a for loop"),
        ("while True:\n    assert f(1)\n    break", "a while loop"),
        ("with pytest.raises(ValueError):\n    f(1)", "a with block"),
        ("try:\n    f(1)\n    assert False\nexcept ValueError: pass", "a try block"),
        ("if f(1):\n    assert f(2) == 2", "an if block"),
        ("def near(a, b):\n    assert abs(a - b) < 1\nnear(f(1), 1)", "a call"),
        ("def a(x): assert x\ndef b(x): a(x)\nb(f(1))", "a call"),
        ("f(1)", "a call"),
        ("def test_it():\n    assert f(1) == 2", "a test function"),
        ("async def test_it():\n    assert await f(1) == 2", "a test function"),
        (
            "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)",
            "a test function",
        ),
    ],
)
def test_what_cannot_be_split_says_what_it_is(test: str, whole: str) -> None:
    assert only(test).whole == whole


def test_each_method_of_a_test_case_is_a_check() -> None:
    test = "class T(TestCase):\n    def test_a(self): pass\n    def helper(self): pass\n    def test_b(self): self.fail()"
    assert checks("from unittest import TestCase\n" + test) == ["T('test_a').debug()", "T('test_b').debug()"]


def test_loops_without_checks_are_preparation() -> None:
    assert len(block("data = []\nfor n in range(3):\n    data.append(f(n))\nassert data == [0, 1, 2]").checks) == 1


def test_names_of_the_program_are_those_that_nobody_else_defines() -> None:
    found = plan(
        ("import math\nx = 1\nassert f(x) == math.pi\nassert other(len([g])) == helper(2)", "assert Third().x == mathy"),
        "def helper(n): return n",
        "f",
    )
    assert found.names == ("Third", "f", "g", "mathy", "other")
    assert found.modules == ("math",)


def test_names_used_without_an_import_are_modules_all_the_same() -> None:
    found = plan(("assert math.isclose(f(1), 2)\nwith pytest.raises(ValueError): f(2)",), "", "f")
    assert (found.names, found.modules) == (("f",), ("math", "pytest"))


def test_called_names_are_the_functions_a_test_is_about() -> None:
    assert called_names("from math import sqrt\nassert add(1, len([2])) == sqrt(sub(1))\nx = C()") == {"add", "sub", "C"}


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("assert f(1) ==", "Test 2 is not valid Python"),
        ("assert f('\0')", "Test 2 is not valid Python"),
        ("assert '\ud800'", "Test 2"),
        ("(" * 500, "Test 2 is not valid Python"),
        ("x = 1", "Test 2 checks nothing"),
        ("", "Test 2 checks nothing"),
        ("assert True", "Test 2 checks nothing"),
    ],
)
def test_a_test_that_makes_no_sense_is_named(test: str, said: str) -> None:
    with pytest.raises(InvalidTest, match=said):
        plan(("assert f(1)", test), "", "f")


def test_a_setup_that_makes_no_sense_is_named() -> None:
    with pytest.raises(InvalidTest, match="The setup is not valid Python"):
        plan(("assert f(1)",), "def", "f")


def test_odd_escapes_in_tests_are_no_error() -> None:
    assert checks("assert f('\\d') == 1") == ["assert f('\\d') == 1"]
