from __future__ import annotations

import ast

import pytest

from treewright.sandbox.judging.names import Asserting, bound, calls_of_tests, imported, loaded, splits


def test_every_way_to_bind_a_name_counts() -> None:
    source = """
import a.b, c as d
from e import f as g
h = 1
def i(j, *k, l=1, **m): n = 2
class o: pass
for p in []: pass
with x as q: pass
try: pass
except E as r: pass
[s for s in y]
(t := 1)
match z:
    case [u, *v]: pass
    case {"w": w}: pass
async def aa(): pass
del bb
"""
    assert bound(ast.parse(source)) == {*"adghijklmnopqrstuvw", "aa", "bb"}


def test_loaded_names_are_those_whose_value_is_used() -> None:
    assert loaded(ast.parse("x = y\nz += f(a.b)")) == {"y", "f", "a"}


def test_imports_are_known_by_what_they_stand_for() -> None:
    source = "import math as m, os.path\nfrom math import isclose, inf as i\nfrom . import x"
    assert imported(ast.parse(source)) == {"m": "math", "os.path": "os.path", "isclose": "math.isclose", "i": "math.inf"}


@pytest.mark.parametrize(
    ("body", "does"),
    [
        ("assert c(1)", True),
        ("def g():\n        return 1\n    assert g()", True),
        ("f = lambda: (yield)", True),
        ("return", False),
        ("if c:\n        return 1", False),
        ("yield 1", False),
        ("global x", False),
    ],
)
def test_a_body_splits_if_it_means_the_same_outside(body: str, does: bool) -> None:
    (function,) = ast.parse(f"def check(c):\n    {body}").body
    assert isinstance(function, ast.FunctionDef)
    assert splits(function) is does


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        ("def test_a(): pass", ["test_a()"]),
        ("def test_a(x): pass", []),
        ("def helper(): pass", []),
        ("def check(c): return", ["check(f)"]),
        ("class T(unittest.TestCase):\n    def test_a(self): pass", ["T('test_a').debug()"]),
        ("class T:\n    def test_a(self): pass", []),
        ("@pytest.mark.parametrize('x', [1])\ndef test_a(x): pass", ["test_a()"]),
    ],
)
def test_tests_that_must_be_called_are_found(source: str, calls: list[str]) -> None:
    assert calls_of_tests(ast.parse(source).body[0], "f") == calls


def test_functions_that_check_are_found_through_others() -> None:
    tree = ast.parse("def a(x): assert x\ndef b(x): a(x)\ndef c(x): return x\ndef d(): raise E")
    asserting = Asserting([tree])

    def used(text: str) -> bool:
        return asserting.used_in(ast.parse(text))

    assert used("b(1)")
    assert used("d()")
    assert not used("c(1)")
    assert used("self.assertEqual(1, 2)")
    assert used("with pytest.raises(E): pass")
    assert used("np.testing.assert_allclose(x, y)")
    assert not used("print(1)")
