"""How nodes, runs and costs look in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.text import Text

from treewright.cli.views import good, result, title
from treewright.core.budget import Spend
from treewright.core.tree import Status

if TYPE_CHECKING:
    from rich.console import Console

    from treewright.core.tree import Node

MARKS = {
    Status.PENDING: ("○", "dim"),
    Status.OPEN: ("◐", "cyan"),
    Status.EXPANDED: ("●", "cyan"),
    Status.CLOSED: ("●", "yellow"),
    Status.PRUNED: ("✕", "dim red"),
}


def node_line(node: Node[Any, Any], width: int = 100) -> Text:
    """One node on one line: mark, id, tests, score, idea."""
    mark, style = MARKS[node.status]
    if node.running:
        mark, style = "▶", "bold blue"
    elif node.evaluation is not None and node.evaluation.verdict.value == "accept":
        mark, style = "✔", "bold green"
    elif good(node.outcome):
        style = "green"
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{'   ' * node.depth}{mark} ", style)
    line.append(node.id, "bold" if node.running else "")
    if node.outcome is not None:
        word, colour = result(node.outcome)
        line.append(f"  {visible(word)}", colour)
    if node.evaluation is not None:
        opinion = "" if node.evaluation.opinion else " (no opinion)"
        line.append(f"  {node.evaluation.score:.2f}{opinion}", "dim")
    idea = visible(title(node)).replace("\n", " ") or "(no strategy)"
    line.append(f"  {idea}", "dim" if node.status is Status.PENDING else "")
    line.truncate(max(20, width), overflow="ellipsis")
    return line


#: Control characters -> the pictures that Unicode has of them, or a replacement.
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
_PICTURES |= {127: "\u2421"} | dict.fromkeys(range(128, 160), "\ufffd")


def visible(text: str) -> str:
    """The text with pictures for control characters, so that nothing a model wrote can steer a terminal."""
    return text.translate(_PICTURES)


@contextmanager
def written(console: Console) -> Iterator[None]:
    """Write what the block prints to standard output at its end. A failure to do so is an error like any other.

    By itself, rich ends the process with a status of its own where the reader of the output has gone.
    """
    with console.capture() as printed:
        yield
    sys.stdout.write(printed.get())


def in_reserve(node: Node[Any, Any]) -> bool:
    """Whether the node is one of many alike that were not tried yet, not worth a line of its own."""
    return node.status is Status.PENDING and not node.running and node.index > 0 and not title(node)


def costs(spent: Spend) -> str:
    """What was spent, in words: "3 executions, 7 calls, 1,204 tokens, $0.0012, 12.3 s"."""
    parts = [
        f"{spent.executions:,} execution{'s' * (spent.executions != 1)}",
        f"{spent.calls:,} call{'s' * (spent.calls != 1)}",
        f"{spent.tokens:,} tokens",
    ]
    if spent.dollars:
        parts.append(f"${spent.dollars:.4f}")
    parts.append(f"{spent.seconds:.1f} s")
    return ", ".join(parts)


def usage(spent: Spend) -> dict[str, Any]:
    """What was spent, for JSON."""
    return {
        "executions": spent.executions,
        "calls": spent.calls,
        "tool_calls": spent.tool_calls,
        "tokens": spent.tokens,
        "dollars": round(spent.dollars, 6),
        "seconds": round(spent.seconds, 3),
    }
