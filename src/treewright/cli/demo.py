"""`treewright demo`: one strategy on every task of a folder, a live tree for each, a table at the end."""

from __future__ import annotations

import asyncio
import json as json_
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from treewright.cli import INTERRUPTED
from treewright.cli.choices import DEFAULTS, Choices
from treewright.cli.solve import FLAG, JSON, as_json, run_under_interrupts, statuses

if TYPE_CHECKING:
    from treewright.core.task import CodeTask
    from treewright.spec import RunSpec, Solution


#: Longest the embedded model may take for a task: what it cannot do in this time it cannot do.
SECONDS = 45.0


def demo(
    folder: Path = Path("examples/tasks"),
    /,
    *,
    choices: Choices = DEFAULTS,
    budget: Annotated[list[str] | None, Parameter(negative="", allow_leading_hyphen=True)] = None,
    parallel: int = 2,
    journal: Path | None = None,
    json: JSON = False,
    quiet: Annotated[bool, FLAG] = False,
) -> int:
    """Solve every task of a folder, easiest first, and print a table.

    Parameters
    ----------
    folder
        Tasks in any form that `treewright solve` takes; each is one entry of the folder.
    budget
        For each task, as for solve. Default: 20 executions, and 45 seconds with the embedded model.
    parallel
        Most steps at work at once.
    journal
        File the runs are recorded in.
    json
        Print one JSON object a task instead of the table.
    quiet
        Show no progress.
    """
    from treewright.cli.options import read_budget
    from treewright.core.budget import Limits
    from treewright.core.errors import TreewrightError
    from treewright.spec import EXECUTIONS

    seconds = SECONDS if choices.model_name == "local" else None
    limits = read_budget(budget or (), default=Limits(executions=EXECUTIONS, seconds=seconds))
    specs = [choices.spec(task, limits=limits, parallel=parallel) for task in _tasks(folder)]
    solutions: list[Solution] = []
    try:
        _run_all(specs, journal, solutions, quiet=quiet)
    except TreewrightError:  # what was solved before the model went away is worth a table
        if solutions:
            _report(solutions, json=json)
        raise
    _report(solutions, json=json)
    return statuses(solutions) if len(solutions) == len(specs) else INTERRUPTED


def _tasks(folder: Path) -> list[CodeTask]:
    from treewright.cli.tasks import load_task
    from treewright.core.errors import UserError

    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}: name one with tasks in it")
    tasks = [load_task(str(path)) for path in sorted(folder.iterdir()) if path.is_dir() or path.suffix in (".toml", ".py")]
    if not tasks:
        raise UserError(f"there is no task in {folder}: see `treewright solve --help` for the forms")
    return tasks


def _run_all(specs: list[RunSpec], journal: Path | None, solutions: list[Solution], *, quiet: bool) -> None:
    """Add the solutions of the runs that end; fewer than specs when the user stops it."""
    from treewright.cli.live import progress_sink
    from treewright.cli.streams import screen
    from treewright.journal.places import default_path, open_journal
    from treewright.runs import start

    progress = screen(sys.stderr)
    drawn = progress.is_terminal and not quiet
    with closing(open_journal(journal or default_path())) as record, suppress(KeyboardInterrupt):
        for number, spec in enumerate(specs, 1):
            title = f"[{number}/{len(specs)}] {spec.task.name}"
            if not drawn and not quiet:
                progress.print(title, markup=False)
            run = start(spec, journal=record, sinks=[progress_sink(progress, shown=not drawn and not quiet)])
            solution = asyncio.run(run_under_interrupts(run, progress, drawn, title))
            if solution.ended == "interrupted":
                break
            solutions.append(solution)


def _report(solutions: list[Solution], *, json: bool) -> None:
    if json:
        for solution in solutions:
            print(json_.dumps(as_json(solution), ensure_ascii=False))
        return
    from rich.console import Console

    from treewright.cli.printing import written

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    with written(console):
        console.print(_table(solutions))


def _table(solutions: list[Solution]) -> Any:
    from rich.markup import escape
    from rich.table import Table

    solved = sum(s.solved for s in solutions)
    table = Table(title=f"{solved} of {len(solutions)} tasks solved", title_justify="left", header_style="bold")
    table.add_column("task")
    table.add_column("solved")
    for heading in ("executions", "calls", "tokens", "seconds"):
        table.add_column(heading, justify="right")
    for s in solutions:
        word = "[bold green]verified[/]" if s.verified else "[green]yes[/]" if s.solved else "[red]no[/]"
        used = s.usage
        table.add_row(
            escape(s.task), word, f"{used.executions:,}", f"{used.calls:,}", f"{used.tokens:,}", f"{used.seconds:.1f}"
        )
    return table
