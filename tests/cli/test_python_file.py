"""How the statements of a Python file are told apart: stub, tests, setup."""

from __future__ import annotations

import pytest

from treewright.cli.python_file import task_of_python
from treewright.core.check import validate_task
from treewright.core.errors import UserError
from treewright.core.task import CodeTask

STUB = 'def add(a, b):\n    """Add."""\n'
ADD = "def add(a, b):\n    return a + b\n"


def read(text: str) -> CodeTask:
    task = task_of_python(text, "t")
    validate_task(task)
    return task


def run(task: CodeTask, program: str) -> list[bool]:
    """Run each test by itself, as it will be."""
    passed = []
    for test in task.tests:
        scope: dict[str, object] = {}
        try:
            for code in (task.setup, program, test):
                exec(code, scope)
            passed.append(True)
        except AssertionError:
            passed.append(False)
    return passed


@pytest.mark.parametrize(
    "body",
    ['"""Add."""', "pass", "...", "raise NotImplementedError", 'raise NotImplementedError("write me")', '"""Add."""\n    ...'],
)
def test_a_stub_is_any_function_without_a_body(body: str) -> None:
    task = read(f"def add(a, b):\n    {body}\n\nassert add(1, 2) == 3\n")
    assert task.prompt == f"def add(a, b):\n    {body}"
    assert (task.entry_point, task.tests, task.setup) == ("add", ("assert add(1, 2) == 3",), "")


def test_a_class_of_stubs_is_a_stub() -> None:
    text = '@final\nclass Stack:\n    """Last in, first out."""\n    def push(self, x): ...\n    def pop(self): ...\n'
    task = read(f"from typing import final\n{text}s = Stack()\ns.push(1)\nassert s.pop() == 1\n")
    assert task.entry_point == "Stack"
    assert task.prompt == f"from typing import final\n{text}".rstrip()
    assert task.tests == ("s = Stack()\ns.push(1)\nassert s.pop() == 1",)


def test_what_stands_before_the_stub_is_seen_and_set_up() -> None:
    code = "import math  # for pi\n\nLIMIT = 3\n\n\n@cache  # once\ndef helper(x):\n    return x  # as it is\n"
    task = read(f'"""Sums."""\n\n{code}\n\n# The task:\n{STUB}\nassert add(1, 2) == 3\n')
    assert task.prompt == f'"""Sums."""\n\n{code}\n\n# The task:\n{STUB}'.rstrip()
    assert task.setup == code.replace("\n\n", "\n").replace("\n\n", "\n").rstrip()


def test_what_stands_after_the_stub_is_set_up_and_not_seen() -> None:
    task = read(
        f"{STUB}\nimport math\nCASES = [(1, 2, 3)]\nprint('testing')\nfor a, b, c in CASES:\n    assert add(a, b) == c\n"
    )
    assert task.prompt == STUB.rstrip()
    assert task.setup == "import math\nCASES = [(1, 2, 3)]"
    assert task.tests == ("for a, b, c in CASES:\n    assert add(a, b) == c",)


def test_tests_before_the_stub_are_not_shown_in_the_prompt() -> None:
    task = read(f"def test_one():\n    assert add(1, 2) == 3\n\nassert add(0, 0) == 0\n{STUB}")
    assert (task.prompt, task.tests) == (STUB.rstrip(), ("assert add(1, 2) == 3", "assert add(0, 0) == 0"))


def test_a_test_function_of_asserts_is_a_test_for_each() -> None:
    task = read(
        f'{STUB}\ndef test_add():\n    """Adds."""\n    assert add(1, 2) == 3\n    assert add(\n        0, 0\n    ) == 0\n'
    )
    assert task.tests == ("assert add(1, 2) == 3", "assert add(\n    0, 0\n) == 0")


def test_a_test_function_that_does_more_is_one_test() -> None:
    task = read(f"{STUB}\ndef test_add():\n    x = 3\n    assert add(x, 0) == x\n\ntest_add()\n")
    assert task.tests == ("x = 3\nassert add(x, 0) == x",)


def test_a_body_that_only_means_something_in_a_function_stays_in_it() -> None:
    body = 'def test_add():\n    x = """\n    left"""\n    if not x:\n        return\n    assert add(x, "") == x'
    task = read(f"{STUB}\n{body}\n")
    assert task.tests == (f"{body}\ntest_add()",)
    assert run(task, ADD) == [True]


