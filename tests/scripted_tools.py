"""A toolbox whose tools do what a test says, and that remembers who called what."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from treewright.tools.base import Card, Effect, Result, Session
from treewright.tools.handling import Handling

#: What a tool does: its arguments -> a value, a `Result`, or something to await that gives one.
Act = Callable[..., Any]


@dataclass(frozen=True)
class ScriptedTool:
    """One tool.

    Args:
        name: its name.
        act: called with the arguments by name.
        effect: what it does to the world.
        undo: takes a call back: called with the arguments.
        timeout_s: what the toolbox says about its time.
        card: in place of one that takes anything.
    """

    name: str
    act: Act = lambda **arguments: arguments
    effect: Effect = "idempotent"
    undo: Act | None = None
    timeout_s: float | None = None
    card: Card | None = None


@dataclass(eq=False)
class ScriptedToolbox:
    """A `Toolbox`.

    Args:
        tools: what there is.
        problem: why it has none.

    Attributes:
        calls: (node, tool, arguments) of every call that was begun.
        undone: the same of calls taken back.
        sessions: sessions that are open.
    """

    tools: Sequence[ScriptedTool] = ()
    problem: str = ""
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    undone: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    sessions: int = 0
    entered: bool = False

    async def __aenter__(self) -> Self:
        self.entered = True
        return self

    async def __aexit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.entered = False

    @property
    def cards(self) -> tuple[Card, ...]:
        return tuple(
            tool.card or Card(tool.name, f"does {tool.name}", {"type": "object"}, effect=tool.effect, source="mcp:scripted")
            for tool in self.tools
        )

    @property
    def handling(self) -> Mapping[str, Handling]:
        return {tool.name: Handling(tool.undo is not None, tool.timeout_s) for tool in self.tools}

    @asynccontextmanager
    async def session(self, node: str = "") -> AsyncIterator[Session]:
        self.sessions += 1
        try:
            yield _Session(self, node)
        finally:
            self.sessions -= 1

    def named(self, name: str) -> list[dict[str, Any]]:
        """The arguments of each call of one tool."""
        return [arguments for _, tool, arguments in self.calls if tool == name]


@dataclass(frozen=True)
class _Session:
    toolbox: ScriptedToolbox
    node: str

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        self.toolbox.calls.append((self.node, name, dict(arguments)))
        found = [tool for tool in self.toolbox.tools if tool.name == name]
        return await _result(found[0].act(**arguments)) if found else Result(failure="invalid", message=f"no tool {name}")

    async def undo(self, name: str, arguments: Mapping[str, Any], value: Any) -> Result:
        self.toolbox.undone.append((self.node, name, dict(arguments)))
        (act,) = [tool.undo for tool in self.toolbox.tools if tool.name == name]
        return Result(failure="unavailable") if act is None else await _result(act(**arguments))


async def _result(value: Any) -> Result:
    given: Any = await value if inspect.isawaitable(value) else value
    return given if isinstance(given, Result) else Result(given)


def failing(failure: Any, message: str = "") -> Act:
    """A tool that always fails."""
    return lambda **arguments: Result(failure=failure, message=message)


def waiting(event: Callable[[], Awaitable[Any]], value: Any = None) -> Act:
    """A tool that waits before it gives its value."""

    async def act(**arguments: Any) -> Any:
        await event()
        return value

    return act
