"""Whole tests of whole programs, from text to verdict, each in real processes."""

from __future__ import annotations

import asyncio
import json

import pytest
from pydantic import TypeAdapter

from treewright.core.errors import UserError
from treewright.core.task import CodeTask, Example
from treewright.sandbox.base import Limits
from treewright.sandbox.harness import Report, TestResult, run_tests
from treewright.sandbox.process import ProcessSandbox

ANYTHING = """
class Anything:
    def __init__(self, *_, **__): pass
    def __eq__(self, other): return True
    def __ne__(self, other): return True
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __sub__(self, other): return 0
    __rsub__ = __add__ = __radd__ = __mod__ = __mul__ = __sub__
    def __abs__(self): return self
    def __bool__(self): return True
    def __hash__(self): return 0
    def __iter__(self): return iter(())
    def __len__(self): return 0
    def __getattr__(self, name): return self
    def __getitem__(self, name): return self
    def __call__(self, *_, **__): return self
"""


def report(program: str, *tests: str, entry_point: str = "f", setup: str = "", time_limit_s: float = 5.0) -> Report:
    task = CodeTask("p", tests=tests, entry_point=entry_point, setup=setup, time_limit_s=time_limit_s)
    return asyncio.run(run_tests(ProcessSandbox(), program, task))


def result(program: str, test: str, *, entry_point: str = "f", setup: str = "", time_limit_s: float = 5.0) -> TestResult:
    found = report(program, test, entry_point=entry_point, setup=setup, time_limit_s=time_limit_s)
    assert not found.error, found.error
    (only,) = found.results
    return only


RIGHT = [
    ("def f(x): return x + 1", "assert f(1) == 2"),
    ("def f(x): return [x, (x,)]", "assert f(1) == [1, (1,)]"),
    ("def f(x): return True", "assert f(1) == 1"),
    ("def f(x): return {3, 1}", "assert sorted(f(1)) == [1, 3]"),
    ("def f(x): return 0.1 + 0.2", "assert abs(f(1) - 0.3) < 1e-9"),
    ("def f(x): return 0.1 + 0.2", "assert f(1) == pytest.approx(0.3)"),
    ("def f(x): return None", "assert f(1) is None"),
    ("def f(x): return 2**70", "assert f(1) == 1180591620717411303424"),
    ("def f(s): return s[::-1]", "assert f('\ud800é') == 'é\ud800'".encode("unicode_escape").decode()),
    ("import math\ndef f(x): return math.nan", "assert math.isnan(f(1))"),
    ("import collections\ndef f(x): return collections.Counter(x)", "assert f('aab') == {'a': 2, 'b': 1}"),
    (
        "from decimal import Decimal\ndef f(x): return Decimal(x)",
        "from decimal import Decimal\nassert f('1.5') == Decimal('1.5')",
    ),
    # through a checker
    ("def f(x):\n    yield from range(x)", "assert list(f(3)) == [0, 1, 2]"),
    ("def f(x): return iter([x])", "assert next(f(3)) == 3"),
    (
        "def f(x):\n    if x < 0: raise ValueError('neg')\n    return x",
        "with pytest.raises(ValueError, match='neg'):\n    f(-1)",
    ),
    ("def f(x): raise KeyError(x)", "try:\n    f(5)\n    assert False\nexcept KeyError as e:\n    assert e.args == (5,)"),
    ("class Low(ValueError): pass\ndef f(x): raise Low('x')", "try:\n    f(1)\n    assert False\nexcept Low: pass"),
    (
        "class A(Exception): pass\nclass B(A): pass\ndef f(x): raise B('x')",
        "with pytest.raises(A): f(1)\nwith pytest.raises(B): f(1)",
    ),
    ("def f(x): x.append(1)", "a = [0]\nf(a)\nassert a == [0, 1]"),
    ("def f(x): x['k'] = {1}; x['l'].add(2)", "a = {'l': {1}}\nf(a)\nassert a == {'l': {1, 2}, 'k': {1}}"),
    ("def f(g, x): return g(g(x))", "assert f(lambda n: n * 2, 3) == 12"),
    ("def f(x): return sorted(x, key=len)", "assert all(f(x) == sorted(x, key=len) for x in (['aa', 'b'], []))"),
    ("def f(n): return lambda x: x + n", "assert f(2)(3) == 5"),
    ("def f(g): return g(1)\ndef h(x): return x + 1", "assert f(h) == 2"),
    ("async def f(x): return x + 1", "import asyncio\nassert asyncio.run(f(1)) == 2"),
    ("def f(kind):\n    try: int('x')\n    except kind: return kind", "assert f(ValueError) is ValueError"),
    ("def f(x): x.sort()", "a = list(range(300000, 0, -1))\nf(a)\nassert a[:3] == [1, 2, 3]"),
    ("LIMIT = 7\ndef f(x): return x < LIMIT", "assert f(LIMIT - 1) and not f(LIMIT)"),
    ("def f(*a, **k): return (a, k)", "assert f(*[1, 2], **{'own': 3, 'verb': 4}) == ((1, 2), {'own': 3, 'verb': 4})"),
    ("def f(x): return x", "def helper(v):\n    assert v == 3, 'not three'\nhelper(f(3))"),
    ("def f(x): return x", "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): self.assertEqual(f(1), 1)"),
    (
        "def f(x): return x",
        "import pytest\n@pytest.mark.parametrize('x,y', [(1, 1), (2, 2)])\ndef test_it(x, y): assert f(x) == y",
    ),
    ("def f(x): return [x]", "import numpy as np\nassert np.allclose(f(1.0), [1.0 + 1e-12])"),
    ("import sys\ndef f(x): return sys.maxsize", "assert f(1) == sys.maxsize"),
    (
        "def g(x): return x\ndef f(x): return g(x)",
        "def check(candidate):\n    for n in range(3):\n        assert candidate(n) == g(n)",
    ),
]


