"""`Metered`: holds calls of tools to a budget and writes each of them down before its result is used.

A call is reserved before it is made and spent whatever comes of it. Taking a call back costs nothing, so that it always can be.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from treewright.core.budget import Budget, Spend
from treewright.core.events import Sink, ToolCalled
from treewright.core.secrets import without_secrets
from treewright.tools.base import Card, Result, Session, Toolbox
from treewright.tools.handling import Handling, handling_of, undo
from treewright.tools.plain import NotJsonError, encoded

#: Characters of arguments and of a result that an event keeps.
MOST_KEPT = 4_000
_ONE_CALL = Spend(tool_calls=1)


@dataclass(frozen=True, slots=True)
class Metered:
    """A toolbox whose calls are held to a budget and recorded.

    Args:
        toolbox: open.
        budget: of the run.
        emit: takes a `ToolCalled` for each call, before its result is used.
    """

    toolbox: Toolbox
    budget: Budget
    emit: Sink

    @property
    def cards(self) -> tuple[Card, ...]:
        """The toolbox's."""
        return self.toolbox.cards

    @property
    def handling(self) -> Mapping[str, Handling]:
        """The toolbox's."""
        return handling_of(self.toolbox)

    def session(self, node: str = "") -> AbstractAsyncContextManager[Session]:
        """A session of the toolbox, metered."""
        return self._session(node)

    @asynccontextmanager
    async def _session(self, node: str) -> AsyncIterator[Session]:
        async with self.toolbox.session(node) as session:
            yield _MeteredSession(self, session, node)


@dataclass(frozen=True, slots=True)
class _MeteredSession:
    metered: Metered
    session: Session
    node: str

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        await _reserved(self.metered.budget)
        try:
            return await self._recorded(name, arguments, self.session.call(name, arguments))
        finally:
            self.metered.budget.settle(_ONE_CALL, _ONE_CALL)

    async def undo(self, name: str, arguments: Mapping[str, Any], value: Any) -> Result:
        return await self._recorded(f"undo {name}", arguments, undo(self.session, name, arguments, value))

    async def _recorded(self, name: str, arguments: Mapping[str, Any], call: Awaitable[Result]) -> Result:
        started = perf_counter()
        event = ToolCalled(self.node, name, _kept(dict(arguments)), None, "cancelled")
        try:
            result = await call
            error = "" if result.failure is None else without_secrets(f"{result.failure}: {result.message}")[:MOST_KEPT]
            event = replace(event, result=None if error else _kept(result.value), error=error)
            return result
        finally:
            self.metered.emit(replace(event, seconds=round(perf_counter() - started, 4)))


async def _reserved(budget: Budget) -> None:
    """Reserve one call; waits for a refund if only that makes room.

    Raises:
        BudgetSpent: there will be no room. Nothing was called.
    """
    changed = asyncio.Event()
    listener: Callable[[], None] = changed.set
    budget.on_change.append(listener)
    try:
        while not budget.reserve(_ONE_CALL):
            changed.clear()
            await changed.wait()
    finally:
        budget.on_change.remove(listener)


def _kept(value: Any) -> str:
    """The value as JSON for the record: secrets are taken out before it is cut, or half of one could stay."""
    try:
        text = without_secrets(encoded(value).decode())
    except NotJsonError as error:
        text = f"(no JSON: {error})"
    return text if len(text) <= MOST_KEPT else f"{text[: MOST_KEPT - 1]}…"
