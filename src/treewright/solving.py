"""`solve`: a program for a task, in one call. The command line does the same with more to look at."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from treewright.core.budget import Limits
from treewright.core.events import Sink
from treewright.core.task import CodeTask
from treewright.journal.base import Journal
from treewright.journal.places import default_path, open_journal
from treewright.runs import start
from treewright.spec import EXECUTIONS, RunSpec, Solution
from treewright.strategies.codetree_presets import Preset

#: The model that is used when none is named: the environment's, else the embedded one.
MODEL_VARIABLE = "TREEWRIGHT_MODEL"


def default_model() -> str:
    """The model named in the environment variable TREEWRIGHT_MODEL, else "local", the embedded one."""
    return os.environ.get(MODEL_VARIABLE, "").strip() or "local"


def default_preset(model: str) -> Preset:
    """The preset for a model when none is named: "small" for the embedded one, which cannot judge, else "recommended"."""
    return "small" if model.strip() == "local" else "recommended"


async def solve_async(
    task: CodeTask,
    *,
    model: str | None = None,
    strategy: str = "codetree",
    preset: Preset | None = None,
    without: Sequence[str] = (),
    budget: int | Limits = EXECUTIONS,
    parallel: int = 1,
    seed: int = 0,
    sandbox: str = "auto",
    sandbox_python: str | Path | None = None,
    warm: Sequence[str] = (),
    base_url: str | None = None,
    journal: str | Path | Journal | None = None,
    sinks: Iterable[Sink] = (),
) -> Solution:
    """Search for a program that passes the visible tests of `task`.

    Args:
        task: what to solve.
        model: its name; None for the environment's (TREEWRIGHT_MODEL), else the embedded one.
        strategy: "codetree", "codetree-bfs", "codetree-dfs", "strategy-list", "resample" or "direct".
        preset: "recommended", "paper", "official" or "small"; None for "recommended", or "small" with the embedded model.
        without: parts of CodeTree to leave out: "verification", "abort", "scoring".
        budget: most programs to write and run, or limits in every dimension.
        parallel: most steps at work at once, >= 1.
        seed: of all randomness of the search.
        sandbox: isolation of the programs: "auto" for the strongest there is; see `treewright sandbox`.
        sandbox_python: a virtual environment whose packages the programs may use.
        warm: packages that are imported once for all programs, by name.
        base_url: address of an OpenAI-compatible server, for models "openai:NAME".
        journal: file the run is recorded in, or an open journal; None for the user's own.
        sinks: called with every event.

    Returns:
        The solution; `verified` tells whether the search accepted it.

    Raises:
        UserError: the task or a setting asks for something impossible.
        ModelUnavailable: the model cannot answer; the run can be resumed.
        SandboxUnavailable: programs cannot be run in the way asked for.
        JournalError: the run cannot be recorded.
    """
    name = model or default_model()
    spec = RunSpec(
        task=task,
        model=name,
        strategy=strategy,
        preset=preset or default_preset(name),
        without=tuple(without),
        limits=Limits(executions=budget) if isinstance(budget, int) else budget,
        parallel=parallel,
        seed=seed,
        sandbox=sandbox,
        sandbox_python=str(sandbox_python) if sandbox_python is not None else None,
        warm=tuple(warm),
        base_url=base_url,
    )
    if journal is not None and not isinstance(journal, str | Path):
        return await start(spec, journal=journal, sinks=sinks).go()
    record = open_journal(Path(journal) if journal is not None else default_path())
    try:
        return await start(spec, journal=record, sinks=sinks).go()
    finally:
        record.close()


def solve(
    task: CodeTask,
    *,
    model: str | None = None,
    strategy: str = "codetree",
    preset: Preset | None = None,
    without: Sequence[str] = (),
    budget: int | Limits = EXECUTIONS,
    parallel: int = 1,
    seed: int = 0,
    sandbox: str = "auto",
    sandbox_python: str | Path | None = None,
    warm: Sequence[str] = (),
    base_url: str | None = None,
    journal: str | Path | Journal | None = None,
    sinks: Iterable[Sink] = (),
) -> Solution:
    """`solve_async` for programs that are not asynchronous; same arguments, result and errors.

    Raises:
        RuntimeError: called inside a running event loop: await `solve_async` there.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(
            solve_async(
                task,
                model=model,
                strategy=strategy,
                preset=preset,
                without=without,
                budget=budget,
                parallel=parallel,
                seed=seed,
                sandbox=sandbox,
                sandbox_python=sandbox_python,
                warm=warm,
                base_url=base_url,
                journal=journal,
                sinks=sinks,
            )
        )
    raise RuntimeError("solve() cannot wait inside a running event loop: await solve_async() there")