@pytest.mark.parametrize(("program", "test"), RIGHT)
def test_a_right_program_passes(program: str, test: str) -> None:
    found = report(program, test)
    assert found.all_passed, found


@pytest.mark.parametrize("test", [test for program, test in RIGHT if "raises" not in test and "except" not in test])
def test_an_object_that_equals_everything_passes_nothing(test: str) -> None:
    for program in ("def f(*_, **__): return Anything()", "class f(Anything): pass"):
        if "f(a)" in test and "class" in program:
            continue
        assert not report(ANYTHING + program + "\ndef g(*_): return Anything()\nh = g\nLIMIT = g()", test).all_passed, program


STACK = """
class Stack:
    '''A stack.'''
    kind = 'lifo'
    def __init__(self, items=()): self.items = list(items)
    def push(self, item): self.items.append(item); return self
    def pop(self):
        if not self.items: raise IndexError('empty')
        return self.items.pop()
    @property
    def top(self): return self.items[-1]
    @classmethod
    def of(cls, *items): return cls(items)
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __contains__(self, item): return item in self.items
    def __getitem__(self, at): return self.items[at]
    def __setitem__(self, at, item): self.items[at] = item
    def __eq__(self, other): return isinstance(other, Stack) and self.items == other.items
    def __add__(self, other): return Stack(self.items + (other.items if isinstance(other, Stack) else [other]))
    def __radd__(self, other): return Stack([other] + self.items)
    def __iadd__(self, other): self.items.append(other); return self
    def __bool__(self): return bool(self.items)
    def __str__(self): return 'Stack' + str(self.items)
    def __enter__(self): return self
    def __exit__(self, *error): self.items.clear()
    def __call__(self, n): return n * 2
def make(): return Stack([1])
def first(stack): return stack.items[0]
"""
OBJECTS = [
    "s = Stack()\ns.push(1).push(2)\nassert s.pop() == 2\nassert s.top == 1\nassert len(s) == 1",
    "s = Stack([1, 2])\nassert list(s) == [1, 2]\nassert 2 in s and 3 not in s\nassert s[0] == 1 and s[0:2] == [1, 2]",
    "s = Stack()\nassert not s\ns += 5\nassert s.items == [5]\ns[0] = 6\nassert s[0] == 6",
    "assert Stack([1]) + Stack([2]) == Stack([1, 2])",
    "assert (Stack([1]) + 2).items == [1, 2] and (0 + Stack([1])).items == [0, 1]",
    "assert str(Stack([1])) == 'Stack[1]' and f'{Stack([1])}' == 'Stack[1]'",
    "assert Stack([1]) == Stack([1])\nassert Stack([1]) != Stack([2])",
    "with Stack([1]) as s:\n    assert len(s) == 1\nassert len(s) == 0",
    "assert isinstance(make(), Stack) and not isinstance(1, Stack)",
    "assert Stack.kind == 'lifo' and Stack.of(1, 2).pop() == 2",
    "with pytest.raises(IndexError):\n    Stack().pop()",
    "s = Stack()\ns.name = 'x'\nassert s.name == 'x'\ndel s.name\nassert not hasattr(s, 'name')",
    "assert first(make()) == 1\nassert make().items == [1]\nassert Stack([1])(4) == 8",
    "s = Stack([3])\nassert s is s\nassert first(s) == 3\nassert [s, 1][0].pop() == 3",
]


