"""`answer`: a question answered with tools, in one call. The command line does the same with more to look at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from treewright.core.budget import Limits, Spend
from treewright.core.events import Sink
from treewright.core.task import ToolTask
from treewright.core.tree import Tree
from treewright.journal.base import Journal
from treewright.journal.places import default_path, open_journal
from treewright.models.base import Model
from treewright.opening import GIVEN, Given
from treewright.runs import start
from treewright.sandbox.base import Sandbox
from treewright.solving import default_model
from treewright.spec import RunSpec, Solution, ToolChoices
from treewright.strategies.tree_of_code_settings import ToolPreset
from treewright.tools.base import Toolbox
from treewright.tools.committing import Allow
from treewright.tools.loading import load_tools

#: Programs of a whole 3-3 tree: 3 + 9 + 27.
EXECUTIONS = 39
AS_PRESET = ToolChoices()


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """How a question was answered.

    Args:
        run_id: its id in the journal.
        text: the answer; "" when there is none.
        verified: programs that ran to their end say so. A fall-back is never verified.
        reason: why the search ended and what speaks for the answer, in a sentence.
        ended: the same as one word: "exhausted", "interrupted", or the limit that was reached.
        usage: what the run spent, in all its sittings.
        layers: the deepest layer with a program that was run: the paper's turns.
        programs: programs written and run.
        output_words: words that the model wrote in them and around them.
        tree: all nodes.
    """

    run_id: str
    text: str
    verified: bool
    reason: str
    ended: str
    usage: Spend
    layers: int
    programs: int
    output_words: int
    tree: Tree[Any, Any]


async def answer_async(
    task: ToolTask,
    *,
    model: str | Model | None = None,
    toolbox: Toolbox | None = None,
    strategy: str = "tree-of-code",
    preset: ToolPreset = "recommended",
    choices: ToolChoices = AS_PRESET,
    budget: int | Limits = EXECUTIONS,
    parallel: int = 3,
    seed: int = 0,
    sandbox: Sandbox | str = "auto",
    base_url: str | None = None,
    journal: str | Path | Journal | None = None,
    sinks: Iterable[Sink] = (),
    allow: Allow | None = None,
) -> ToolAnswer:
    """Answer `task.query` with programs that call its tools.

    Args:
        task: the question and its tools.
        model: its name, or an open model; None for the environment's (TREEWRIGHT_MODEL), else the embedded one.
        toolbox: tools in place of the task's own; not yet open.
        strategy: "tree-of-code", "code-program", "codeact" or "react".
        preset: "recommended" or "paper".
        choices: what differs from the preset.
        budget: most programs to write and run, or limits in every dimension.
        parallel: most steps at work at once, >= 1.
        seed: of all randomness of the search.
        sandbox: isolation of the programs: a level, or an open sandbox.
        base_url: address of an OpenAI-compatible server, for models "openai:NAME".
        journal: file the run is recorded in, or an open journal; None for the user's own.
        sinks: called with every event.
        allow: asks whether a call may be made that is not taken back, once the answer is chosen; None refuses them all, unless
            `choices.commits` says otherwise.

    Raises:
        UserError: the task, its tools or a setting ask for something impossible.
        ModelUnavailable: the model cannot answer; the run can be resumed.
        SandboxUnavailable: programs cannot be run in the way asked for.
        JournalError: the run cannot be recorded.
    """
    name = model if isinstance(model, str) else model.name if model is not None else default_model()
    given = Given(
        models=() if model is None or isinstance(model, str) else (model,),
        sandbox=None if isinstance(sandbox, str) else sandbox,
        toolbox=toolbox if toolbox is not None else own_tools(task),
        allow=allow,
    )
    spec = RunSpec(
        task=plain_task(task if toolbox is None else replace(task, tools=(toolbox,))),
        model=name,
        strategy=strategy,
        preset=preset,
        tools=choices,
        limits=Limits(executions=budget) if isinstance(budget, int) else budget,
        parallel=parallel,
        seed=seed,
        sandbox=sandbox if isinstance(sandbox, str) else sandbox.level,
        base_url=base_url,
    )
    own = journal is None or isinstance(journal, str | Path)
    record = open_journal(Path(journal) if isinstance(journal, str | Path) else default_path()) if own else journal
    assert record is not None
    assert not isinstance(record, str | Path)
    try:
        return as_answer(await start(spec, journal=record, sinks=sinks, given=given).go())
    finally:
        if own:
            record.close()


def answer(task: ToolTask, **settings: Any) -> ToolAnswer:
    """`answer_async` for programs that are not asynchronous; same arguments, result and errors.

    Raises:
        RuntimeError: called inside a running event loop: await `answer_async` there.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(answer_async(task, **settings))
    raise RuntimeError("answer() cannot wait inside a running event loop: await answer_async() there")


def own_tools(task: ToolTask) -> Toolbox | None:
    """The tools of a task as they were given, where a text cannot say them; None where all are named by texts."""
    return None if all(isinstance(tool, str | Path) for tool in task.tools) else load_tools(task.tools)


def plain_task(task: ToolTask) -> ToolTask:
    """The task for the record: what is no text among its tools stands there by name only."""
    names = tuple(str(tool) if isinstance(tool, str | Path) else f"{GIVEN}{_name(tool)}" for tool in task.tools)
    return replace(task, tools=names)


def as_answer(solution: Solution) -> ToolAnswer:
    """A run's end, seen as an answer."""
    nodes = [node for node in solution.tree.nodes.values() if node.outcome is not None]
    words = sum(len(text.split()) for node in nodes for text in written(node.outcome))
    return ToolAnswer(
        solution.run_id, solution.answer, solution.verified, solution.reason, solution.ended, solution.usage,
        max((node.depth for node in nodes), default=0), len(nodes), words, solution.tree,
    )  # fmt: skip


def written(outcome: object) -> tuple[str, ...]:
    """The texts that a model wrote for a node."""
    return tuple(str(getattr(outcome, field, "")) for field in ("thought", "program"))


def _name(tool: object) -> str:
    return str(getattr(tool, "__name__", type(tool).__name__))
