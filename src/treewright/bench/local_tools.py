"""The toolbox of a benchmark: plain functions of this process, new for every session, that do nothing to the world."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from treewright.tools.base import Card, Result, Session

#: A tool: takes its arguments by name, returns plain data, raises one of `REFUSALS` with a message for the caller.
Function = Callable[..., Any]
REFUSALS = (ArithmeticError, LookupError, TypeError, ValueError)


class LocalToolbox:
    """A `Toolbox` of functions.

    Args:
        cards: what a model is told of them.
        functions: makes the functions of a session, by the names on the cards; what they share is new in each session.
    """

    def __init__(self, cards: Sequence[Card], functions: Callable[[], Mapping[str, Function]]) -> None:
        self._cards = tuple(cards)
        self._functions = functions

    @property
    def cards(self) -> tuple[Card, ...]:
        """In the order in which they were given."""
        return self._cards

    async def __aenter__(self) -> Self:
        """Nothing to open."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Nothing to close."""

    def session(self, node: str = "") -> AbstractAsyncContextManager[Session]:
        """A session with functions of its own."""
        return self._session()

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[Session]:
        yield _LocalSession(self._functions())


class _LocalSession:
    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        function = self._functions.get(name)
        if function is None:
            return Result(failure="invalid", message=f"there is no tool {name!r}")
        try:
            inspect.signature(function).bind(**arguments)
        except TypeError as error:
            return Result(failure="invalid", message=f"{name}: {error}")
        try:
            value = function(**arguments)
        except REFUSALS as error:
            return Result(failure="raised", message=f"{name}: {error}")
        return Result(json.loads(json.dumps(value)))  # as any other tool's result would come: lists for tuples
