"""Several toolboxes as one. One that cannot be opened costs its own tools only, and is reported.

A name that two of them have is prefixed in both by where it comes from: files_search, web_search.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePath
from types import TracebackType
from typing import Any, Self

from treewright.core.errors import TreewrightError, UserError
from treewright.tools.base import Card, Result, Session, Toolbox
from treewright.tools.handling import Handling, handling_of, undo
from treewright.tools.names import tool_name

#: A toolbox that is not open yet. It may be left by another task than the one that entered it.
Closed = AbstractAsyncContextManager[Toolbox, bool | None]


@dataclass(frozen=True, slots=True)
class Source:
    """A toolbox to be opened, and what the user calls it."""

    name: str
    toolbox: Closed


@dataclass(frozen=True, slots=True)
class Lost:
    """A source whose tools cannot be had.

    Args:
        source: what the user calls it.
        reason: why, in a sentence.
        exit_status: of a command that needs it: 2 where the user named something wrong, 3 where something does not answer.
    """

    source: str
    reason: str
    exit_status: int = UserError.exit_status


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a tool is: the number of its toolbox, and its name there."""

    number: int
    name: str


class Combined:
    """The tools of several toolboxes; a context that opens them, all at once, and closes them.

    Args:
        sources: in the order of their cards.

    Attributes:
        lost: the sources whose tools cannot be had; known when it is open.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)
        self._open: list[Toolbox | None] = [None] * len(self._sources)
        self._stack = AsyncExitStack()
        self._places: dict[str, _Place] = {}
        self._cards: tuple[Card, ...] = ()
        self.lost: tuple[Lost, ...] = ()

    async def __aenter__(self) -> Self:
        lost: list[Lost | None] = [None] * len(self._sources)
        async with AsyncExitStack() as stack:
            async with asyncio.TaskGroup() as group:
                for number in range(len(self._sources)):
                    group.create_task(self._enter(number, stack, lost))
            self._stack = stack.pop_all()
        self.lost = tuple(one for one in lost if one is not None)
        self._name()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    @property
    def cards(self) -> tuple[Card, ...]:
        """In the order of the sources, with names that are unique here."""
        return self._cards

    @property
    def handling(self) -> Mapping[str, Handling]:
        """What each toolbox says about its tools."""
        told = [handling_of(toolbox) if toolbox is not None else {} for toolbox in self._open]
        return {
            name: told[place.number][place.name] for name, place in self._places.items() if place.name in told[place.number]
        }

    def session(self, node: str = "") -> AbstractAsyncContextManager[Session]:
        """A session of each."""
        return self._session(node)

    @asynccontextmanager
    async def _session(self, node: str) -> AsyncIterator[Session]:
        async with AsyncExitStack() as stack:
            sessions: dict[int, Session] = {}
            for number, toolbox in enumerate(self._open):
                if toolbox is not None:
                    sessions[number] = await stack.enter_async_context(toolbox.session(node))
            yield _CombinedSession(self._places, sessions)

    async def _enter(self, number: int, stack: AsyncExitStack, lost: list[Lost | None]) -> None:
        source = self._sources[number]
        try:
            toolbox = await source.toolbox.__aenter__()
        except TreewrightError as error:
            lost[number] = Lost(source.name, str(error), error.exit_status)
            return
        except OSError as error:  # a time-out is one too
            lost[number] = Lost(source.name, f"{source.name}: {error.strerror or type(error).__name__}", 3)
            return
        stack.push_async_exit(source.toolbox)
        problem = getattr(toolbox, "problem", "")
        if problem:  # a server that did not start
            lost[number] = Lost(source.name, problem, 3)
        self._open[number] = toolbox

    def _name(self) -> None:
        found = [
            (card, _Place(number, card.name))
            for number, toolbox in enumerate(self._open)
            for card in (toolbox.cards if toolbox is not None else ())
        ]
        uses = Counter(tool_name(card.name) for card, _ in found)
        taken: set[str] = {name for name, used in uses.items() if used == 1}
        cards: list[Card] = []
        for card, place in found:
            name = tool_name(card.name)
            if uses[name] > 1:
                name = tool_name(f"{_prefix(card.source)}_{card.name}", taken)
                taken.add(name)
            self._places[name] = place
            cards.append(replace(card, name=name))
        self._cards = tuple(cards)


@dataclass(frozen=True, slots=True)
class _CombinedSession:
    places: Mapping[str, _Place]
    sessions: Mapping[int, Session]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        place = self.places.get(name)
        return _no_tool(name, self.places) if place is None else await self.sessions[place.number].call(place.name, arguments)

    async def undo(self, name: str, arguments: Mapping[str, Any], value: Any) -> Result:
        place = self.places.get(name)
        if place is None:
            return _no_tool(name, self.places)
        return await undo(self.sessions[place.number], place.name, arguments, value)


def _no_tool(name: str, names: Iterable[str]) -> Result:
    near = get_close_matches(name, list(names), 1)
    return Result(
        failure="invalid", message=f"there is no tool {name[:100]!r}" + (f": did you mean {near[0]}?" if near else "")
    )


def _prefix(source: str) -> str:
    """mcp:files -> files, folder/tools.py -> tools."""
    return re.sub(r"\W+", "_", PurePath(source.rpartition(":")[2]).stem) or "tool"
