"""What one sitting of a run works with, opened and closed with it: models, sandbox, the user's tools.

model   = recorded(throttled(metered(adapter)))       one for each name of the pool
sandbox = the isolation asked for, proved to work
toolbox = effects(metered(guarded(helper tools(the user's tools))))
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from treewright.assembly import Ports, cores
from treewright.core.budget import Budget
from treewright.core.errors import UserError
from treewright.core.events import Sink
from treewright.core.task import ToolTask
from treewright.journal.replay import Past
from treewright.models.base import Model
from treewright.models.factory import Adapter, build
from treewright.models.metered import Metered as MeteredModel
from treewright.models.metered import free
from treewright.models.prices import pricing
from treewright.models.recorded import Recorded
from treewright.models.scripted import Scripted
from treewright.models.throttled import Throttled
from treewright.roles.asking import Asker
from treewright.roles.helper_tools import HelperTools
from treewright.sandbox.base import Sandbox
from treewright.sandbox.select import select
from treewright.spec import RunSpec, ToolChoices
from treewright.tools.base import Toolbox
from treewright.tools.choosing import Chosen
from treewright.tools.combined import Combined
from treewright.tools.committing import Allow
from treewright.tools.effects import Effects
from treewright.tools.guarded import Guarded
from treewright.tools.loading import load_tools
from treewright.tools.metered import Metered


@dataclass(frozen=True, slots=True)
class Given:
    """What the caller brings along instead of a name; stays theirs to close.

    Args:
        models: the pool, in place of `RunSpec.model` and its pool.
        sandbox: an open one.
        toolbox: tools that no text can name, such as Python functions, in place of the task's own; not yet open.
        allow: asks the user whether a call may be made that is not taken back; None where there is nobody to ask.
    """

    models: Sequence[Model] = ()
    sandbox: Sandbox | None = None
    toolbox: Toolbox | None = None
    allow: Allow | None = None


NOTHING_GIVEN = Given()
#: How a record names a tool that no text can name; such a run is taken up only where the tools are given again.
GIVEN = "given:"


async def open_ports(
    spec: RunSpec, given: Given, budget: Budget, past: Past[Any, Any], emit: Sink, stack: AsyncExitStack
) -> Ports:
    """Open all that the run needs; `stack` closes it.

    Raises:
        UserError: a name is wrong, a price is not known, the tools cannot be used.
        ModelUnavailable: a model cannot be loaded.
        SandboxUnavailable: programs cannot be isolated as asked for.
    """
    slots = max(1, min(spec.parallel, cores()))
    names = tuple(dict.fromkeys((spec.model, *spec.tools.pool)))
    adapters = [] if given.models else [build(name, base_url=spec.base_url, slots=slots) for name in names]
    sandbox = given.sandbox or await _sandbox(spec, stack)
    for adapter in adapters:
        await _enter(adapter, past, stack)
    numbers = count(past.last_call + 1)
    opened = [(model, model.name) for model in given.models] or list(zip(adapters, names, strict=True))
    models = tuple(_held(model, name, spec, budget, past, emit, numbers) for model, name in opened)
    if not isinstance(spec.task, ToolTask):
        return Ports(spec, models, sandbox, emit)
    toolbox, lost = await _toolbox(spec.task, spec.tools, given, budget, emit, stack, Asker(models[0], spec.seed))
    return Ports(spec, models, sandbox, emit, toolbox, lost)


async def _enter(adapter: Adapter, past: Past[Any, Any], stack: AsyncExitStack) -> None:
    await stack.enter_async_context(adapter)
    if isinstance(adapter, Scripted):  # its rows are used up one by one: go on behind those of earlier sittings
        adapter.use_up(call.reply for call in past.calls if call.reply is not None)


def _held(
    model: Model, name: str, spec: RunSpec, budget: Budget, past: Past[Any, Any], emit: Sink, numbers: count[int]
) -> Model:
    known = pricing(name)
    if known is None and spec.limits.dollars is not None:
        raise UserError(f"no price is known for {name}: limit tokens=… instead of usd=…")
    metered = MeteredModel(model, budget, emit, numbers, known or free)
    mine = [call for call in past.calls if call.model == model.name]
    return Recorded(Throttled(metered, concurrency=spec.parallel), mine)


async def _toolbox(
    task: ToolTask, choices: ToolChoices, given: Given, budget: Budget, emit: Sink, stack: AsyncExitStack, ask: Asker
) -> tuple[Effects, tuple[str, ...]]:
    """The tools of the task, opened, and what was lost on the way, a sentence each."""
    if given.toolbox is None:
        _refuse_given(task)
    source = given.toolbox if given.toolbox is not None else load_tools(task.tools)
    toolbox = await stack.enter_async_context(source) if isinstance(source, AbstractAsyncContextManager) else source
    missing = toolbox.lost if isinstance(toolbox, Combined) else ()
    if missing and not toolbox.cards:
        raise UserError(f"there is no tool to work with: {missing[0].reason}")
    chosen = Chosen(toolbox, only=choices.only, pure=choices.pure, idempotent=choices.idempotent)
    guarded = Guarded(HelperTools(chosen, ask) if choices.helpers else chosen)
    if chosen.cards and len(guarded.left_out) == len(chosen.cards):
        raise UserError("there is no tool to work with: the tool {} is left out: {}".format(*guarded.left_out[0]))
    lost = [f"the tools of {one.source} cannot be used: {one.reason}" for one in missing]
    lost += [f"the tool {name} is left out: {why}" for name, why in guarded.left_out]
    lost += [f"no tool fits the pattern {pattern!r}" for pattern in chosen.unused]
    effects = Effects(Metered(guarded, budget, emit), mode=choices.commits)
    return await stack.enter_async_context(effects), tuple(lost)


def _refuse_given(task: ToolTask) -> None:
    names = [tool.removeprefix(GIVEN) for tool in task.tools if isinstance(tool, str) and tool.startswith(GIVEN)]
    if names:
        raise UserError(
            f"the tools of this run were given in Python ({', '.join(names)}): take it up there, "
            "as in resume(run_id, journal=…, given=Given(toolbox=load_tools([…])))"
        )


async def _sandbox(spec: RunSpec, stack: AsyncExitStack) -> Sandbox:
    """The isolation asked for, proved to work, closed with the run."""
    python = Path(spec.sandbox_python) if spec.sandbox_python else None
    sandbox = await select(spec.sandbox, python=python, warm=tuple(spec.warm), slots=min(spec.parallel, cores()))
    close = getattr(sandbox, "close", None)
    if close is not None:
        stack.callback(close)
    return sandbox
