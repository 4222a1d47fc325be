"""Tools of any MCP server, over stdio or streamable HTTP, from the usual `mcpServers` file.

    from_mcp_config   a toolbox for each server of a file
    McpToolbox        the tools of one server

A server that cannot be had is no error: its toolbox has no cards, and `problem` says why. What a server offers is listed once,
when it starts; a tool that it adds later is not seen.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from treewright.tools.base import Card, Result, Session
from treewright.tools.mcp_cards import cards_of
from treewright.tools.mcp_config import ServerConfig, read_config
from treewright.tools.mcp_connection import Connection

#: Seconds that a server may take to start, and a call to answer.
START_TIMEOUT_S = 20.0
CALL_TIMEOUT_S = 60.0


def from_mcp_config(
    config: str | Path | Mapping[str, Any],
    *,
    pure: Iterable[str] = (),
    idempotent: Iterable[str] = (),
    start_timeout_s: float = START_TIMEOUT_S,
    call_timeout_s: float = CALL_TIMEOUT_S,
) -> tuple[McpToolbox, ...]:
    """A toolbox for each enabled server of a configuration, in its order. Nothing is started before they are entered.

    Args:
        config: the path of an `mcpServers` file, or its parsed content (see `mcp_config`).
        pure: patterns (`fnmatch`) of tool names, as the server has them, that change nothing whatever the server says.
        idempotent: patterns of names that may be called by every program.
        start_timeout_s: how long a server may take to start.
        call_timeout_s: how long a call may take.

    Raises:
        UserError: the file cannot be used, or a variable that it names is not set.
    """
    patterns = tuple(pure), tuple(idempotent)
    return tuple(
        McpToolbox(
            server, pure=patterns[0], idempotent=patterns[1], start_timeout_s=start_timeout_s, call_timeout_s=call_timeout_s
        )
        for server in read_config(config)
    )


class McpToolbox:
    """The tools of one MCP server (a `Toolbox`). Entering starts it; on exit all that it started is gone, also when cancelled.

    Sessions share the server, unless its entry says `fresh`: then each has its own, started with its first call.

    Args:
        config: which server.
        pure: patterns of tool names that change nothing.
        idempotent: patterns of tool names that may be called by every program.
        start_timeout_s: how long it may take to start.
        call_timeout_s: how long a call may take.
    """

    def __init__(
        self,
        config: ServerConfig,
        *,
        pure: tuple[str, ...] = (),
        idempotent: tuple[str, ...] = (),
        start_timeout_s: float = START_TIMEOUT_S,
        call_timeout_s: float = CALL_TIMEOUT_S,
    ) -> None:
        self._config = config
        self._pure, self._idempotent = pure, idempotent
        self._connection = partial(Connection, config, start_timeout_s=start_timeout_s, call_timeout_s=call_timeout_s)
        self._shared = self._connection()
        self._cards: dict[str, Card] = {}

    @property
    def source(self) -> str:
        """Where its cards come from, "mcp:NAME"."""
        return f"mcp:{self._config.name}"

    @property
    def cards(self) -> tuple[Card, ...]:
        """Its tools in the order the server lists them; none when it is not available."""
        return tuple(self._cards.values())

    @property
    def problem(self) -> str:
        """Why the server has no tools to offer, one sentence for people; "" when it has."""
        return "" if self._cards else self._shared.problem or f'the MCP server "{self._config.name}" offers no tools'

    async def __aenter__(self) -> Self:
        try:
            await self._shared.open()
        except BaseException:
            await self._shared.close()
            raise
        self._cards = cards_of(self._shared.tools, self.source, self._pure, self._idempotent, stateful=self._config.fresh)
        if self._config.fresh:  # it was started for its list only
            await self._shared.close()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._shared.close()

    @asynccontextmanager
    async def session(self, node: str = "") -> AsyncIterator[Session]:
        """A session on the shared server, or on a fresh one that is gone when the block is left.

        Args:
            node: not needed here.
        """
        wires = {card.name: wire for wire, card in self._cards.items()}
        if not self._config.fresh:
            yield _McpSession(self._shared, wires)
            return
        own = self._connection(restarts=0)  # started anew it would have forgotten what it was told
        try:
            yield _McpSession(own, wires)
        finally:
            await own.close()


class _McpSession:
    def __init__(self, connection: Connection, wires: Mapping[str, str]) -> None:
        self._connection, self._wires = connection, wires

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        if name not in self._wires:
            return Result(failure="invalid", message=f"there is no tool {name!r}")
        return await self._connection.call(self._wires[name], arguments)
