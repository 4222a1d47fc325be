"""How each strategy is put together for a run: which roles, on which models, with which way to run its programs.

The only place that knows all strategies by name. A recipe gets the ports of one run, already metered, recorded and isolated.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from treewright.core.events import ProgramRan, Sink
from treewright.core.orders import breadth_first
from treewright.core.search import Strategy
from treewright.core.task import CodeTask, ToolTask
from treewright.journal.base import PLAIN, Shapes
from treewright.models.base import Model
from treewright.roles.asking import Asker
from treewright.roles.prompts import BUILT_IN, read_pool
from treewright.roles.tool_programs import ProgramRun, RunProgram, describe, program_runner
from treewright.roles.tool_turns import Act, call_turn, code_turn
from treewright.roles.tree_of_code import Programmer, Voter
from treewright.roles.turns import Actor, codeact, react
from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.harness import Report, run_tests
from treewright.spec import RunSpec
from treewright.strategies.baselines.resample import direct, resample
from treewright.strategies.baselines.turns import Turns
from treewright.strategies.codetree import CodeTree, Test
from treewright.strategies.codetree_presets import codetree, codetree_bfs, codetree_dfs, strategy_list
from treewright.strategies.codetree_settings import CodeAction, CodeOutcome
from treewright.strategies.tree_of_code import TreeOfCode
from treewright.strategies.tree_of_code_settings import CODE_PROGRAM, PRESETS, Draw, ProgramOutcome, Settings
from treewright.tools.base import Toolbox
from treewright.tools.effects import Effects

CODE = Shapes(CodeAction, CodeOutcome)
PROGRAMS = Shapes(Draw, ProgramOutcome)
#: Of a program that calls tools; the paper names none.
_PROGRAM_LIMITS = Limits(wall_s=30.0, cpu_s=30.0)


@dataclass(frozen=True, slots=True)
class Ports:
    """What a recipe works with.

    Args:
        spec: the run.
        models: the pool, the first one first.
        sandbox: where programs run.
        emit: takes events.
        toolbox: the user's tools, open; None for a task without.
        lost: tools that cannot be used, a sentence each.
    """

    spec: RunSpec
    models: tuple[Model, ...]
    sandbox: Sandbox
    emit: Sink
    toolbox: Effects | None = None
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """A strategy by name.

    Args:
        task: the kind of task it is for.
        shapes: of its nodes, for the journal.
        build: puts it together.
    """

    task: Literal["code", "tools"]
    shapes: Shapes
    build: Callable[[Ports], Strategy[Any, Any]]


def _code(build: Callable[[CodeTask, RunSpec, Model, Test], CodeTree]) -> Recipe:
    def put_together(ports: Ports) -> CodeTree:
        task = ports.spec.task
        assert isinstance(task, CodeTask)
        return build(task, ports.spec, ports.models[0], _test(ports, task))

    return Recipe("code", CODE, put_together)


def _test(ports: Ports, task: CodeTask) -> Test:
    seats = asyncio.Semaphore(cores())  # more programs at once than cores would time each other out

    async def test(node: str, program: str) -> Report:
        async with seats:
            started = time.perf_counter()
            report = await run_tests(ports.sandbox, program, task)
        seconds = round(time.perf_counter() - started, 4)
        ports.emit(ProgramRan(node, ports.sandbox.level, report.passed, report.total, seconds))
        return report

    return test


def _programs(settings: Callable[[RunSpec], Settings]) -> Recipe:
    def put_together(ports: Ports) -> TreeOfCode:
        spec, chosen = ports.spec, settings(ports.spec)
        assert isinstance(spec.task, ToolTask)
        assert ports.toolbox is not None
        asks = tuple(Asker(model, spec.seed) for model in ports.models)
        prompts = read_pool(Path(spec.tools.prompts) if spec.tools.prompts else BUILT_IN)
        programmer = Programmer(asks, prompts, describe(ports.toolbox.cards), chosen.temperature, chosen.history)
        run = _run_program(ports, ports.toolbox)
        return TreeOfCode(spec.task.query, programmer, Voter(asks[0]), run, breadth_first(), chosen, spec.seed)

    return Recipe("tools", PROGRAMS, put_together)


def _turns(actor: Callable[[Asker, str], Actor], act: Callable[[Ports, Effects], Act]) -> Recipe:
    def put_together(ports: Ports) -> Turns:
        task, toolbox = ports.spec.task, ports.toolbox
        assert isinstance(task, ToolTask)
        assert toolbox is not None
        told = describe(toolbox.cards)
        return Turns(task.query, actor(Asker(ports.models[0], ports.spec.seed), told), act(ports, toolbox), breadth_first())

    return Recipe("tools", PROGRAMS, put_together)


def _run_program(ports: Ports, toolbox: Toolbox) -> RunProgram:
    inner = program_runner(ports.sandbox, toolbox, _PROGRAM_LIMITS)

    async def run(node: str, program: str) -> ProgramRun:
        ran = await inner(node, program)
        ports.emit(ProgramRan(node, ports.sandbox.level, int(ran.ended == "ok"), 1, ran.seconds))
        return ran

    return run


def _tree_of_code(spec: RunSpec) -> Settings:
    settings, asked = PRESETS[spec.preset], spec.tools
    return replace(
        settings,
        layers=asked.layers or settings.layers,
        width=asked.width or settings.width,
        strict=settings.strict if asked.strict is None else asked.strict,
        history=asked.history or settings.history,
        adaptive=settings.adaptive if asked.adaptive is None else asked.adaptive,
    )


#: Name -> how it is put together.
STRATEGIES: dict[str, Recipe] = {
    "codetree": _code(
        lambda task, s, model, test: codetree(task, model, test, preset=s.preset, seed=s.seed, without=s.without)
    ),
    "codetree-bfs": _code(lambda task, s, model, test: codetree_bfs(task, model, test, preset=s.preset, seed=s.seed)),
    "codetree-dfs": _code(lambda task, s, model, test: codetree_dfs(task, model, test, preset=s.preset, seed=s.seed)),
    "strategy-list": _code(lambda task, s, model, test: strategy_list(task, model, test, preset=s.preset, seed=s.seed)),
    "resample": _code(lambda task, s, model, test: resample(task, model, test, seed=s.seed)),
    "direct": _code(lambda task, s, model, test: direct(task, model, test, seed=s.seed)),
    "tree-of-code": _programs(_tree_of_code),
    "codeact": _turns(codeact, lambda ports, toolbox: code_turn(_run_program(ports, toolbox))),
    "react": _turns(react, lambda _, toolbox: call_turn(toolbox)),
    "code-program": _programs(lambda spec: replace(CODE_PROGRAM, strict=bool(spec.tools.strict))),
}


def shapes_of(spec: dict[str, Any]) -> Shapes:
    """The shapes of the nodes of a run, by its spec as plain data; plain ones for a strategy that is not known."""
    recipe = STRATEGIES.get(str(spec.get("strategy")))
    return recipe.shapes if recipe else PLAIN


def named(task: Literal["code", "tools"]) -> list[str]:
    """The strategies for a kind of task."""
    return [name for name, recipe in STRATEGIES.items() if recipe.task == task]


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))
