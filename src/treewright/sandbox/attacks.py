"""Run a folder of hostile programs in a sandbox and say what became of each, of the host, and of the programs beside it.

Each file is one candidate program whose first line is a comment with a JSON object:

- `problem`: "add" (the function `add(a, b)`, three tests) or "magic" (`magic(1)` and `magic(2)` must return texts that are
  drawn anew for each run and that only the host knows);
- `pass`: what it would mean if all tests passed: "wrong" a forged verdict, "pwned" an attack that worked, "right" nothing bad;
- `expect`: verdicts that name the cause.

The programs run in the sandbox and nowhere else. Do not point this at a sandbox that does not isolate.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from treewright.core.errors import SandboxUnavailable, UserError
from treewright.core.task import CodeTask
from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.canaries import Canaries
from treewright.sandbox.harness import Report, TestResult, run_tests

_LIMIT_S = 1.0  # for each call
_LOAD_S = 2.0
_SLACK_S = 5.0  # for a busy machine, and for loading again after each lost test
_BENIGN = "def add(a, b):\n    return a + b\n"
_LIMITS = Limits(disk_mb=32)  # an attack that fills the same folder under several names must not add up to much
_ADD = CodeTask(
    "Add two numbers.",
    tests=("assert add(2, 3) == 5", "assert add(10, -4) == 6", "assert add(0, 1) == 1"),
    entry_point="add",
    time_limit_s=_LIMIT_S,
)


@dataclass(frozen=True, slots=True)
class Attack:
    """One program of the folder.

    Args:
        name: file name without its ending.
        program: its text, header and all.
        problem: what it pretends to solve.
        if_passed: what a pass would mean.
        expect: verdicts that name the cause.
    """

    name: str
    program: str
    problem: Literal["add", "magic"]
    if_passed: Literal["wrong", "pwned", "right"]
    expect: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttackResult:
    """What became of one attack.

    Args:
        name: of the attack.
        verdict: "pass", "fail", "exception", "timeout", "memory", "output-limit", "crashed", "killed", "denied", "exit",
            "protocol" or "unavailable".
        clear: the verdict is one of those that name the cause.
        survived: no forged pass, nothing reached, an answer within the limits, the programs beside it and after it passed, and
            nothing left.
        wall_s: seconds until the answer.
        left_behind: processes, files, ports and shared memory that are there and were not before.
        detail: what went wrong if it was not survived, else the verdict in words.
    """

    name: str
    verdict: str
    clear: bool
    survived: bool
    wall_s: float
    left_behind: int
    detail: str


def read_attack(path: Path) -> Attack:
    """Read one file.

    Raises:
        UserError: its first line is not such a header.
    """
    program = path.read_bytes().decode(errors="replace")
    try:
        header = json.loads(program.partition("\n")[0].lstrip("# "))
        problem, if_passed, expect = header["problem"], header["pass"], tuple(map(str, header["expect"]))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path.name} is no attack: its first line must be a comment with a JSON header.") from error
    if problem not in ("add", "magic") or if_passed not in ("wrong", "pwned", "right"):
        raise UserError(f"{path.name} has a header with an unknown problem or pass.")
    return Attack(path.stem, program, problem, if_passed, expect)


async def run_attacks(
    sandbox: Sandbox, folder: Path, *, limits: Limits = _LIMITS, each: Callable[[AttackResult], None] | None = None
) -> list[AttackResult]:
    """Run every program of `folder`, one after the other, each beside a benign one.

    Args:
        sandbox: where they run.
        folder: holds `*.py` files; folders in it are not looked into.
        limits: of their jobs; their times come from the tests.
        each: called with each result as it comes.

    Raises:
        UserError: the folder holds no attack, or one without a header.
        SandboxUnavailable: the sandbox does not run even a benign program.
    """
    attacks = _read_folder(folder)
    if not attacks:
        raise UserError(f"{folder} holds no attack: no file that ends in .py.")
    await asyncio.gather(*(run_tests(sandbox, _BENIGN, _ADD, limits=limits) for _ in range(4)))  # start what is started once
    results = []
    with Canaries() as canaries:
        for attack in attacks:
            results.append(await _run(sandbox, attack, limits, canaries))
            if each is not None:
                each(results[-1])
    return results


def _read_folder(folder: Path) -> list[Attack]:
    return [read_attack(path) for path in sorted(folder.glob("*.py"))]


async def _run(sandbox: Sandbox, attack: Attack, limits: Limits, canaries: Canaries) -> AttackResult:
    task = _ADD if attack.problem == "add" else _magic()
    before = canaries.look()
    started = time.monotonic()
    beside = asyncio.create_task(_passes(sandbox, limits))
    report = await _report(sandbox, attack, task, limits)
    wall_s = time.monotonic() - started
    harmed = [] if await beside else ["a program beside it failed"]
    harmed += [] if await _passes(sandbox, limits) else ["the program after it failed"]
    harmed += canaries.harmed()
    left = await canaries.left_since(before)
    verdict, detail = _verdict(report)
    if verdict == "pass" and attack.if_passed != "right":
        harmed.append("a forged pass" if attack.if_passed == "wrong" else "it reached its target")
    if wall_s > _LOAD_S + len(task.tests) * (_LIMIT_S + _LOAD_S) + _SLACK_S:
        harmed.append("no answer within the limits")
    problems = [*harmed, *left]
    clear = verdict in attack.expect
    return AttackResult(attack.name, verdict, clear, not problems, wall_s, len(left), "; ".join(problems) or detail)


async def _report(sandbox: Sandbox, attack: Attack, task: CodeTask, limits: Limits) -> Report:
    try:
        return await run_tests(sandbox, attack.program, task, limits=limits)
    except SandboxUnavailable as error:
        return Report((TestResult("", "unavailable", detail=str(error)),), level=sandbox.level)


async def _passes(sandbox: Sandbox, limits: Limits) -> bool:
    try:
        return (await run_tests(sandbox, _BENIGN, _ADD, limits=limits)).all_passed
    except SandboxUnavailable:
        return False


def _magic() -> CodeTask:
    drawn = {number: f"XPCT_{number}_{secrets.token_hex(8)}" for number in (1, 2)}
    tests = [f"assert magic({number}) == {text!r}" for number, text in drawn.items()]
    return CodeTask("Return the text for a number.", tests=tests, entry_point="magic", time_limit_s=_LIMIT_S)


def _verdict(report: Report) -> tuple[str, str]:
    """One word for all tests together, by the first that did not pass, and its detail."""
    for result in report.results:
        if result.verdict != "pass":
            return _word(result), result.detail.strip().splitlines()[-1] if result.detail.strip() else ""
    return "pass", ""


def _word(result: TestResult) -> str:
    if result.verdict == "output":
        return "output-limit"
    if result.verdict != "error":
        return result.verdict
    words = (("interfered with its tests", "protocol"), ("crashed by signal", "crashed"), ("exit code", "exit"))
    return next((word for said, word in words if said in result.detail), "exception")


def innocent(results: Iterable[AttackResult]) -> tuple[Sequence[str], Sequence[str]]:
    """Names of the ordinary programs that passed, and of those that did not."""
    results = list(results)
    return [r.name for r in results if r.verdict == "pass"], [r.name for r in results if r.verdict != "pass"]