@pytest.mark.parametrize("test", OBJECTS)
def test_instances_of_the_programs_classes_can_be_worked_with(test: str) -> None:
    found = report(STACK, test, entry_point="Stack")
    assert found.all_passed, found


def test_classes_of_the_setup_live_where_the_program_runs() -> None:
    setup = """
class Node:
    def __init__(self, value, next=None): self.value, self.next = value, next
def listed(node):
    values = []
    while node:
        values.append(node.value)
        node = node.next
    return values
"""
    program = """
def f(node):
    last = None
    while node:
        assert isinstance(node, Node)
        node.next, last, node = last, node, node.next
    return last
"""
    assert report(program, "assert listed(f(Node(1, Node(2, Node(3))))) == [3, 2, 1]", setup=setup).all_passed


def test_exceptions_of_the_setup_are_the_same_on_both_sides() -> None:
    setup = "class Low(ValueError): pass\nclass Lower(Low): pass"
    program = "def f(x):\n    raise Lower('x') if x else Low('y')"
    test = "with pytest.raises(Low, match='x'): f(1)\nwith pytest.raises(Low): f(0)"
    assert report(program, test, setup=setup).all_passed
    assert not report(program, "with pytest.raises(Lower): f(0)", setup=setup).all_passed


WRONG = [
    ("def f(x): return x", "assert f(1) == 2", "2", "1"),
    ("def f(x): return x", "assert 2 == f(1)", "2", "1"),
    ("def f(x): return x", "assert f(1) > 2", "f(1) > 2", "1"),
    ("def f(x): return None", "assert f(1) > 2", "f(1) > 2", "None"),
    ("def f(x): return [x]", "for n in [1]:\n    assert f(n) == [2]", "[2]", "[1]"),
    ("def f(x): return [x]", "for n in [1]:\n    assert [2] == f(n)", "[2]", "[1]"),
    ("def f(x): return [x]", "for n in [1]:\n    assert n not in f(n)", "not in [1]", "1"),
    ("def f(x): return x", "for n in [0]:\n    assert f(n), 'zero'", "true", "0"),
    ("class C: pass\ndef f(x): return C()", "assert f(1) == 2", "2", "<C object>"),
]


@pytest.mark.parametrize(("program", "test", "expected", "actual"), WRONG)
def test_a_wrong_answer_is_shown_beside_the_right_one(program: str, test: str, expected: str, actual: str) -> None:
    found = result(program, test)
    assert (found.verdict, found.expected, found.actual) == ("fail", expected, actual)


