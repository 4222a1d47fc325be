"""`treewright solve` and `treewright resume`."""

from __future__ import annotations

import asyncio
import json as json_
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from treewright.cli import INTERRUPTED, UNVERIFIED, VERIFIED
from treewright.cli.choices import DEFAULTS, Choices

if TYPE_CHECKING:
    from rich.console import Console

    from treewright.core.budget import Limits
    from treewright.core.events import Sink
    from treewright.journal.base import Journal
    from treewright.runs import Run
    from treewright.spec import Solution

JSON = Annotated[bool, Parameter(name="--json", negative="")]
FLAG = Parameter(negative="")


@dataclass(frozen=True, slots=True)
class Manner:
    """How a run is shown and what becomes of its answer."""

    json: bool
    quiet: bool
    out: Path | None


def solve(
    task: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    choices: Choices = DEFAULTS,
    budget: Annotated[list[str] | None, Parameter(negative="", allow_leading_hyphen=True)] = None,
    parallel: int = 1,
    journal: Path | None = None,
    json: JSON = False,
    quiet: Annotated[bool, FLAG] = False,
    out: Path | None = None,
) -> int:
    """Search for a program that passes a task's tests.

    Parameters
    ----------
    task
        A TOML file (prompt, entry_point, tests or [[examples]]), a Python file with a stub and its asserts, a folder with
        problem.md and *.in/*.out, or - for standard input.
    budget
        The most it may spend: a number of executions, and tokens=…, usd=…, seconds=…, calls=…, with commas or repeated.
        Default: 20 executions.
    parallel
        Most steps at work at once.
    journal
        File the run is recorded in. Default: TREEWRIGHT_JOURNAL, else the user's own.
    json
        Print one JSON object instead of the answer.
    quiet
        Show no progress.
    out
        Write the answer to this file.
    """
    from treewright.cli.options import read_budget
    from treewright.cli.tasks import load_task
    from treewright.core.budget import Limits
    from treewright.runs import start
    from treewright.spec import EXECUTIONS

    limits = read_budget(budget or (), default=Limits(executions=EXECUTIONS))
    spec = choices.spec(load_task(task, stdin=sys.stdin), limits=limits, parallel=parallel)
    refuse_unwritable(out)
    return carry_out(lambda record, sink: start(spec, journal=record, sinks=[sink]), journal, Manner(json, quiet, out))


def refuse_unwritable(out: Path | None) -> None:
    """Refuse, before anything is paid for, a file that an answer cannot be written to.

    Raises:
        UserError: it is a folder, or in none that is there.
    """
    from treewright.core.errors import UserError

    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise UserError(f"the answer cannot be written to {out}: name a file in a folder that is there")


def resume(
    run: str,
    /,
    *,
    budget: Annotated[list[str] | None, Parameter(negative="", allow_leading_hyphen=True)] = None,
    journal: Path | None = None,
    json: JSON = False,
    quiet: Annotated[bool, FLAG] = False,
    out: Path | None = None,
) -> int:
    """Go on with a run that was stopped. What it paid for is on record and is not paid again.

    Parameters
    ----------
    run
        Its id, the beginning of it, or last.
    budget
        New limits for the whole run, what was spent before included; those not named stay.
    journal
        File the run is recorded in.
    json
        Print one JSON object instead of the answer.
    quiet
        Show no progress.
    out
        Write the answer to this file.
    """
    from treewright.cli.consent import ask_user
    from treewright.cli.options import find_run, read_budget
    from treewright.opening import Given
    from treewright.runs import resume as take_up

    def prepare(record: Journal, sink: Sink) -> Run:
        def limits(own: Limits) -> Limits:
            return read_budget(budget or (), default=own)

        return take_up(find_run(record, run), journal=record, limits=limits, sinks=[sink], given=Given(allow=ask_user()))

    return carry_out(prepare, journal, Manner(json, quiet, out), must_exist=True)


