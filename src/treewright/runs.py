"""A run: one task, one strategy, one model, one budget, put together here and nowhere else.

    sandbox = the isolation asked for                 test  = run the visible tests there, a few at once
    model   = recorded(throttled(metered(adapter)))   emit  = the journal first, then the other sinks
    search(strategy(task, model, test), budget, emit)

A `RunSpec` is a plain value: it stands in the journal, and starts the same run anywhere. A `Run` is one sitting of it.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path

from treewright.core.budget import Budget, Limits, Spend
from treewright.core.check import derive_entry_point, validate_task
from treewright.core.errors import JournalError, TreewrightError, UserError
from treewright.core.events import Event, ProgramRan, RunEnded, RunStarted, Sink
from treewright.core.search import Answer, Result, search
from treewright.core.tree import Tree
from treewright.journal.base import Journal, Shapes
from treewright.journal.replay import Past, replay
from treewright.models.base import Model
from treewright.models.factory import build
from treewright.models.metered import Metered, free
from treewright.models.prices import pricing
from treewright.models.recorded import Recorded
from treewright.models.scripted import Scripted
from treewright.models.throttled import Throttled
from treewright.sandbox.base import Sandbox
from treewright.sandbox.harness import Report, run_tests
from treewright.sandbox.landlock import LandlockSandbox
from treewright.sandbox.namespaces import NamespaceSandbox
from treewright.sandbox.select import select
from treewright.spec import REASONS, RunSpec, Solution, plain_spec, spec_from_plain
from treewright.strategies.baselines.resample import direct, resample
from treewright.strategies.codetree import CodeTree, Test
from treewright.strategies.codetree_presets import codetree, codetree_bfs, codetree_dfs, preset_named, strategy_list
from treewright.strategies.codetree_settings import CodeAction, CodeOutcome

CODE = Shapes(CodeAction, CodeOutcome)

#: Of run ids, in the order they sort in; without those that are easily mistaken for another.
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
#: Reasons after which going on could change the answer without a larger budget.
_UNFINISHED = frozenset({"interrupted", "fault"})


def _codetree(spec: RunSpec, model: Model, test: Test) -> CodeTree:
    return codetree(spec.task, model, test, preset=spec.preset, seed=spec.seed, without=spec.without)


#: Name -> how it is put together for a run.
STRATEGIES: dict[str, Callable[[RunSpec, Model, Test], CodeTree]] = {
    "codetree": _codetree,
    "codetree-bfs": lambda s, model, test: codetree_bfs(s.task, model, test, preset=s.preset, seed=s.seed),
    "codetree-dfs": lambda s, model, test: codetree_dfs(s.task, model, test, preset=s.preset, seed=s.seed),
    "strategy-list": lambda s, model, test: strategy_list(s.task, model, test, preset=s.preset, seed=s.seed),
    "resample": lambda s, model, test: resample(s.task, model, test, seed=s.seed),
    "direct": lambda s, model, test: direct(s.task, model, test, seed=s.seed),
}


class Run:
    """One sitting of a run: made by `start` or `resume`, awaited once with `go`.

    Attributes:
        id: in the journal.
        spec: what is run.
        budget: what may be spent, and was.
        tree: its nodes as they are now.
        recorded: the journal has it, so it can be resumed.
    """

    def __init__(
        self, run_id: str, spec: RunSpec, past: Past[CodeAction, CodeOutcome], journal: Journal, sinks: Iterable[Sink]
    ) -> None:
        self.id = run_id
        self.spec = spec
        self.budget = Budget(spec.limits, past.spent)
        self.tree = past.tree
        self.recorded = past.sittings > 0
        self._past = past
        self._journal = journal
        self._sinks = tuple(sinks)

    def stop(self) -> None:
        """Let the calls under way end, start no other, and end the run so that it can be resumed."""
        self.budget.close("interrupted")

    async def go(self) -> Solution:
        """Search to the end.

        Raises:
            ModelUnavailable: the model is gone; the run can be resumed.
            SandboxUnavailable: programs cannot be run; the run can be resumed.
            JournalError: the record cannot be written.
            UserError: the run asks for something impossible.
        """
        end = self._past.end
        if end is not None and end.finished and not self._more_allowed():
            return self._solution(end, self.tree)
        async with AsyncExitStack() as stack:
            slots = max(1, min(self.spec.parallel, _cores()))
            adapter = build(self.spec.model, base_url=self.spec.base_url, slots=slots)  # a wrong name costs no more than this
            sandbox = await _sandbox(self.spec, stack)
            await stack.enter_async_context(adapter)
            if isinstance(adapter, Scripted):  # its rows are used up one by one: go on behind those of earlier sittings
                adapter.use_up(call.reply for call in self._past.calls if call.reply is not None)
            strategy = STRATEGIES[self.spec.strategy](self.spec, self._model(adapter), self._test(sandbox))
            self._emit(RunStarted(plain_spec(self.spec), self._past.sittings))
            try:
                result = await search(
                    strategy, budget=self.budget, parallel=self.spec.parallel, emit=self._emit, tree=self.tree
                )
            except JournalError:  # the end cannot be written either
                raise
            except (TreewrightError, asyncio.CancelledError) as fault:
                await self._end(await strategy.answer(self.tree), str(fault) or "interrupted", finished=False)
                raise
            return await self._ended(result)

    async def _ended(self, result: Result[CodeAction, CodeOutcome]) -> Solution:
        end = await self._end(result.answer, result.reason, finished=result.reason not in _UNFINISHED)
        return self._solution(end, result.tree)

    async def _end(self, answer: Answer, reason: str, *, finished: bool) -> RunEnded:
        end = RunEnded(reason, finished, answer.solved, answer.verified, answer.text, answer.evidence, self.budget.spent)
        self._emit(end)
        return end

    def _solution(self, end: RunEnded, tree: Tree[CodeAction, CodeOutcome]) -> Solution:
        spec = self.spec
        reason = "; ".join(filter(None, (REASONS.get(end.reason, end.reason), end.evidence)))
        return Solution(
            self.id, spec.task.name, spec.strategy, spec.model, end.solved, end.verified, end.answer, reason, end.reason,
            end.spent, tree,
        )  # fmt: skip

    def _more_allowed(self) -> bool:
        """Whether the limit that ended the run has been raised since."""
        reason = self._past.end.reason if self._past.end is not None else ""
        old, new = (getattr(spec.limits, reason, None) for spec in (spec_from_plain(self._past.spec), self.spec))
        return old is not None and (new is None or new > old)

    def _emit(self, event: Event) -> None:
        self._journal.append(self.id, event)  # first: nothing is acted on that is not on record
        self.recorded = True
        for sink in self._sinks:
            sink(event)

    def _model(self, adapter: Model) -> Model:
        known = pricing(self.spec.model)
        if known is None and self.spec.limits.dollars is not None:
            raise UserError(f"no price is known for {self.spec.model}: limit tokens=… instead of usd=…")
        metered = Metered(adapter, self.budget, self._emit, count(self._past.last_call + 1), known or free)
        return Recorded(Throttled(metered, concurrency=self.spec.parallel), self._past.calls)

    def _test(self, sandbox: Sandbox) -> Test:
        seats = asyncio.Semaphore(_cores())  # more programs at once than cores would time each other out

        async def test(node: str, program: str) -> Report:
            async with seats:
                started = time.perf_counter()
                report = await run_tests(sandbox, program, self.spec.task)
            seconds = round(time.perf_counter() - started, 4)
            self._emit(ProgramRan(node, sandbox.level, report.passed, report.total, seconds))
            return report

        return test


def start(spec: RunSpec, *, journal: Journal, sinks: Iterable[Sink] = (), run_id: str = "") -> Run:
    """A new run.

    Args:
        spec: what to run.
        journal: where it is recorded.
        sinks: take every event after the journal has it.
        run_id: its id; made when not given.

    Raises:
        UserError: the spec asks for something impossible: the task, a name, a number.
    """
    _check(spec)
    task = spec.task
    if task.tests and not task.entry_point:
        spec = replace(spec, task=replace(task, entry_point=derive_entry_point(task.tests, task.setup)))
    return Run(run_id or new_id(), spec, Past(), journal, sinks)


def resume(
    run_id: str,
    *,
    journal: Journal,
    limits: Limits | Callable[[Limits], Limits] | None = None,
    sinks: Iterable[Sink] = (),
) -> Run:
    """The run `run_id` where it stands: its tree rebuilt, what it paid for remembered.

    Args:
        run_id: its id.
        journal: where it is recorded.
        limits: new limits for the whole run, what was spent before included, or how they follow from its own; its own when
            None.
        sinks: take every new event after the journal has it.

    Raises:
        UserError: no such run, or limits that allow nothing.
        JournalError: the record cannot be read.
    """
    past: Past[CodeAction, CodeOutcome] = replay(journal.read(run_id, CODE))
    if not past.sittings:
        raise UserError(f"no run {run_id!r} in this journal: `treewright runs` lists them")
    spec = spec_from_plain(past.spec)
    if limits is not None:
        spec = replace(spec, limits=limits(spec.limits) if callable(limits) else limits)
    _check(spec)
    return Run(run_id, spec, past, journal, sinks)


def new_id() -> str:
    """A new run id that sorts by time, which is UTC: "20261130-142530-k3f9x2". The tail begins with parts of the second."""
    now = time.time()
    part = int(now % 1 * len(_LETTERS) ** 3)
    parts = "".join(_LETTERS[part // len(_LETTERS) ** place % len(_LETTERS)] for place in (2, 1, 0))
    tail = "".join(secrets.choice(_LETTERS) for _ in range(3))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{parts}{tail}"


def _check(spec: RunSpec) -> None:
    validate_task(spec.task)
    if spec.strategy not in STRATEGIES:
        raise UserError(f"unknown strategy {spec.strategy!r}: choose one of {', '.join(STRATEGIES)}")
    preset_named(spec.preset)
    if spec.without and spec.strategy != "codetree":
        raise UserError(f"{spec.strategy} has no {spec.without[0]} to leave out: only codetree has")
    for address in (spec.base_url or "", spec.model.partition("@")[2]):
        if "@" in address.partition("//")[2].partition("/")[0]:
            raise UserError("the address of the server holds a password, and runs are recorded: put the key in OPENAI_API_KEY")
    if spec.parallel < 1:
        raise UserError(f"parallel is {spec.parallel}: at least 1 step must be at work")
    for name in Spend.__dataclass_fields__:
        bound = getattr(spec.limits, name)
        if bound is not None and not bound > 0:
            raise UserError(f"a budget of {bound} {name} allows nothing: give a number above 0")


async def _sandbox(spec: RunSpec, stack: AsyncExitStack) -> Sandbox:
    """The isolation asked for, proved to work, closed with the run."""
    python = Path(spec.sandbox_python) if spec.sandbox_python else None
    sandbox = await select(spec.sandbox, python=python, warm=tuple(spec.warm), slots=min(spec.parallel, _cores()))
    if isinstance(sandbox, NamespaceSandbox | LandlockSandbox):
        stack.callback(sandbox.close)
    return sandbox


def _cores() -> int:
    return len(os.sched_getaffinity(0))
