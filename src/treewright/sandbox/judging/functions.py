"""The tests of a function, run against one program: plain checks are judged here, the others by a checker (`relay`)."""

from __future__ import annotations

import time
from collections import deque

from treewright.core.task import CodeTask
from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.judging.asserts import Check, plan
from treewright.sandbox.judging.candidate import Candidate, LoadFailed, Source, raised_verdict
from treewright.sandbox.judging.compare import Literal
from treewright.sandbox.judging.messages import Raised, Reply, Unsent, Value
from treewright.sandbox.judging.relay import CALLS_OF_A_CHECK, run_checker
from treewright.sandbox.judging.report import Report, TestResult
from treewright.sandbox.judging.session import Ended, Verdict

_LOADING_S = 2.0  # at least, for imports


async def run_functions(sandbox: Sandbox, program: str, task: CodeTask, limits: Limits) -> Report:
    """Run `task.tests` against `program`. See `harness.run_tests`."""
    planned = plan(task.tests, task.setup, task.entry_point)
    checks = [check for block in planned.blocks for check in block.checks]
    load_s = max(task.time_limit_s, _LOADING_S)
    calls = sum(len(block.checks) * (1 if block.plain else CALLS_OF_A_CHECK) for block in planned.blocks)
    total_s = limits.wall_s + load_s + task.time_limit_s * calls
    source = Source(task.setup, program, planned.names)
    results: dict[Check, TestResult] = {}
    async with Candidate(sandbox, source, limits, call_s=task.time_limit_s, load_s=load_s, total_s=total_s) as candidate:
        error = ""
        try:
            await candidate.load()
            if error := _lacks(candidate, task.entry_point):
                raise LoadFailed("error", error)
            await judge_plain(candidate, [check for block in planned.blocks if block.plain for check in block.checks], results)
            if len(results) < len(checks):
                await run_checker(sandbox, candidate, planned, task, limits, results)
        except LoadFailed as failed:
            error = "" if results else failed.detail
            for check in checks:
                results.setdefault(check, TestResult(check.source, failed.verdict, detail=failed.detail))
        await candidate.stop()
        return Report(tuple(results[check] for check in checks), error, candidate.stdout, sandbox.level)


def _lacks(candidate: Candidate, entry_point: str) -> str:
    if (entry_point, "missing", "") not in candidate.loaded.kinds:
        return ""
    defined = ", ".join(candidate.loaded.defined) or "nothing"
    return f"the program does not define {entry_point!r}; it defines {defined}"


async def judge_plain(candidate: Candidate, checks: list[Check], results: dict[Check, TestResult]) -> None:
    """Judge `checks`, all plain, in order; those that turn out to need the program's own objects are left out of `results`.

    All calls are sent at once and the answers awaited one by one, each within the time for one call.

    Raises:
        LoadFailed: a check ended the job, and the program would not load again.
    """
    pending = deque(checks)
    while pending:
        started = time.monotonic()
        try:
            calls = [call for check in pending if check.literal for call in check.literal.calls]
            await candidate.send(f'["many",[{",".join(calls)}]]')
            while pending:
                started = time.monotonic()
                literal = pending[0].literal
                assert literal is not None
                replies = [await candidate.reply() for _ in literal.calls]
                check = pending.popleft()
                if result := _result(check, literal, replies, time.monotonic() - started):
                    results[check] = result
        except Ended as ended:
            check = pending.popleft()
            seconds = time.monotonic() - started
            results[check] = TestResult(check.source, ended.verdict, detail=ended.detail, seconds=seconds)
            if pending:
                await candidate.load()


def _result(check: Check, literal: Literal, replies: list[Reply], seconds: float) -> TestResult | None:
    values = []
    for reply in replies:
        match reply:
            case Value(value):
                values.append(value)
            case Raised():
                return TestResult(check.source, raised_verdict(reply), detail=str(reply), seconds=seconds)
            case Unsent(why):
                return TestResult(check.source, "error", detail=f"the program returned {why}", seconds=seconds)
            case _:
                return TestResult(check.source, "error", detail="the program interfered with its tests", seconds=seconds)
    if literal.needs_objects(values):
        return None
    judged = literal.judge(values)
    verdict: Verdict = "pass" if judged.holds else "fail"
    return TestResult(check.source, verdict, judged.expected, judged.actual, judged.detail, seconds)