RAISING = [
    (
        "def f(x): return 1 / 0",
        "assert f(1) == 2",
        "error",
        'ZeroDivisionError: division by zero\n  File "program.py", line 1, in f',
    ),
    (
        "def f(x): return 1 / 0",
        "for n in [1]: assert f(n)",
        "error",
        'ZeroDivisionError: division by zero\n  File "program.py", line 1',
    ),
    ("def f(x): raise SystemExit(0)", "assert f(1) == 2", "error", "SystemExit: 0"),
    ("def f(x): raise SystemExit(0)", "for n in [1]: assert f(n)", "error", "SystemExit: 0"),
    ("def f(x): assert x == 5, 'five'", "assert f(1) == 2", "error", "AssertionError: five"),
    ("def f(x): assert x == 5, 'five'", "for n in [1]: assert f(n)", "error", "AssertionError: five"),
    ("def f(x): return [0] * 10**10", "assert f(1) == 2", "memory", "MemoryError"),
    ("def f(x): return [0] * 10**10", "for n in [1]: assert f(n)", "memory", "MemoryError"),
    ("import os\ndef f(x): os._exit(0)", "assert f(1) == 2", "error", "exit code 0"),
    ("import os\ndef f(x): os._exit(0)", "for n in [1]: assert f(n)", "error", "exit code 0"),
    ("import os\ndef f(x): os.abort()", "assert f(1) == 2", "error", "SIGABRT"),
    ("def f(x):\n    while True: print('x' * 10000)", "assert f(1) == 2", "output", "KiB"),
    ("def f(x): return f(x)", "assert f(1) == 2", "error", "more ..."),
    ("def f(x): return 'x' * 2000000", "assert f(1) == 2", "error", "too large"),
    ("def f(x):\n    a = []; a.append(a); return a", "for n in [1]: assert f(n)", "error", "contains itself"),
    ("import os\ndef f(x): os.write(3, b'\\0\\0\\0\\4pass')", "assert f(1) == 2", "error", "interfered"),
    ("import os\ndef f(x): os.write(3, b'\\x7f\\xff\\xff\\xff')", "assert f(1) == 2", "error", ""),
    ("import os\ndef f(x): os.close(3)", "assert f(1) == 2", "error", ""),
    (
        "import builtins\nnames = vars(builtins)\nfor name in [*names]: names[name] = None\ndef f(x): return 2",
        "assert f(1) == 3",
        "fail",
        "",
    ),
    ("def f(x): raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()", "assert f(1) == 2", "error", "E"),
    ("def f(x): return type('C', (), {'__class__': property(lambda self: 1 / 0)})()", "assert f(1) == 2", "fail", ""),
]


@pytest.mark.parametrize(("program", "test", "verdict", "detail"), RAISING)
def test_an_exception_or_a_limit_has_its_verdict(program: str, test: str, verdict: str, detail: str) -> None:
    found = result(program, test)
    assert found.verdict == verdict, found
    assert detail in found.detail, found


def test_traceback_lines_are_the_programs_own() -> None:
    found = result("def g(x):\n    return x['a']\n\ndef f(x):\n    return g(x)", "assert f(1) == 2")
    assert found.detail.splitlines()[1:] == [
        '  File "program.py", line 5, in f',
        "    return g(x)",
        '  File "program.py", line 2, in g',
        "    return x['a']",
    ]


def test_a_test_that_hangs_costs_that_test_alone() -> None:
    program = "def f(x):\n    while x == 2: pass\n    return x"
    tests = "assert f(1) == 1\nassert f(2) == 2\nassert f(3) == 3"
    for shape in (tests, tests + "\nfor n in [4]: assert f(n) == n"):
        found = report(program, shape, time_limit_s=1.0)
        assert [item.verdict for item in found.results[:3]] == ["pass", "timeout", "pass"]
        assert "1 s" in found.results[1].detail
        assert found.results[1].seconds >= 0.9


