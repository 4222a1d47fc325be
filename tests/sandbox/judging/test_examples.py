from __future__ import annotations

import asyncio
import time

import pytest

from treewright.core.task import CodeTask, Example
from treewright.sandbox.harness import Report, run_tests
from treewright.sandbox.judging.examples import same_lines, same_tokens
from treewright.sandbox.process import ProcessSandbox


def report(program: str, *examples: tuple[str, str], time_limit_s: float = 5.0) -> Report:
    task = CodeTask("p", examples=tuple(Example(*pair) for pair in examples), time_limit_s=time_limit_s)
    return asyncio.run(run_tests(ProcessSandbox(), program, task))


@pytest.mark.parametrize(
    ("expected", "output", "same"),
    [
        ("3", "3\n", True),
        ("1 2\n3\n", "\n1 2  \n3 \n\n", True),
        ("1 2", "1  2", False),
        ("1\n2", "1\n\n2", False),
        ("a", "A", False),
        ("", " \n", True),
        ("0.5", "0.50", False),
        ("a\r\nb", "a\nb", True),
    ],
)
def test_outputs_are_the_same_but_for_spaces_at_line_ends(expected: str, output: str, same: bool) -> None:
    assert same_lines(Example("", expected), output) is same


@pytest.mark.parametrize(
    ("expected", "output", "same"),
    [
        ("0.5 x", "0.5000001\nx", True),
        ("0.5", "0.51", False),
        ("1e9", "1000000001", True),
        ("5", "5.0", False),  # an int is expected as it is
        ("5", "5", True),
        ("0.5", "half", False),
        ("0.5 1", "0.5", False),
        ("Yes 1.0", "yes 1.0", False),
        ("inf", "inf", True),
        ("nan", "nan", True),
    ],
)
def test_outputs_are_the_same_word_by_word_within_a_tolerance(expected: str, output: str, same: bool) -> None:
    assert same_tokens(1e-6)(Example("", expected), output) is same


def test_a_problem_may_bring_its_own_rule() -> None:
    task = CodeTask("p", examples=(Example("6", "any factor"),), time_limit_s=5.0)

    def factor(example: Example, output: str) -> bool:
        return int(example.input) % int(output) == 0

    found = asyncio.run(run_tests(ProcessSandbox(), "print(int(input()) // 2)", task, same_output=factor))
    assert found.all_passed


def test_each_example_has_a_process_of_its_own() -> None:
    program = "import os\nprint(input(), os.path.exists('left'))\nopen('left', 'w').close()"
    found = report(program, ("a", "a False"), ("b", "b False"), ("c", "c False"))
    assert found.all_passed
    assert found.stdout == "a False\nb False\nc False\n"


def test_a_wrong_or_late_example_does_not_touch_the_others() -> None:
    program = "import sys, time\nline = input()\nif line == 'hang': time.sleep(60)\nif line == 'crash': 1 / 0\nprint(line)"
    started = time.monotonic()
    found = report(program, ("a", "a"), ("hang", "x"), ("crash", "x"), ("b", "c"), time_limit_s=1.5)
    assert [result.verdict for result in found.results] == ["pass", "timeout", "error", "fail"]
    assert "ZeroDivisionError" in found.results[2].detail
    assert "line 4" in found.results[2].detail
    assert (found.results[3].expected, found.results[3].actual) == ("c", "b\n")
    assert time.monotonic() - started < 30


def test_the_exit_code_decides_nothing() -> None:
    assert report("print('x'); raise SystemExit(3)", ("", "x")).all_passed
    assert [result.verdict for result in report("raise SystemExit(0)", ("", "x")).results] == ["fail"]


@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        ("x = []\nwhile True: x.append(bytearray(1 << 24))", "memory"),
        ("while True: print('x' * 10000)", "output"),
    ],
)
def test_a_limit_that_was_reached_is_the_verdict(program: str, verdict: str) -> None:
    assert report(program, ("", "x")).results[0].verdict == verdict


def test_a_program_that_is_not_python_says_so_once() -> None:
    found = report("print(1", ("", "1"), ("", "1"))
    assert [result.verdict for result in found.results] == ["error", "error"]
    assert found.error.endswith("SyntaxError: '(' was never closed")
    assert report("1 / 0", ("", "1")).error == ""


def test_each_example_is_timed_by_processor_and_by_the_clock() -> None:
    idle = "import sys, time\nif input() == 'sleep': time.sleep(0.4)\nelse: [n * n for n in range(3_000_000)]"
    task = CodeTask("Wait or work.", examples=[Example("sleep", ""), Example("work", "")], time_limit_s=20)
    slept, worked = asyncio.run(run_tests(ProcessSandbox(), idle, task)).results
    assert slept.seconds >= 0.4
    assert slept.cpu_s < worked.cpu_s
