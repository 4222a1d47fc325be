"""Tests that need a checker: the host between the process of the tests and that of the program.

The two never meet. The checker asks for something to be done with the program; the request goes on as it came, and so does the
answer. When a request ends the program's process, the check it belongs to gets that verdict whatever the checker makes of it,
and the program is loaded again for the rest. A check that never ends costs the checker's process, and the rest gets another.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal

from treewright.core.errors import SandboxUnavailable
from treewright.core.task import CodeTask
from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.judging.asserts import Check, Plan
from treewright.sandbox.judging.bundle import bundle
from treewright.sandbox.judging.candidate import START_S, Candidate, LoadFailed
from treewright.sandbox.judging.encoding import encode
from treewright.sandbox.judging.messages import clean
from treewright.sandbox.judging.report import TestResult
from treewright.sandbox.judging.session import MAX_CARRIED, Ended, Session, Verdict, session
from treewright.sandbox.judging.values import message

CHECKER = tuple(f"judging.{name}" for name in ("values", "encoding", "frames", "approx", "remote", "stand_ins", "checker"))
CALLS_OF_A_CHECK = 10  # a check may take this many times the limit of one call
_MAX_TESTS = 1 << 26


async def run_checker(
    sandbox: Sandbox, candidate: Candidate, plan: Plan, task: CodeTask, limits: Limits, results: dict[Check, TestResult]
) -> None:
    """Run every check that `results` lacks, and put its result there.

    Raises:
        LoadFailed: a check ended the program's job, and it would not load again.
        SandboxUnavailable: a job could not be started, twice.
    """
    check_s = task.time_limit_s * CALLS_OF_A_CHECK
    retried = False
    while pending := [check for block in plan.blocks for check in block.checks if check not in results]:
        total_s = limits.wall_s + check_s * len(pending)
        job_limits = replace(limits, wall_s=total_s, cpu_s=total_s)
        async with session(sandbox, bundle(*CHECKER), job_limits) as checker:
            if await _ready(checker, sandbox, last=retried):
                await _Relay(checker, candidate, results, check_s).run(plan, task, pending)
            else:
                retried = True


async def _ready(checker: Session, sandbox: Sandbox, *, last: bool) -> bool:
    try:
        await checker.receive(START_S)
    except Ended as ended:
        if last:
            raise SandboxUnavailable(f"The sandbox cannot run tests ({sandbox.level}): {ended.detail}.") from ended
        return False
    return True


class _Relay:
    """One checker at work."""

    def __init__(self, checker: Session, candidate: Candidate, results: dict[Check, TestResult], check_s: float) -> None:
        self._checker, self._candidate, self._results, self._check_s = checker, candidate, results, check_s
        self._gone: Ended | None = None  # why the program's process ended during the present check
        self._started = time.monotonic()

    async def run(self, plan: Plan, task: CodeTask, pending: list[Check]) -> None:
        """Run `pending` until all have a result or the checker is gone.

        Raises:
            LoadFailed: see `run_checker`.
        """
        try:
            await self._checker.send(_order(plan, task, self._candidate, pending), self._check_s)
        except Ended as ended:
            self._put(pending[0], ended.verdict, detail=ended.detail)
            return
        for check in pending:
            self._gone, self._started = None, time.monotonic()
            try:
                await self._one(check)
            except _CheckerEnded as ended:
                self._put(check, ended.verdict, detail=f"the test itself: {ended.detail}")
                return
            except LoadFailed:
                self._put(check, "error")
                raise

    async def _one(self, check: Check) -> None:
        while True:
            text = await self._from_checker()
            if not text.startswith('["result"'):
                await self._carry(text)
                continue
            _, _, verdict, expected, actual, detail = message(text)
            self._put(check, verdict, clean(expected), clean(actual), clean(detail))
            return

    async def _carry(self, request: str) -> None:
        """Take a request, or the answer to one of the program's, to the program; and bring back what it says."""
        try:
            await self._candidate.send(request)
            reply = "program " + await self._candidate.receive()
        except Ended as ended:
            self._gone = self._gone or ended
            await self._candidate.load()
            reply = 'host ["gone"]'
        await self._to_checker(reply)

    def _put(
        self, check: Check, verdict: Verdict | Literal["gone"], expected: str = "", actual: str = "", detail: str = ""
    ) -> None:
        if self._gone:
            verdict, expected, actual, detail = self._gone.verdict, "", "", self._gone.detail
        elif verdict == "gone":
            verdict, detail = "error", "it uses an object that was lost when an earlier test ended the program"
        if check.whole:
            detail = f"{detail}\nran whole: {check.whole}".strip()
        seconds = time.monotonic() - self._started
        self._results[check] = TestResult(check.source, verdict, expected, actual, detail, seconds)

    async def _from_checker(self) -> str:
        left = self._started + self._check_s - time.monotonic()
        try:
            return await self._checker.receive(max(left, 0.0), MAX_CARRIED)
        except Ended as ended:
            detail = f"in all longer than {self._check_s:g} s" if ended.verdict == "timeout" else ended.detail
            raise _CheckerEnded(ended.verdict, detail) from ended

    async def _to_checker(self, text: str) -> None:
        try:
            await self._checker.send(text, self._check_s)
        except Ended as ended:
            raise _CheckerEnded(ended.verdict, ended.detail) from ended


class _CheckerEnded(Ended):
    """The checker's job is gone, as against the program's."""


def _order(plan: Plan, task: CodeTask, candidate: Candidate, pending: list[Check]) -> str:
    numbers = {check: number for number, check in enumerate(pending)}
    blocks = []
    for block in plan.blocks:
        if checks := [[numbers[check], check.code] for check in block.checks if check in numbers]:
            blocks.append([[list(pair) for pair in block.aliases], checks])
    names = [list(kind) for kind in candidate.loaded.kinds]
    return "host " + encode(["tests", task.setup, names, list(plan.modules), blocks], max_chars=_MAX_TESTS)
