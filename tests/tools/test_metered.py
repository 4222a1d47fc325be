"""Calls of tools are held to the budget, and each is written down, without secrets, before its result is used."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from scripted_tools import ScriptedTool, ScriptedToolbox, failing, waiting
from treewright.core.budget import Budget, Limits, Spend
from treewright.core.errors import BudgetSpent
from treewright.core.events import Event, ToolCalled
from treewright.tools.base import Result
from treewright.tools.handling import undo
from treewright.tools.metered import MOST_KEPT, Metered


def metered(*tools: ScriptedTool, most: int | None = None) -> tuple[Metered, list[Event]]:
    events: list[Event] = []
    return Metered(ScriptedToolbox(tools), Budget(Limits(tool_calls=most)), events.append), events


def recorded(tool: ScriptedTool, arguments: dict[str, Any]) -> tuple[Result, ToolCalled]:
    toolbox, events = metered(tool)

    async def run() -> Result:
        async with toolbox.session("0.1") as session:
            return await session.call(tool.name, arguments)

    result = asyncio.run(run())
    (event,) = events
    assert isinstance(event, ToolCalled)
    return result, event


def test_a_call_is_spent_and_written_down() -> None:
    toolbox, events = metered(ScriptedTool("add", lambda a, b: a + b))

    async def run() -> Result:
        async with toolbox.session("0.1") as session:
            return await session.call("add", {"a": 1, "b": 2})

    assert asyncio.run(run()) == Result(3)
    (event,) = events
    assert isinstance(event, ToolCalled)
    assert (event.node, event.tool, event.arguments, event.result, event.error) == ("0.1", "add", '{"a":1,"b":2}', "3", "")
    assert event.seconds >= 0
    assert (toolbox.budget.spent, toolbox.budget.held) == (Spend(tool_calls=1), Spend())


def test_a_failure_is_spent_and_written_down_too() -> None:
    result, event = recorded(ScriptedTool("add", failing("raised", "no")), {})
    assert (result.failure, event.result, event.error) == ("raised", None, "raised: no")


def test_a_call_that_is_cancelled_is_spent_and_written_down() -> None:
    toolbox, events = metered(ScriptedTool("hang", waiting(lambda: asyncio.sleep(60))))

    async def run() -> None:
        async with toolbox.session() as session, asyncio.timeout(0.02):
            await session.call("hang", {})

    with pytest.raises(TimeoutError):
        asyncio.run(run())
    assert [event.error for event in events if isinstance(event, ToolCalled)] == ["cancelled"]
    assert (toolbox.budget.spent.tool_calls, toolbox.budget.held) == (1, Spend())


def test_when_the_budget_is_spent_nothing_is_called() -> None:
    toolbox, events = metered(ScriptedTool("add"), most=2)

    async def run() -> None:
        async with toolbox.session() as session:
            for _ in range(2):
                await session.call("add", {})
            for _ in range(3):
                with pytest.raises(BudgetSpent, match="tool_calls"):
                    await session.call("add", {})

    asyncio.run(run())
    assert len(events) == 2


def test_calls_at_once_never_pass_the_budget() -> None:
    toolbox, events = metered(ScriptedTool("nap", waiting(lambda: asyncio.sleep(0.001))), most=7)

    async def run() -> list[Result | BaseException]:
        async with toolbox.session() as session:
            return await asyncio.gather(*(session.call("nap", {}) for _ in range(20)), return_exceptions=True)

    ends = asyncio.run(run())
    assert sum(isinstance(end, BudgetSpent) for end in ends) == 13
    assert len(events) == toolbox.budget.spent.tool_calls == 7


def test_taking_back_is_written_down_and_costs_nothing() -> None:
    toolbox, events = metered(ScriptedTool("buy", undo=lambda **arguments: None), most=1)

    async def run() -> Result:
        async with toolbox.session() as session:
            value = (await session.call("buy", {"what": "tea"})).value
            return await undo(session, "buy", {"what": "tea"}, value)

    assert asyncio.run(run()) == Result(None)
    assert [event.tool for event in events if isinstance(event, ToolCalled)] == ["buy", "undo buy"]
    assert toolbox.budget.spent.tool_calls == 1


def test_long_arguments_and_results_are_cut() -> None:
    _, event = recorded(ScriptedTool("say"), {"text": "x" * 10_000})
    assert len(event.arguments) == len(event.result or "") == MOST_KEPT
    assert event.arguments.endswith("…")


def test_secrets_do_not_reach_the_record_not_even_where_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = 's3cr\\et"' + "0123456789" * 3
    monkeypatch.setenv("MAIL_PASSWORD", secret)
    for padding in range(MOST_KEPT - 60, MOST_KEPT):
        _, event = recorded(ScriptedTool("say"), {"text": "x" * padding + secret})
        assert "s3cr" not in event.arguments + (event.result or "")
    _, event = recorded(ScriptedTool("say", failing("raised", f"{secret}; Authorization: Bearer abcdefghij")), {})
    assert event.error == "raised: [secret]; Authorization: [secret]"


def test_arguments_that_are_no_json_are_written_down_as_such() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    _, event = recorded(ScriptedTool("say", lambda **arguments: None), {"x": circle})
    assert event.arguments == "(no JSON: Circular reference detected)"
