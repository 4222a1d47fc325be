"""What a search looks like while it runs: a live tree on a terminal, plain lines elsewhere.

Both go to standard error, so standard output holds the answer alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from treewright.cli.printing import costs, in_reserve, node_line, visible
from treewright.cli.views import summary
from treewright.core.events import Event, ModelCalled, NodeEvaluated, NodeExpanded, Sink
from treewright.core.tree import Verdict

if TYPE_CHECKING:
    from treewright.core.tree import Node
    from treewright.runs import Run

#: Redraws a second; more only costs.
REDRAWS = 4


@asynccontextmanager
async def live_tree(run: Run, console: Console, title: str) -> AsyncIterator[None]:
    """Draw the run's tree while the block runs, and leave its last state on the terminal."""
    clock = asyncio.get_running_loop().time
    started, before = clock(), run.budget.spent.seconds

    def draw() -> Group:
        height, width = max(6, console.height - 4), console.width - 1
        # The search charges its seconds when it ends; until then they are counted here.
        spent = replace(run.budget.spent, seconds=before + clock() - started)
        head = Text.assemble((title, "bold"), f"  {run.spec.strategy} · {run.spec.model} · {costs(spent)}")
        head.truncate(width, overflow="ellipsis")
        nodes = window(run, height)
        hidden = len(run.tree.nodes) - len(nodes)
        more = [Text(f"   … and {hidden} more", "dim")] if hidden else []
        return Group(head, *(node_line(node, width) for node in nodes), *more)

    with Live(draw(), console=console, auto_refresh=False, transient=False) as live:

        async def redraw() -> None:
            while True:
                await asyncio.sleep(1 / REDRAWS)
                live.update(draw(), refresh=True)

        drawing = asyncio.create_task(redraw())
        try:
            yield
        finally:
            drawing.cancel()
            with suppress(asyncio.CancelledError):
                await drawing
            live.update(draw(), refresh=True)


def window(run: Run, most: int) -> list[Node[Any, Any]]:
    """At most `most` nodes worth showing, in path order: those at work, then the best, then the next; with their ancestors."""

    def worth(node: Node[Any, Any]) -> tuple[bool, bool, float]:
        return node.running, node.evaluation is not None, node.score

    nodes = [node for node in run.tree.nodes.values() if not in_reserve(node)]
    if len(nodes) > most:
        kept = {run.tree.root.id: run.tree.root}
        for node in sorted(nodes, key=worth, reverse=True):
            line = {n.id: n for n in (node, *node.ancestors())}
            if len(kept | line) > most:
                break
            kept |= line
        nodes = list(kept.values())
    return sorted(nodes, key=lambda node: node.path)


def progress_sink(console: Console, *, shown: bool) -> Sink:
    """A sink that prints a line for what happens, where nothing is drawn."""

    def sink(event: Event) -> None:
        line = plain_line(event) if shown else ""
        if line:
            console.print(visible(line), markup=False)

    return sink


def plain_line(event: Event) -> str:
    """One line for an event worth a line when nothing is drawn; "" for the others."""
    match event:
        case NodeExpanded():
            return f"node {event.node}: {len(event.proposals)} to try"
        case NodeEvaluated():
            judged, (shown, telling) = event.evaluation, summary(event.outcome)
            words = {Verdict.ACCEPT: "accepted", Verdict.PRUNE: "given up", Verdict.KEEP: "kept", Verdict.EXPAND: "to refine"}
            said = f", {telling}" if telling else ""
            unsure = "" if judged.opinion else ", no opinion"
            score = f"score {judged.score:.2f}{unsure}"
            return f"node {event.node}: {shown}, {score}, {words[judged.verdict]}{said}"
        case ModelCalled() if event.error:
            return f"node {event.node}: {event.role} failed: {event.error}"
        case _:
            return ""