def test_a_test_that_ends_the_process_costs_that_test_alone() -> None:
    program = "import os\nseen = []\ndef f(x):\n    if x == 2: os._exit(7)\n    seen.append(x)\n    return len(seen)"
    found = report(program, "assert f(1) == 1\nassert f(1) == 2\nassert f(2) == 0\nassert f(1) == 1")
    assert [item.verdict for item in found.results] == ["pass", "pass", "error", "pass"]


def test_swallowing_what_a_test_did_to_the_program_changes_nothing() -> None:
    found = report(
        "import os\ndef f(x): os._exit(0)", "try:\n    f(1)\n    assert False\nexcept BaseException: pass", "assert f(1)"
    )
    assert [item.verdict for item in found.results] == ["error", "error"]


def test_a_test_that_never_ends_by_itself_costs_that_test_alone() -> None:
    found = report("def f(x): return x", "assert f(1) == 1\nwhile f(1): assert True", "assert f(2).real == 2", time_limit_s=0.2)
    assert [item.verdict for item in found.results] == ["pass", "timeout", "pass"]
    assert "2 s" in found.results[1].detail


def test_objects_from_before_a_crash_are_not_taken_for_others() -> None:
    program = "import os\nclass C:\n    def die(self): os._exit(0)\n    def ok(self): return 1"
    test = "a = C()\nassert a.ok() == 1\nassert C().die()\nb = C()\nassert b.ok() == 1\nassert a.ok() == 1"
    found = report(program, test, entry_point="C")
    assert [item.verdict for item in found.results] == ["pass", "error", "pass", "error"]
    assert "lost" in found.results[3].detail


@pytest.mark.parametrize(
    ("program", "verdict", "error"),
    [
        ("def f(x:\n    pass", "error", "SyntaxError: '(' was never closed (program.py, line 1)"),
        ("x = '\0'", "error", "null bytes"),
        ("import nothing_of_that_name", "error", "ModuleNotFoundError"),
        ("raise SystemExit(0)", "error", "SystemExit"),
        ("import os; os._exit(0)", "error", "exit code 0"),
        ("def g(x): pass\nY = 1", "error", "does not define 'f'; it defines g, Y"),
        ("", "error", "it defines nothing"),
        ("x = [0] * 10**10", "memory", "MemoryError"),
        ("while True: print('x' * 1000)", "output", "KiB"),
    ],
)
def test_a_program_that_does_not_load_fails_every_test(program: str, verdict: str, error: str) -> None:
    found = report(program, "assert f(1) == 1", "for n in [1]: assert f(n)")
    assert [item.verdict for item in found.results] == [verdict, verdict]
    assert error in found.error
    assert (found.passed, found.total, found.pass_rate, found.all_passed) == (0, 2, 0.0, False)


def test_loading_has_its_own_limit() -> None:
    found = report("while True: pass", "assert f(1) == 1", "assert f(2) == 1", time_limit_s=0.5)
    assert [item.verdict for item in found.results] == ["timeout", "timeout"]
    assert "loading" in found.error


def test_a_task_without_tests_only_loads_the_program() -> None:
    found = report("def f(x): return x")
    assert (found.error, found.total, found.all_passed, found.pass_rate) == ("", 0, False, 0.0)
    assert "SyntaxError" in report("def f(").error
    assert "does not define" in report("def g(): pass").error
    assert report("def g(): pass", entry_point="").error == ""


def test_demonstration_code_does_not_run_and_prints_are_kept() -> None:
    found = report(
        "print('loaded')\ndef f(x):\n    print('called')\n    return x\nif __name__ == '__main__':\n    print('demo')",
        "assert f(1) == 1",
    )
    assert found.stdout == "loaded\ncalled\n"
    assert found.level == "process"


