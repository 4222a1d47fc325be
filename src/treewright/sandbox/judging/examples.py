"""The tests of a whole program: what it prints for a given standard input."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from treewright.core.errors import SandboxUnavailable
from treewright.core.languages import full_name
from treewright.core.task import CodeTask, Example
from treewright.sandbox.base import Exit, Job, Limits, Sandbox
from treewright.sandbox.judging.compiled import Unsound, build, ended, last_words, out_of_memory
from treewright.sandbox.judging.messages import clean
from treewright.sandbox.judging.report import Report, TestResult
from treewright.sandbox.judging.session import Verdict

_AT_ONCE = 2
_MAX_STDERR = 2000
_MAX_SHOWN = 2000
_MAX_STDOUT = 1 << 16

SameOutput = Callable[[Example, str], bool]
"""Whether an output is right for an example. A problem with several right answers brings its own."""


def same_lines(example: Example, output: str) -> bool:
    """Whether the outputs are the same but for spaces at the ends of lines and empty lines at both ends."""
    return _lines(example.output) == _lines(output)


def same_tokens(tolerance: float) -> SameOutput:
    """Whether the outputs are the same word by word; where a float is expected ("0.5", not "5"), within `tolerance`.

    Args:
        tolerance: absolute, and relative to the expected value; >= 0.
    """

    def same(example: Example, output: str) -> bool:
        expected, actual = example.output.split(), output.split()
        return len(expected) == len(actual) and all(map(close, expected, actual))

    def close(expected: str, actual: str) -> bool:
        if expected == actual:
            return True
        if expected.lstrip("+-").isdecimal():
            return False
        try:
            return math.isclose(float(expected), float(actual), rel_tol=tolerance, abs_tol=tolerance)
        except ValueError:
            return False

    return same


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


async def run_examples(sandbox: Sandbox, program: str, task: CodeTask, limits: Limits, same: SameOutput) -> Report:
    """Run `task.examples` against `program`, some at a time. See `harness.run_tests`."""
    limits = replace(limits, wall_s=task.time_limit_s, cpu_s=task.time_limit_s)
    name = full_name(task.language)
    job = Job(python=program, limits=limits) if name == "python" else await build(sandbox, program, name, limits)
    if isinstance(job, Unsound):
        return _unsound(job, task, sandbox.level)
    outcomes = await _outcomes(sandbox, job, task.examples)
    if name != "python":
        outcomes = [_other_language(outcome, name) for outcome in outcomes]
    results = [_judged(number, *pair, same) for number, pair in enumerate(zip(task.examples, outcomes, strict=True), 1)]
    stdout = "".join(_text(outcome.stdout) for outcome in outcomes)[:_MAX_STDOUT]
    return Report(tuple(results), _load_error(outcomes) if name == "python" else "", stdout, sandbox.level)


async def _outcomes(sandbox: Sandbox, job: Job, examples: Sequence[Example]) -> list[Exit]:
    """How `job` ended on the input of each example."""
    places = asyncio.Semaphore(_AT_ONCE)

    async def run(example: Example) -> Exit | SandboxUnavailable:
        async with places:
            try:
                return await ended(sandbox, replace(job, stdin=example.input.encode("utf-8", "surrogatepass")))
            except SandboxUnavailable as error:  # raised below: a task group would wrap it
                return error

    async with asyncio.TaskGroup() as group:
        runs = [group.create_task(run(example)) for example in examples]
    outcomes: list[Exit] = []
    for finished in runs:
        outcome = finished.result()
        if isinstance(outcome, SandboxUnavailable):
            raise outcome
        outcomes.append(outcome)
    return outcomes


def _unsound(why: Unsound, task: CodeTask, level: str) -> Report:
    results = [
        TestResult(f"example {number}", why.verdict, example.output[:_MAX_SHOWN], detail=why.detail[:_MAX_STDERR])
        for number, example in enumerate(task.examples, 1)
    ]
    return Report(tuple(results), why.detail, level=level)


def _other_language(outcome: Exit, name: str) -> Exit:
    return replace(out_of_memory(outcome, name), stderr=last_words(outcome.stderr[-2 * _MAX_STDERR :]).encode())


def _judged(number: int, example: Example, outcome: Exit, same: SameOutput) -> TestResult:
    """A right output passes whatever the exit code; a limit that was reached fails whatever was printed before."""
    output = _text(outcome.stdout)
    verdict: Verdict = "pass"
    detail = ""
    if outcome.status != "ok" and outcome.status != "error":
        verdict, detail = outcome.status, outcome.detail
    elif not same(example, output):
        verdict = "fail" if outcome.status == "ok" else "error"
        detail = clean(_text(outcome.stderr).strip()[-_MAX_STDERR:]) or outcome.detail
    name, expected, actual = f"example {number}", example.output[:_MAX_SHOWN], output[:_MAX_SHOWN]
    return TestResult(name, verdict, expected, actual, detail, outcome.wall_s, outcome.cpu_s)


def _load_error(outcomes: list[Exit]) -> str:
    """The error of a program that is not valid Python: it never ran, so its report has no traceback."""
    texts = {_text(outcome.stderr).strip() for outcome in outcomes}
    text = texts.pop()
    return text if not texts and text.startswith('File "program.py"') and "Error:" in text else ""


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")
