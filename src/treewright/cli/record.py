"""`treewright runs` and `treewright show`: what is in the journal."""

from __future__ import annotations

import json as json_
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from treewright.cli.solve import JSON

if TYPE_CHECKING:
    from rich.console import Console

    from treewright.core.events import ModelCalled
    from treewright.core.tree import Node
    from treewright.journal.base import RunLine
    from treewright.journal.replay import Past


def runs(*, journal: Path | None = None, json: JSON = False, most: int = 50) -> int:
    """List the runs in the journal, newest first.

    Parameters
    ----------
    journal
        The file. Default: TREEWRIGHT_JOURNAL, else the user's own.
    json
        Print one JSON object a run.
    most
        Show no more than this many.
    """
    from treewright.journal.places import default_path, open_journal

    path = journal or default_path()
    if journal is None and not path.exists():
        lines: list[RunLine] = []
    else:
        record = open_journal(path, must_exist=True)
        try:
            lines = record.runs()[: max(0, most)]
        finally:
            record.close()
    if json:
        for line in lines:
            print(json_.dumps(_as_json(line), ensure_ascii=False))
        return 0
    if lines:
        _print_table(lines)
    else:
        print("no runs yet")
    return 0


def _print_table(lines: list[RunLine]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from treewright.cli.printing import written

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("run", "status", "task", "strategy", "model"):
        table.add_column(heading, overflow="ellipsis", no_wrap=heading in ("run", "status"))
    for heading in ("executions", "calls", "tokens", "cost"):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        spec = line.spec
        words = (spec.get("task", {}).get("name", ""), spec.get("strategy", ""), spec.get("model", ""))
        numbers = (f"{amount:,}" for amount in (line.executions, line.calls, line.tokens))
        table.add_row(line.run, _status(line), *(escape(str(word)) for word in words), *numbers, f"${line.dollars:.4f}")
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    with written(console):
        console.print(table)


def _status(line: RunLine) -> str:
    """In one word; a run whose process was killed is stopped like one that was interrupted."""
    if line.ended is None or not line.ended.finished:
        return "running" if line.running else "stopped"
    return "verified" if line.ended.verified else "unverified" if line.ended.answer else "no answer"


def _as_json(line: RunLine) -> dict[str, Any]:
    spec, ended = line.spec, line.ended
    return {
        "run_id": line.run,
        "status": _status(line),
        "task": spec.get("task", {}).get("name", ""),
        "strategy": spec.get("strategy", ""),
        "model": spec.get("model", ""),
        "solved": bool(ended and ended.solved),
        "verified": bool(ended and ended.verified),
        "reason": ended.reason if ended else "",
        "executions": line.executions,
        "calls": line.calls,
        "tokens": line.tokens,
        "cost": round(line.dollars, 6),
        "started": _time(line.started),
        "updated": _time(line.updated),
    }


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def show(
    run: str,
    node: str | None = None,
    /,
    *,
    journal: Path | None = None,
    prompts: Annotated[bool, Parameter(negative="")] = False,
    json: JSON = False,
) -> int:
    """Show a run's tree, or one node: its program, tests, feedback and, if asked for, its prompts.

    Parameters
    ----------
    run
        Its id, the beginning of it, or last.
    node
        Id of a node, such as 0.2.1.
    journal
        The file. Default: TREEWRIGHT_JOURNAL, else the user's own.
    prompts
        With a node: all that was asked for it and answered.
    json
        Print JSON: every node, or the one.
    """
    from rich.console import Console

    from treewright.cli.options import find_run
    from treewright.cli.printing import written
    from treewright.core.errors import UserError
    from treewright.journal.places import default_path, open_journal
    from treewright.runs import past_of

    record = open_journal(journal or default_path(), must_exist=True)
    try:
        run_id = find_run(record, run)
        past = past_of(record, run_id)
    finally:
        record.close()
    if node is not None and node not in past.tree.nodes:
        raise UserError(f"run {run_id} has no node {node!r}: `treewright show {run_id}` draws its tree")
    chosen = [past.tree.nodes[node]] if node is not None else list(past.tree.nodes.values())
    if json:
        nodes = [_node_json(n, past.calls if prompts else []) for n in chosen]
        print(json_.dumps(nodes[0] if node is not None else {"run_id": run_id, "nodes": nodes}, ensure_ascii=False))
        return 0
    console = Console(highlight=False, soft_wrap=True)
    with written(console):
        if node is None:
            _show_tree(console, run_id, past)
        else:
            _show_node(console, chosen[0], past.calls, prompts=prompts)
    return 0


def _show_tree(console: Console, run_id: str, past: Past[Any, Any]) -> None:
    from treewright.cli.printing import costs, in_reserve, node_line
    from treewright.spec import REASONS, spec_from_plain

    spec = spec_from_plain(past.spec)
    console.print(
        f"{run_id}  {spec.task.name or 'task'}  {spec.strategy} ({spec.preset})  {spec.model}", style="bold", markup=False
    )
    width = console.width if console.is_terminal else 200
    shown = [node for node in past.tree.nodes.values() if not in_reserve(node)]
    for node in sorted(shown, key=lambda n: n.path):
        console.print(node_line(node, width))
    if len(shown) < len(past.tree.nodes):
        console.print(f"   … and {len(past.tree.nodes) - len(shown)} plain samples in reserve", style="dim")
    if past.end is None:
        console.print(f"not ended; to go on: treewright resume {run_id}", markup=False)
        return
    reason = REASONS.get(past.end.reason, past.end.reason)
    console.print(f"{reason}; {past.end.evidence} ({costs(past.end.spent)})", markup=False)


def _show_node(console: Console, node: Node[Any, Any], calls: list[ModelCalled], *, prompts: bool) -> None:
    from rich.syntax import Syntax

    from treewright.cli.printing import node_line, visible
    from treewright.cli.views import sections

    # A terminal would obey what a model wrote; a file gets it as it is.
    plain = visible if console.is_terminal else str
    console.print(node_line(node, 10_000))
    for section in sections(node.outcome):
        console.rule(section.heading, align="left")
        if section.language and console.is_terminal:
            console.print(Syntax(plain(section.text), section.language, background_color="default"))
        else:
            console.print(plain(section.text), markup=False)
    if node.evaluation is not None and node.evaluation.feedback:
        console.rule("feedback", align="left")
        console.print(plain(node.evaluation.feedback), markup=False)
    for call in calls if prompts else []:
        if call.node == node.id:
            console.rule(f"{call.role}, ask {call.attempt + 1}", align="left")
            for speaker, text in call.messages:
                console.print(f"[{speaker}]", style="bold", markup=False)
                console.print(plain(text), markup=False)
            console.print("[reply]", style="bold", markup=False)
            console.print(plain(call.reply if call.reply is not None else f"failed: {call.error}"), markup=False)


def _node_json(node: Node[Any, Any], calls: list[ModelCalled]) -> dict[str, Any]:
    from pydantic_core import to_jsonable_python

    from treewright.cli.views import fields

    asked = [c for c in calls if c.node == node.id]
    return {
        "node": node.id,
        "status": node.status.value,
        "prior": node.proposal.prior if node.proposal else None,
        **fields(node),
        "evaluation": to_jsonable_python(node.evaluation) if node.evaluation else None,
        "visits": node.visits,
        "value": node.value,
        "children": [child.id for child in node.children],
        **({"calls": to_jsonable_python(asked)} if asked else {}),
    }