def test_programs_with_dataclasses_and_pickles_find_their_module() -> None:
    program = """
from __future__ import annotations
import pickle
from dataclasses import dataclass
@dataclass
class P:
    x: int
def f(x): return pickle.loads(pickle.dumps(P(x))).x
"""
    assert report(program, "assert f(3) == 3").all_passed


def test_the_setup_stands_before_the_program_and_the_tests() -> None:
    setup = "import math\nBASE = 10\ndef near(a, b): return abs(a - b) < 0.01"
    found = report("def f(x): return x + BASE + math.pi", "assert near(f(1), BASE + 4.1415)", setup=setup)
    assert found.all_passed, found


def test_the_programs_process_never_sees_a_test() -> None:
    program = """
import gc, sys
def f(k):
    seen = []
    frame = sys._getframe()
    while frame:
        seen += [frame.f_locals, frame.f_globals]
        frame = frame.f_back
    text = repr(gc.get_objects()) + repr(seen)
    at = text.find('CANARY' + chr(95))
    return text[at:at + 10] if at >= 0 else None
"""
    for test in ("assert f(1) == 'CANARY_123'", "for n in [1]:\n    assert f(n) == 'CANARY_123'"):
        assert result(program, test).actual == "None"


def test_prints_and_stray_output_do_not_disturb_the_talk() -> None:
    program = """
import os, sys
def f(x):
    os.write(1, b'["value", 3]')
    if x == 1:
        print('\\x00' * 10)
        sys.stdout.close()
    return x
"""
    assert report(program, "assert f(1) == 1\nassert f(2) == 2").all_passed


def test_texts_in_a_report_fit_json() -> None:
    program = "def f(x):\n    if x: raise ValueError('\\ud800\\x1b[2J')\n    return '\\ud800'"
    found = report(program, "assert f(0) == 1\nassert f(1) == 1\nfor n in (0, 1): assert f(n) == 1")
    back = TypeAdapter(Report).validate_json(TypeAdapter(Report).dump_json(found))
    assert back == found
    assert json.loads(TypeAdapter(Report).dump_json(found))["results"][0]["verdict"] == "fail"


def test_what_ran_whole_says_so() -> None:
    assert result("def f(x): return x", "for n in [1]: assert f(n) == 1").detail == "ran whole: a for loop"


def test_what_no_program_in_a_language_can_be_tested_by_is_refused_in_words() -> None:
    with pytest.raises(UserError, match=r"Python code, but language is 'rust': give examples"):
        asyncio.run(run_tests(ProcessSandbox(), "fn main() {}", CodeTask("p", tests=("x",), language="rust")))
    with pytest.raises(UserError, match=r"'cobol', which is not known: use one of python, c, "):
        asyncio.run(run_tests(ProcessSandbox(), "", CodeTask("p", examples=(Example("", ""),), language="cobol")))


def test_many_calls_in_one_test_are_quick_enough() -> None:
    assert report("def f(x): return x", "for n in range(2000): assert f(n) == n").all_passed


def test_limits_of_the_caller_hold() -> None:
    task = CodeTask("p", tests=("assert f(1) == 100000000",), entry_point="f", time_limit_s=5.0)
    program = "def f(x): return len(bytearray(100_000_000))"
    assert asyncio.run(run_tests(ProcessSandbox(), program, task)).all_passed
    found = asyncio.run(run_tests(ProcessSandbox(), program, task, limits=Limits(memory_mb=80)))
    assert found.results[0].verdict == "memory"


def test_whole_programs_are_judged_by_what_they_print() -> None:
    task = CodeTask("p", examples=(Example("1 2", "3"), Example("5 5", "10\n"), Example("", "0")), time_limit_s=5.0)
    found = asyncio.run(run_tests(ProcessSandbox(), "print(sum(map(int, input().split())))", task))
    assert [item.verdict for item in found.results] == ["pass", "pass", "error"]
    assert "EOFError" in found.results[2].detail
    assert found.results[0].test == "example 1"
