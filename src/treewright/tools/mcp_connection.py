"""A connection to an MCP server that is looked after: started, started once more when it breaks, and gone when it is closed.

A client of the library never comes back once its server died. Here a keeper task owns the client: it starts the server, waits
until it is down, and starts it again; calls in flight come to nothing, later ones wait for the new start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treewright.tools.base import Result
from treewright.tools.mcp_cards import result_of
from treewright.tools.mcp_config import ServerConfig
from treewright.tools.mcp_process import Remains, server_process

if TYPE_CHECKING:
    from mcp import Client, MCPError
    from mcp.client._transport import TransportStreams
    from mcp_types import Tool

#: Seconds before a server that died is started again.
RESTART_PAUSE_S = 0.5
#: Seconds that a server has to leave before it is left alone; a child process is killed well before.
_LEAVE_S = 6.0
#: Pages of `tools/list` that are read; a server that never stops listing is cut off there.
_MOST_PAGES = 200
_CONNECT_S = 30.0
_LONGEST_MESSAGE = 2_000
_QUIET = logging.NullHandler()


@dataclass(frozen=True, slots=True)
class _Life:
    """One start of the server: its client, and what tells that it is over."""

    client: Client
    down: asyncio.Event
    schemas: Mapping[str, Mapping[str, Any] | None]


class Connection:
    """One server in use. Safe to call from many tasks at once; calls run side by side.

    Args:
        config: which server.
        start_timeout_s: how long it may take to start and list its tools.
        call_timeout_s: how long one call may take.
        restarts: how often it is started again after it broke; 0 for a server whose state would be lost.
    """

    def __init__(self, config: ServerConfig, *, start_timeout_s: float, call_timeout_s: float, restarts: int = 1) -> None:
        self.config = config
        self.tools: tuple[Tool, ...] = ()
        self.problem = ""
        self._start_timeout_s, self._call_timeout_s, self._restarts = start_timeout_s, call_timeout_s, restarts
        self._keeper: asyncio.Task[None] | None = None
        self._life: asyncio.Future[_Life | None] | None = None

    async def open(self) -> None:
        """Start it, if it was not, and wait until it serves; `tools` are known then, or `problem` says why there are none."""
        await self._served()

    async def close(self) -> None:
        """End it and everything it started; safe to repeat."""
        if self._keeper is not None:
            await _ended(self._keeper)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Result:
        """Call a tool by its name on the server."""
        life = await self._served()
        if life is None:
            return Result(failure="unavailable", message=self.problem)
        from mcp import MCPError

        try:
            async with asyncio.timeout(self._call_timeout_s):
                reply = await life.client.call_tool(tool, dict(arguments))
        except TimeoutError:
            return Result(failure="timeout", message=f"no answer within {self._call_timeout_s:g} s")
        except MCPError as error:
            return self._refusal(error, life)
        except (ValueError, RuntimeError) as error:  # a reply that fits neither the protocol nor the schema it declares
            return self._lost() if life.down.is_set() else Result(failure="raised", message=self._cleaned(str(error)))
        result = result_of(reply, life.schemas.get(tool))
        return Result(self.config.without_keys(result.value), result.failure, self._cleaned(result.message))

    async def _served(self) -> _Life | None:
        if self._life is None:
            self._life = asyncio.get_running_loop().create_future()
            self._keeper = asyncio.create_task(self._keep())
            self._keeper.add_done_callback(lambda _: self._settle(None))
        return await asyncio.shield(self._life)

    def _settle(self, life: _Life | None) -> None:
        if self._life is not None and not self._life.done():
            self._life.set_result(life)

    async def _keep(self) -> None:
        """Serve, and again after a pause when that ended, as often as is allowed; then say why no more."""
        self.problem = f"{self._who} is closed"
        for left in range(self._restarts, -1, -1):
            remains, error, pending = Remains(), None, self._life
            try:
                await self._serve(remains)
            except _failures() as failure:
                error = failure
            self.problem = self._why(error, remains)
            if self._life is pending:  # it did not even start
                return
            if left:
                await asyncio.sleep(RESTART_PAUSE_S)

    async def _serve(self, remains: Remains) -> None:
        from mcp import Client

        for name in ("mcp", "client"):  # the library's loggers: without a handler Python would print what they say
            logging.getLogger(name).addHandler(_QUIET)
        down = asyncio.Event()
        async with AsyncExitStack() as stack:
            stack.callback(down.set)
            late = asyncio.get_running_loop().call_later(self._start_timeout_s, self._give_up, remains)
            try:
                # subtle: asyncio's time limit, since the client opens scopes of anyio that outlive this block.
                async with asyncio.timeout(self._start_timeout_s):
                    client = await stack.enter_async_context(Client(self._transport(remains, down), cache=None))
                    tools = await _listed(client)
            finally:
                late.cancel()
            self.tools = self.tools or tools
            self._settle(_Life(client, down, {tool.name: tool.output_schema for tool in tools}))
            try:
                await down.wait()
            finally:  # from now on calls wait for its next life, or for the end of the keeper
                self._life = asyncio.get_running_loop().create_future()

    def _give_up(self, remains: Remains) -> None:
        """Answer those who wait; ending a server that does not start takes a while more."""
        self.problem = self._why(TimeoutError(), remains)
        self._settle(None)

    def _transport(self, remains: Remains, down: asyncio.Event) -> AbstractAsyncContextManager[TransportStreams]:
        if self.config.url is None:
            return server_process(self.config, remains, down)
        return _http(self.config.url, self.config.headers)

    def _refusal(self, error: MCPError, life: _Life) -> Result:
        from mcp_types import CONNECTION_CLOSED

        if error.message in {"Session terminated", "Session not found"}:  # a server behind a URL that was started anew
            life.down.set()
        if error.code == CONNECTION_CLOSED or life.down.is_set():
            return self._lost()
        return Result(failure="raised", message=self._cleaned(error.message))

    def _lost(self) -> Result:
        return Result(failure="unavailable", message=f"{self._who} was lost during the call")

    @property
    def _who(self) -> str:
        return f'the MCP server "{self.config.name}"'

    def _why(self, error: Exception | None, remains: Remains) -> str:
        """One sentence on why it is not there."""
        if isinstance(error, TimeoutError):
            said = f"did not start within {self._start_timeout_s:g} s" + (
                f"; its last line: {last}" if (last := remains.last) else ""
            )
        elif isinstance(error, FileNotFoundError):
            said = f"cannot be started: there is no command {self.config.command!r}, or no such folder to run it in"
        else:
            cause = remains.said() or (_innermost(error) if error is not None else "the connection was closed")
            said = f"is not available: {cause}"
        return self._cleaned(f"{self._who} {said}")

    def _cleaned(self, text: str) -> str:
        return self.config.cleaned(text)[:_LONGEST_MESSAGE]


async def _listed(client: Client) -> tuple[Tool, ...]:
    """All pages of the server's tools."""
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tuple(tools)


@asynccontextmanager
async def _http(url: str, headers: Mapping[str, str]) -> AsyncIterator[TransportStreams]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    # No limit on reading: a call has its own, and a stream of notifications may be silent for long.
    limits = httpx2.Timeout(_CONNECT_S, read=None)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=limits) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


def _failures() -> tuple[type[Exception], ...]:
    """What the library and its transports raise when a server cannot be used."""
    import anyio
    import httpx2
    from mcp import MCPError

    ours = (OSError, ValueError, RuntimeError, ExceptionGroup)
    return (*ours, MCPError, httpx2.HTTPError, httpx2.InvalidURL, anyio.ClosedResourceError, anyio.BrokenResourceError)


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancel the task and wait until it is gone, also when cancelled meanwhile; that cancellation goes on afterwards.

    subtle: a second cancellation ends a farewell that hangs, such as a request that nobody answers.
    """
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        task.cancel()
        try:
            await asyncio.wait({task}, timeout=_LEAVE_S)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    if not task.cancelled():
        task.result()
