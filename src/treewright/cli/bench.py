"""`treewright bench`: a strategy on a published benchmark, one graded answer for each task."""

from __future__ import annotations

import asyncio
import json as json_
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from treewright.cli import INTERRUPTED, VERIFIED
from treewright.cli.solve import FLAG, JSON

if TYPE_CHECKING:
    from rich.console import Console

    from treewright.bench.items import Item
    from treewright.bench.m3tooleval import M3ToolEval
    from treewright.bench.rows import Record, Row
    from treewright.core.budget import Limits
    from treewright.journal.base import Journal
    from treewright.models.factory import Adapter
    from treewright.strategies.tree_of_code_settings import ToolPreset

#: The scripted model that knows the recorded calls of M3ToolEval.
REFERENCE = "reference"
Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class _Order:
    """What is to be measured."""

    items: Sequence[Item]
    adapter: Adapter
    strategy: str
    preset: ToolPreset
    limits: Limits
    parallel: int
    seeds: Sequence[int]
    sandbox: str


def bench(
    benchmark: Literal["m3tooleval", "apibank"],
    /,
    *,
    data: Path,
    strategy: str = "tree-of-code",
    model: str | None = None,
    preset: Literal["recommended", "paper"] = "recommended",
    limit: int | None = None,
    seed: Annotated[list[int] | None, Parameter(negative="")] = None,
    parallel: int = 3,
    budget: Annotated[list[str] | None, Parameter(negative="", allow_leading_hyphen=True)] = None,
    sandbox: str = "auto",
    journal: Path | None = None,
    out: Path | None = None,
    json: JSON = False,
    markdown: Annotated[bool, FLAG] = False,
    quiet: Annotated[bool, FLAG] = False,
) -> int:
    """Answer the tasks of a benchmark, grade each answer once, and print the figures.

    Parameters
    ----------
    benchmark
        m3tooleval, or apibank for its level 3.
    data
        The folder that holds it: DIR/m3tooleval/m3tooleval_82.json and web_pages.jsonl, DIR/apibank/level-3.json.gz.
    strategy
        tree-of-code, code-program (one program), codeact or react.
    model
        As for solve; reference recites the recorded calls of M3ToolEval's graded tasks, to prove the way. Default:
        TREEWRIGHT_MODEL, else local.
    preset
        recommended or paper.
    limit
        Take the first so many tasks only.
    seed
        Of all randomness; may be repeated, and every task is then answered with each.
    parallel
        Most steps of a task at work at once.
    budget
        For each task, as for solve. Default: 39 executions.
    sandbox
        Isolation of the programs; see `treewright sandbox`.
    journal
        File the runs are recorded in.
    out
        Keep a line for each task in this file; what is in it already is not done again.
    json
        Print one JSON object instead of the table.
    markdown
        Print the table in Markdown.
    quiet
        Show no progress.
    """
    from treewright.answering import EXECUTIONS
    from treewright.bench.report import figures, plain, text
    from treewright.bench.report import markdown as as_markdown
    from treewright.bench.rows import Record
    from treewright.cli.options import read_budget
    from treewright.cli.streams import screen
    from treewright.core.budget import Limits
    from treewright.core.errors import TreewrightError

    items, adapter = _chosen(benchmark, data, model, limit)
    limits = read_budget(budget or (), default=Limits(executions=EXECUTIONS))
    order = _Order(items, adapter, strategy, preset, limits, parallel, tuple(dict.fromkeys(seed or [0])), sandbox)
    named = {name: most for name, most in asdict(limits).items() if most is not None}
    settings = {"benchmark": benchmark, "strategy": strategy, "model": adapter.name, "preset": preset, "budget": named}

    def report(rows: Sequence[Row]) -> None:
        found = figures(rows)
        if json:
            print(json_.dumps(plain(settings, found, rows), ensure_ascii=False))
        elif found:
            print(as_markdown(found) if markdown else text(found))

    with Record(out, settings) as record:
        try:
            rows = _measured(order, record, journal, quiet=quiet)
        except KeyboardInterrupt:
            report(record.rows)
            if out is not None:
                screen(sys.stderr).print(f"to go on: the same command again, with --out {out}", markup=False)
            return INTERRUPTED
        except TreewrightError:  # what was done before the model went away is worth a table
            report(record.rows)
            raise
    report(rows)
    return VERIFIED


def _chosen(benchmark: str, data: Path, model: str | None, limit: int | None) -> tuple[Sequence[Item], Adapter]:
    """The tasks, and the model that is to answer them."""
    from treewright.bench.apibank import load_apibank
    from treewright.bench.m3tooleval import load_m3tooleval
    from treewright.core.errors import UserError
    from treewright.models.factory import build
    from treewright.solving import default_model

    if limit is not None and limit < 1:
        raise UserError(f"a limit of {limit} leaves no task: give a number above 0")
    name = model or default_model()
    if name == REFERENCE and benchmark != "m3tooleval":
        raise UserError("the model reference knows m3tooleval only: choose another model")
    if benchmark == "apibank":
        return load_apibank(data)[:limit], build(name)
    loaded = load_m3tooleval(data)
    if name == REFERENCE:
        return _reference(loaded, limit)
    return loaded.items[:limit], build(name)


def _reference(loaded: M3ToolEval, limit: int | None) -> tuple[Sequence[Item], Adapter]:
    from treewright.bench.reference import Reference

    return [item for item in loaded.items if item.name in loaded.gold][:limit], Reference(loaded)


def _measured(order: _Order, record: Record, path: Path | None, *, quiet: bool) -> list[Row]:
    from treewright.cli.streams import screen
    from treewright.journal.places import default_path, open_journal

    with closing(open_journal(path or default_path())) as journal, _progress(screen(sys.stderr), quiet) as told:
        return asyncio.run(_run(order, record, journal, told))


async def _run(order: _Order, record: Record, journal: Journal, told: Told) -> list[Row]:
    from treewright.assembly import cores
    from treewright.bench.method import Method
    from treewright.bench.runner import run_bench
    from treewright.sandbox.select import Home, select

    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(order.adapter)
        sandbox = await select(order.sandbox, slots=min(order.parallel, cores()))
        if isinstance(sandbox, Home):
            stack.callback(sandbox.close)
        method = Method(
            model=model,
            sandbox=sandbox,
            journal=journal,
            strategy=order.strategy,
            preset=order.preset,
            limits=order.limits,
            parallel=order.parallel,
        )
        return await run_bench(order.items, method, record, seeds=order.seeds, progress=told)


@contextmanager
def _progress(console: Console, quiet: bool) -> Iterator[Told]:
    """A bar on a terminal, else a line for each task."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    if quiet or not console.is_terminal:

        def line(name: str, done: int, total: int) -> None:
            if name and not quiet:
                console.print(f"[{done + 1}/{total}] {name}", markup=False)

        yield line
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda name, done, total: bar.update(task, description=name, completed=done, total=total)
