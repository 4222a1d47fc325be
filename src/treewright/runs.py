"""A run: one task, one strategy, one model, one budget, put together here and nowhere else.

    ports = the models, the sandbox and the tools, metered, recorded, isolated     (`opening`)
    search(the strategy's recipe built on them (`assembly`), budget, emit)         emit: the journal first, then the other sinks

A `RunSpec` is a plain value: it stands in the journal, and starts the same run anywhere. A `Run` is one sitting of it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Literal, get_args

from treewright.assembly import STRATEGIES, Ports, named, shapes_of
from treewright.committing import carry_out
from treewright.core.budget import Budget, Limits, Spend
from treewright.core.check import derive_entry_point, validate_task
from treewright.core.errors import JournalError, TreewrightError, UserError
from treewright.core.events import Event, RunEnded, RunStarted, Sink
from treewright.core.search import Answer, search
from treewright.core.task import CodeTask, ToolTask
from treewright.core.tree import Tree
from treewright.journal.base import PLAIN, Journal
from treewright.journal.replay import Past, replay
from treewright.opening import NOTHING_GIVEN, Given, open_ports
from treewright.roles.tree_of_code import History
from treewright.spec import REASONS, RunSpec, Solution, plain_spec, spec_from_plain
from treewright.strategies.codetree_presets import preset_named
from treewright.strategies.tree_of_code_settings import PRESETS as TOOL_PRESETS
from treewright.tools.effects import Mode

HISTORIES, COMMITS = get_args(History), get_args(Mode)
#: Of run ids, in the order they sort in; without those that are easily mistaken for another.
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
#: Reasons after which going on could change the answer without a larger budget.
_UNFINISHED = frozenset({"interrupted", "fault"})


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
        self, run_id: str, spec: RunSpec, past: Past[Any, Any], journal: Journal, sinks: Iterable[Sink], given: Given
    ) -> None:
        self.id = run_id
        self.spec = spec
        self.budget = Budget(spec.limits, past.spent)
        self.tree = past.tree
        self.recorded = past.sittings > 0
        self._past = past
        self._journal = journal
        self._sinks = tuple(sinks)
        self._given = given

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
            ports = await open_ports(self.spec, self._given, self.budget, self._past, self._emit, stack)
            strategy = STRATEGIES[self.spec.strategy].build(ports)
            self._emit(RunStarted(plain_spec(self.spec), self._past.sittings))
            try:
                result = await search(
                    strategy, budget=self.budget, parallel=self.spec.parallel, emit=self._emit, tree=self.tree
                )
            except JournalError:  # the end cannot be written either
                raise
            except (TreewrightError, asyncio.CancelledError) as fault:
                self.budget.close("fault")  # what is there is answered with: nobody is asked any more
                answer = _with_losses(await strategy.answer(self.tree), ports)
                self._end(answer, str(fault) or "interrupted", finished=False)
                raise
            finished = result.reason not in _UNFINISHED
            answer = await self._committed(result.answer, ports) if finished else result.answer
            end = self._end(_with_losses(answer, ports), result.reason, finished=finished)
            return self._solution(end, result.tree)

    async def _committed(self, answer: Answer, ports: Ports) -> Answer:
        """The answer, after the calls that its program noted were made."""
        if ports.toolbox is None or not answer.verified or not answer.node:
            return answer
        node = self.tree.nodes[answer.node]
        told = await carry_out(
            node, ports.toolbox.toolbox, mode=self.spec.tools.commits, ask=self._given.allow, emit=self._emit,
            past=self._past.commits,
        )  # fmt: skip
        return _more(answer, told)

    def _end(self, answer: Answer, reason: str, *, finished: bool) -> RunEnded:
        end = RunEnded(reason, finished, answer.solved, answer.verified, answer.text, answer.evidence, self.budget.spent)
        self._emit(end)
        return end

    def _solution(self, end: RunEnded, tree: Tree[Any, Any]) -> Solution:
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


def _with_losses(answer: Answer, ports: Ports) -> Answer:
    """The answer, with what was missing on the way to it, and what was done on the way and could not be taken back."""
    stuck = ports.toolbox.stuck if ports.toolbox is not None else ()
    return _more(answer, *ports.lost, *(f"{one.tool} called with {dict(one.arguments)}: {one.why}" for one in stuck))


def _more(answer: Answer, *told: str) -> Answer:
    return replace(answer, evidence="; ".join(filter(None, (answer.evidence, *told))))


def start(
    spec: RunSpec, *, journal: Journal, sinks: Iterable[Sink] = (), run_id: str = "", given: Given = NOTHING_GIVEN
) -> Run:
    """A new run.

    Args:
        spec: what to run.
        journal: where it is recorded.
        sinks: take every event after the journal has it.
        run_id: its id; made when not given.
        given: what is brought along instead of being opened by name.

    Raises:
        UserError: the spec asks for something impossible: the task, a name, a number.
    """
    _check(spec)
    task = spec.task
    if isinstance(task, CodeTask) and task.tests and not task.entry_point:
        spec = replace(spec, task=replace(task, entry_point=derive_entry_point(task.tests, task.setup)))
    return Run(run_id or new_id(), spec, Past(), journal, sinks, given)


def resume(
    run_id: str,
    *,
    journal: Journal,
    limits: Limits | Callable[[Limits], Limits] | None = None,
    sinks: Iterable[Sink] = (),
    given: Given = NOTHING_GIVEN,
) -> Run:
    """The run `run_id` where it stands: its tree rebuilt, what it paid for remembered.

    Args:
        run_id: its id.
        journal: where it is recorded.
        limits: new limits for the whole run, what was spent before included, or how they follow from its own; its own when
            None.
        sinks: take every new event after the journal has it.
        given: as for `start`.

    Raises:
        UserError: no such run, or limits that allow nothing.
        JournalError: the record cannot be read.
    """
    past = past_of(journal, run_id)
    spec = spec_from_plain(past.spec)
    if limits is not None:
        spec = replace(spec, limits=limits(spec.limits) if callable(limits) else limits)
    _check(spec)
    return Run(run_id, spec, past, journal, sinks, given)


def past_of(journal: Journal, run_id: str) -> Past[Any, Any]:
    """Where the run `run_id` stood when its last event was written, its nodes as its own strategy has them.

    Raises:
        UserError: no such run.
        JournalError: the record cannot be read.
    """
    begun = next((e.event for e in journal.read(run_id, PLAIN) if isinstance(e.event, RunStarted)), None)
    if begun is None:
        raise UserError(f"no run {run_id!r} in this journal: `treewright runs` lists them")
    return replay(journal.read(run_id, shapes_of(begun.spec)))


def new_id() -> str:
    """A new run id that sorts by time, which is UTC: "20261130-142530-k3f9x2". The tail begins with parts of the second."""
    now = time.time()
    part = int(now % 1 * len(_LETTERS) ** 3)
    parts = "".join(_LETTERS[part // len(_LETTERS) ** place % len(_LETTERS)] for place in (2, 1, 0))
    tail = "".join(secrets.choice(_LETTERS) for _ in range(3))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{parts}{tail}"


def _check(spec: RunSpec) -> None:
    kind: Literal["code", "tools"] = "code" if isinstance(spec.task, CodeTask) else "tools"
    if isinstance(spec.task, CodeTask):
        validate_task(spec.task)
        preset_named(spec.preset)
    else:
        _check_tools(spec.task, spec)
    if spec.strategy not in named(kind):
        raise UserError(f"unknown strategy {spec.strategy!r}: choose one of {', '.join(named(kind))}")
    if spec.without and spec.strategy != "codetree":
        raise UserError(f"{spec.strategy} has no {spec.without[0]} to leave out: only codetree has")
    for address in (spec.base_url or "", *(name.partition("@")[2] for name in (spec.model, *spec.tools.pool))):
        if "@" in address.partition("//")[2].partition("/")[0]:
            raise UserError("the address of the server holds a password, and runs are recorded: put the key in OPENAI_API_KEY")
    if spec.parallel < 1:
        raise UserError(f"parallel is {spec.parallel}: at least 1 step must be at work")
    for name in Spend.__dataclass_fields__:
        bound = getattr(spec.limits, name)
        if bound is not None and not bound > 0:
            raise UserError(f"a budget of {bound} {name} allows nothing: give a number above 0")


def _check_tools(task: ToolTask, spec: RunSpec) -> None:
    if not task.query.strip():
        raise UserError("the question is empty: say in words what to find out or to do")
    if spec.preset not in TOOL_PRESETS:
        raise UserError(f"unknown preset {spec.preset!r}: choose one of {', '.join(TOOL_PRESETS)}")
    for what, word, words in (("history", spec.tools.history, HISTORIES), ("commits", spec.tools.commits, COMMITS)):
        if word not in (None, *words):
            raise UserError(f"unknown {what} {word!r}: choose one of {', '.join(words)}")
    for what, number in (("layers", spec.tools.layers), ("width", spec.tools.width)):
        if number is not None and number < 1:
            raise UserError(f"{what} is {number}: give at least 1")