def carry_out(prepare: Callable[[Journal, Sink], Run], path: Path | None, manner: Manner, *, must_exist: bool = False) -> int:
    """Run to the end with something to look at, print what came out, and say with which status to exit."""
    from treewright.cli.live import progress_sink
    from treewright.cli.streams import screen
    from treewright.core.errors import TreewrightError
    from treewright.journal.places import default_path, open_journal

    progress = screen(sys.stderr)
    drawn = progress.is_terminal and not manner.quiet
    sink = progress_sink(progress, shown=not drawn and not manner.quiet)
    with closing(open_journal(path or default_path(), must_exist=must_exist)) as record:
        run = prepare(record, sink)
        try:
            solution = asyncio.run(run_under_interrupts(run, progress, drawn, run.spec.task.name or "task"))
        except (KeyboardInterrupt, TreewrightError):
            _say_resume(progress, run, path)
            raise
    return _finish(solution, run, progress, manner, path)


async def run_under_interrupts(run: Run, progress: Console, drawn: bool, title: str) -> Solution:
    """The run under Ctrl-C: the first lets the calls under way end, the second stops at once."""
    from contextlib import nullcontext

    from treewright.cli.live import live_tree

    going = asyncio.current_task()
    loop = asyncio.get_running_loop()
    pressed = 0

    def interrupt() -> None:
        nonlocal pressed
        pressed += 1
        if pressed == 1:
            progress.print("stopping after the calls under way; press Ctrl-C again to stop at once", style="yellow")
            run.stop()
        elif going is not None:
            going.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt)
    try:
        async with live_tree(run, progress, title) if drawn else nullcontext():
            return await run.go()
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _finish(solution: Solution, run: Run, progress: Console, manner: Manner, path: Path | None) -> int:
    from treewright.cli.printing import costs

    again = f"treewright resume {solution.run_id}{_where(path)} --out FILE"
    if manner.out is not None and solution.answer:
        with _or_told(str(manner.out), again):
            manner.out.write_text(solution.answer, encoding="utf-8")
    with _or_told("standard output", again):
        if manner.json:
            print(json_.dumps(as_json(solution), ensure_ascii=False))
        elif manner.out is None and solution.answer:
            print(solution.answer, end="" if solution.answer.endswith("\n") else "\n")
        sys.stdout.flush()
    if not manner.quiet and not manner.json:
        word = "verified" if solution.verified else "unverified" if solution.answer else "no answer"
        style = "bold green" if solution.verified else "bold yellow"
        progress.print(word, style=style, end=": ")
        progress.print(f"{solution.reason} ({costs(solution.usage)})", markup=False)
        progress.print(f"treewright show {solution.run_id}{_where(path)}", style="dim", markup=False)
    if solution.ended == "interrupted":
        _say_resume(progress, run, path)
        return INTERRUPTED
    return VERIFIED if solution.verified else UNVERIFIED


@contextmanager
def _or_told(where: str, again: str) -> Iterator[None]:
    """Write an answer, or say how to get it: it was paid for."""
    from treewright.cli.streams import silence
    from treewright.core.errors import UserError

    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        silence(sys.stdout)
        raise UserError(f"the answer cannot be written to {where} ({error.strerror}), but is on record: {again}") from error


def as_json(solution: Solution) -> dict[str, Any]:
    """The solution as `--json` prints it."""
    from treewright.cli.printing import usage

    return {
        "task": solution.task,
        "strategy": solution.strategy,
        "model": solution.model,
        "solved": solution.solved,
        "verified": solution.verified,
        "answer": solution.answer,
        "reason": solution.reason,
        "ended": solution.ended,
        "usage": usage(solution.usage),
        "run_id": solution.run_id,
    }


def _say_resume(progress: Console, run: Run, path: Path | None) -> None:
    if run.recorded:
        progress.print(f"to go on: treewright resume {run.id}{_where(path)}", markup=False)


def _where(path: Path | None) -> str:
    return f" --journal {shlex.quote(str(path))}" if path is not None else ""


def statuses(solutions: Sequence[Solution]) -> int:
    """The exit status of several runs: verified only if all are."""
    return VERIFIED if all(s.verified for s in solutions) else UNVERIFIED
