"""`treewright tools`: the tools of sources, as a model sees them."""

from __future__ import annotations

import asyncio
import json as json_
import sys
from textwrap import indent
from typing import TYPE_CHECKING, Any

from treewright.cli import VERIFIED
from treewright.cli.solve import JSON

if TYPE_CHECKING:
    from treewright.tools.base import Card
    from treewright.tools.combined import Lost


def tools(*sources: str, json: JSON = False) -> int:
    """List the tools of sources as a model sees them, with what calling each of them does to the world.

    Parameters
    ----------
    sources
        A Python file (tools.py, or tools.py:NAME,NAME), a .json file with mcpServers, mcp:COMMAND or mcp+URL for one MCP
        server, an OpenAPI 3 document (.json, .yaml, or openapi:FILE-OR-URL).
    json
        Print one JSON object: the cards, and the sources that cannot be used.
    """
    from treewright.cli.streams import Screen
    from treewright.core.errors import UserError

    if not sources:
        raise UserError("name a source of tools, as in: treewright tools tools.py")
    cards, left_out, lost = asyncio.run(_read(sources))
    if json:
        print(json_.dumps(_as_json(cards, left_out, lost), ensure_ascii=False))
    else:
        _print_cards(cards)
    trouble = Screen(sys.stderr)
    for name, why in left_out:
        trouble.write(f"treewright: {name} is left out: {why}\n")
    for one in lost:
        trouble.write(f"treewright: {one.reason}\n")
    return lost[0].exit_status if lost else VERIFIED


async def _read(sources: tuple[str, ...]) -> tuple[tuple[Card, ...], tuple[tuple[str, str], ...], tuple[Lost, ...]]:
    from treewright.tools.guarded import Guarded
    from treewright.tools.loading import load_tools

    async with load_tools(sources) as toolbox:
        guarded = Guarded(toolbox)
        return guarded.cards, guarded.left_out, toolbox.lost


def _print_cards(cards: tuple[Card, ...]) -> None:
    from rich.console import Console

    from treewright.cli.printing import visible, written
    from treewright.tools.cards import docstring, signature

    console = Console(highlight=False, soft_wrap=True)
    plain = visible if console.is_terminal else str  # a terminal would obey what a stranger's server says
    with written(console):
        for card in cards:
            console.print(plain(signature(card)), style="bold", markup=False)
            if text := docstring(card):
                console.print(plain(indent(text, "    ")), markup=False)
            state = ", each program has its own state" if card.stateful else ""
            console.print(f"    [{card.effect}{state}; {plain(card.source)}]", style="dim", markup=False)
            console.print()


def _as_json(
    cards: tuple[Card, ...], left_out: tuple[tuple[str, str], ...], lost: tuple[Lost, ...]
) -> dict[str, list[dict[str, Any]]]:
    from treewright.tools.cards import signature

    return {
        "tools": [
            {"name": card.name, "signature": signature(card), "description": card.description, "effect": card.effect,
             "source": card.source, "stateful": card.stateful, "parameters": card.parameters, "returns": card.returns}
            for card in cards
        ],
        "left_out": [{"tool": name, "reason": why} for name, why in left_out],
        "lost": [{"source": one.source, "reason": one.reason} for one in lost],
    }  # fmt: skip
