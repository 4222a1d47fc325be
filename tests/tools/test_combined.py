"""Several toolboxes as one: unique names, calls that reach the right one, and one that is lost costs only its own tools."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from scripted_tools import ScriptedTool, ScriptedToolbox
from treewright.core.errors import ModelUnavailable, UserError
from treewright.tools.base import Card, Result
from treewright.tools.combined import Combined, Lost, Source
from treewright.tools.handling import Handling, undo


def toolbox(source: str, *names: str, problem: str = "") -> ScriptedToolbox:
    cards = [Card(name, "", {"type": "object"}, source=source) for name in names]
    tools = [
        ScriptedTool(card.name, lambda card=card: f"{card.source} {card.name}", undo=lambda: None, card=card) for card in cards
    ]
    return ScriptedToolbox(tools, problem)


def opened(*toolboxes: Any) -> Combined:
    async def run() -> Combined:
        combined = Combined(Source(f"source {number}", one) for number, one in enumerate(toolboxes, 1))
        async with combined:
            return combined

    return asyncio.run(run())


class Broken:
    """A toolbox that cannot be opened."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def __aenter__(self) -> NoReturn:
        raise self.error

    async def __aexit__(self, *error: object) -> None:
        raise AssertionError("it was never open")


def test_tools_of_all_are_there_in_order_and_calls_reach_theirs() -> None:
    files, web = toolbox("mcp:files", "read", "list"), toolbox("openapi:web", "fetch")

    async def run() -> list[Result]:
        async with Combined([Source("a", files), Source("b", web)]) as combined:
            assert [card.name for card in combined.cards] == ["read", "list_", "fetch"]
            async with combined.session("0.3") as session:
                return [await session.call(name, {}) for name in ("fetch", "list_", "reed")]

    fetched, listed, unknown = asyncio.run(run())
    assert (fetched, listed) == (Result("openapi:web fetch"), Result("mcp:files list"))
    assert (unknown.failure, unknown.message) == ("invalid", "there is no tool 'reed': did you mean read?")
    assert files.calls == [("0.3", "list", {})]
    assert not files.entered
    assert not web.entered


def test_a_name_that_two_have_is_prefixed_in_both() -> None:
    combined = opened(toolbox("mcp:files", "search", "read"), toolbox("lib/tools.py", "search"), toolbox("tools.py", "search"))
    assert [card.name for card in combined.cards] == ["files_search", "read", "tools_search", "tools_search_2"]


def test_a_prefixed_name_does_not_take_that_of_another_tool() -> None:
    combined = opened(toolbox("mcp:files", "search", "files_search"), toolbox("mcp:web", "search"))
    assert [card.name for card in combined.cards] == ["files_search_2", "files_search", "web_search"]


def test_what_cannot_be_opened_is_reported_and_the_rest_goes_on() -> None:
    combined = opened(
        Broken(UserError("tools.py is empty")), toolbox("mcp:web", "fetch"), Broken(ModelUnavailable("it is off")),
        toolbox("mcp:gone", problem="the server died"), Broken(TimeoutError()),
    )  # fmt: skip
    assert [card.name for card in combined.cards] == ["fetch"]
    assert combined.lost == (
        Lost("source 1", "tools.py is empty", 2), Lost("source 3", "it is off", 3), Lost("source 4", "the server died", 3),
        Lost("source 5", "source 5: TimeoutError", 3),
    )  # fmt: skip


def test_a_fault_of_ours_comes_out_and_what_was_open_is_closed() -> None:
    web = toolbox("mcp:web", "fetch")
    with pytest.raises(ExceptionGroup, match="unhandled"):
        opened(web, Broken(ZeroDivisionError()))
    assert not web.entered


def test_handling_and_undoing_are_handed_on_under_the_new_names() -> None:
    files, web = toolbox("mcp:files", "search"), toolbox("mcp:web", "search")
    web.tools = [replace(web.tools[0], undo=None, timeout_s=5)]

    async def run() -> list[Result]:
        async with Combined([Source("a", files), Source("b", web)]) as combined:
            assert combined.handling == {"files_search": Handling(undo=True), "web_search": Handling(timeout_s=5)}
            async with combined.session() as session:
                return [await undo(session, name, {}, None) for name in ("files_search", "web_search", "none")]

    assert [result.failure for result in asyncio.run(run())] == [None, "unavailable", "invalid"]
    assert files.undone == [("", "search", {})]
