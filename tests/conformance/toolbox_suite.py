"""What every `Toolbox` must do, whatever its tools are made of. `test_toolboxes.py` runs it over each of them."""

from __future__ import annotations

import asyncio
import json
import keyword
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, get_args

from jsonschema import Draft202012Validator

from treewright.tools.base import Effect, Failure, Result, Session, Toolbox


@dataclass(frozen=True)
class Call:
    """A call, and what it comes to.

    Args:
        name: of the tool.
        arguments: of the call.
        value: what it gives; looked at when there is no failure.
        failures: one of which it ends with.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    value: Any = None
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Subject:
    """One toolbox under test.

    Args:
        open: a fresh one, opened.
        fine: calls that succeed, each as often as wanted.
        failing: calls that fail, each time in the same way.
        slow: a call that takes at least 0.2 s; None if it has none.
        counting: a call of a tool with a state that gives 1, 2, 3, ...; None if it has none.
    """

    open: Callable[[], AbstractAsyncContextManager[Toolbox]]
    fine: tuple[Call, ...]
    failing: tuple[Call, ...] = ()
    slow: Call | None = None
    counting: Call | None = None


async def made(session: Session, call: Call) -> Result:
    result = await session.call(call.name, call.arguments)
    if call.failures:
        assert result.failure in call.failures, result
        assert result.value is None
        assert result.message
    else:
        assert (result.failure, result.message) == (None, "")
        assert result.value == call.value
        assert json.loads(json.dumps(result.value, allow_nan=False)) == result.value
    return result


async def its_cards_can_be_read(subject: Subject) -> None:
    async with subject.open() as toolbox:
        cards = toolbox.cards
        assert cards == toolbox.cards
    names = [card.name for card in cards]
    assert len(set(names)) == len(names) > 0
    for card in cards:
        assert card.name.isidentifier()
        assert not keyword.iskeyword(card.name)
        assert card.effect in get_args(Effect)
        assert card.source
        assert json.dumps([card.parameters, card.returns], allow_nan=False)
        Draft202012Validator.check_schema(card.parameters)
        assert card.parameters.get("type") == "object"
        if card.returns is not None:
            Draft202012Validator.check_schema(card.returns)


async def its_calls_give_plain_json_that_fits_its_cards(subject: Subject) -> None:
    async with subject.open() as toolbox, toolbox.session("0.1") as session:
        returns = {card.name: card.returns for card in toolbox.cards}
        for call in subject.fine:
            result = await made(session, call)
            schema = returns[call.name]
            assert schema is None or Draft202012Validator(schema).is_valid(result.value)


async def a_failure_is_a_result_with_a_message(subject: Subject) -> None:
    async with subject.open() as toolbox, toolbox.session() as session:
        for call in (*subject.failing, *subject.failing, *subject.fine):
            await made(session, call)


async def an_unknown_name_is_invalid(subject: Subject) -> None:
    async with subject.open() as toolbox, toolbox.session() as session:
        await made(session, Call("no_tool_of_this_name", failures=("invalid",)))
        await made(session, subject.fine[0])


async def calls_at_once_are_not_mixed_up(subject: Subject) -> None:
    async with subject.open() as toolbox, toolbox.session("a") as one, toolbox.session("b") as other:
        calls = [*subject.fine, *subject.failing] * 4
        await asyncio.gather(*(made(session, call) for call in calls for session in (one, other)))


async def it_does_not_change_the_arguments(subject: Subject) -> None:
    async with subject.open() as toolbox, toolbox.session() as session:
        for call in subject.fine:
            arguments = json.loads(json.dumps(call.arguments))
            await session.call(call.name, arguments)
            assert arguments == call.arguments


async def a_call_can_be_cancelled_and_the_session_goes_on(subject: Subject) -> None:
    if subject.slow is None:
        return
    async with subject.open() as toolbox, toolbox.session() as session:
        tasks = [asyncio.ensure_future(session.call(subject.slow.name, subject.slow.arguments)) for _ in range(3)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends)
        async with asyncio.timeout(60):
            await made(session, subject.fine[0])


async def it_does_not_hold_up_the_event_loop(subject: Subject) -> None:
    if subject.slow is None:
        return
    async with subject.open() as toolbox, toolbox.session() as session:
        call = asyncio.ensure_future(made(session, subject.slow))
        turns = 0
        while not call.done():
            await asyncio.sleep(0.01)
            turns += 1
        await call
    assert turns > 3


async def each_session_has_a_state_of_its_own(subject: Subject) -> None:
    if subject.counting is None:
        return
    call = subject.counting
    async with subject.open() as toolbox:
        assert [card.stateful for card in toolbox.cards if card.name == call.name] == [True]
        async with toolbox.session() as one, toolbox.session() as other:
            values = [(await session.call(call.name, call.arguments)).value for session in (one, one, other)]
        async with toolbox.session() as later:
            values.append((await later.call(call.name, call.arguments)).value)
    assert values == [1, 2, 1, 1]


CHECKS: tuple[Callable[[Subject], Awaitable[None]], ...] = (
    its_cards_can_be_read,
    its_calls_give_plain_json_that_fits_its_cards,
    a_failure_is_a_result_with_a_message,
    an_unknown_name_is_invalid,
    calls_at_once_are_not_mixed_up,
    it_does_not_change_the_arguments,
    a_call_can_be_cancelled_and_the_session_goes_on,
    it_does_not_hold_up_the_event_loop,
    each_session_has_a_state_of_its_own,
)