def test_check_takes_the_function_under_test() -> None:
    check = "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(0, ZERO) == 0\n"
    several = read(f"{STUB}\nZERO = 0\n\n{check}\ncheck(add)\n")
    assert several.tests == ("assert add(1, 2) == 3", "assert add(0, ZERO) == 0")
    assert run(several, ADD) == [True, True]
    more = read(f"{STUB}\ndef check(f):\n    for i in range(3):\n        assert f(i, 0) == i\n")
    assert more.tests[0].endswith("\ncheck(add)")
    assert run(more, ADD) == [True]
    assert run(more, "def add(a, b):\n    return 0") == [False]


def test_tests_under_the_main_guard_are_tests() -> None:
    guarded = 'if __name__ == "__main__":\n    assert add(1, 2) == 3\n    print("fine")\n    import sys\n'
    task = read(f"{STUB}\n{guarded}")
    assert (task.tests, task.setup) == (("assert add(1, 2) == 3",), "import sys")


def test_statements_that_share_a_line_or_a_string_over_lines_keep_their_meaning() -> None:
    task = read(
        f'{STUB}\nX = 3; assert add(1, 2) == X; assert add(0, 0) == 0\ndef test_s():\n    assert add("""\n  a""", "") != ""\n'
    )
    assert task.setup == "X = 3"
    assert task.tests[:2] == ("assert add(1, 2) == X", "assert add(0, 0) == 0")
    assert run(task, ADD) == [True, True, True]


def test_code_that_calls_the_stub_and_the_asserts_on_it_are_one_test_in_order() -> None:
    script = "total = [add(1, 1)]\nassert total == [2]\ntotal.append(add(1, 2))\nassert total == [2, 3]"
    task = read(
        f"{STUB}\n{script}\nprint(add(1, 2))\nassert add(1, 2) == 3\n\ndef test_total():\n    assert total.pop() == 3\n"
    )
    assert task.tests == (
        "assert add(1, 2) == 3",
        "total = [add(1, 1)]\ntotal.append(add(1, 2))\nassert total.pop() == 3",
        script,
    )
    assert run(task, ADD) == [True, True, True]


def test_of_several_blank_functions_the_tested_one_is_the_stub() -> None:
    task = read(f"def trace(*what):\n    pass\n\n\n{STUB}\nassert add(1, 2) == 3\n")
    assert (task.entry_point, task.setup) == ("add", "def trace(*what):\n    pass")


def test_several_tested_stubs_are_all_to_be_written() -> None:
    task = read("def f(): ...\n\ndef g(): ...\n\nassert f() == g()\n")
    assert (task.prompt, task.entry_point, task.setup) == ("def f(): ...\n\ndef g(): ...", "", "")


def test_a_stub_may_be_called_check_or_have_no_tests() -> None:
    task = read('def check(n):\n    """Whether n is even."""\n')
    assert (task.entry_point, task.tests) == ("check", ())


def test_windows_line_ends_are_read() -> None:
    assert read(f"{STUB}\nassert add(1, 2) == 3\n".replace("\n", "\r\n")).tests == ("assert add(1, 2) == 3",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no stub: leave the body of the function to write with only a docstring, pass or ..."),
        ("def add(a, b):\n    return a + b\n", "no stub"),
        ("class E(Exception):\n    pass\n", "no stub"),
        ("def test_later():\n    pass\n", "no stub"),
        (f"{STUB}\nassert add(1\n", r"line 4 is no valid Python \(.*\): correct it"),
        (f"{STUB}\nassert add(1, 2) == '\0'\n", r"is no valid Python \(.*null"),
        (f"{STUB}\ndef test_t(tmp_path):\n    assert add(1, 2)\n", "line 4: test_t must be a plain function without arguments"),
        (f"{STUB}\n@mark\ndef test_t():\n    assert add(1, 2)\n", "line 5: test_t must be a plain function"),
        (f"{STUB}\nasync def test_t():\n    assert add(1, 2)\n", "line 4: test_t must be a plain function"),
        (
            "def f(): ...\ndef g(): ...\ndef check(c):\n    assert c() == 1\n",
            r"line 3: check\(c\) needs exactly one stub to test, not 2",
        ),
        (f"{STUB}\nclass T(unittest.TestCase):\n    pass\n", "line 4 begins a unittest class, which is not read"),
        (f"{STUB}\nassert plus(1, 2) == 3\n", r"the tests never call the entry point 'add' \(they call plus\)"),
    ],
)
def test_a_file_that_is_no_task_is_refused_with_the_line(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(text)
