"""An MCP server as a child process: JSON-RPC messages, one a line, over its stdin and stdout.

The library has such a transport too. This one differs in what a long search needs: whatever the server prints besides messages
is kept for the reason, never shown; a message has a largest size; and nothing of its process group outlives the block, not
even children of a server that itself left politely.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from treewright.tools.mcp_config import ServerConfig

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

#: The largest message, in bytes. A server that sends a larger one is ended.
MESSAGE_LIMIT = 64 << 20
#: Seconds that a server has to leave after its stdin is closed, and again after SIGTERM.
GRACE_S = 2.0
TERM_S = 1.0
#: Seconds for the rest of its stderr.
LAST_WORDS_S = 0.5
_CHUNK = 1 << 16


class Remains:
    """What is left of a server: its last lines and how it ended."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=20)
        self.status: int | None = None
        self.trouble = ""

    def keep(self, raw: bytes) -> None:
        """Remember a piece of its output that is no message."""
        lines = (line.strip() for line in raw[-4_000:].decode(errors="replace").splitlines())
        self._lines.extend(line[:300] for line in lines if line)

    @property
    def last(self) -> str:
        """Its last line, not cleaned of secrets."""
        return self._lines[-1] if self._lines else ""

    def said(self) -> str:
        """How it ended, and its last line; not cleaned of secrets."""
        ended = self.trouble or ("" if self.status is None else f"it ended with {_status(self.status)}")
        return ": ".join(part for part in (ended, self.last) if part)


def _status(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    with suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


@asynccontextmanager
async def server_process(config: ServerConfig, remains: Remains, down: asyncio.Event) -> AsyncIterator[TransportStreams]:
    """Start the server; its streams for the client. When the block is left, its whole process group is gone.

    Args:
        config: an entry with a command.
        remains: gets its last lines and status.
        down: set when it will say no more.

    Raises:
        OSError: it cannot be started.
    """
    import anyio
    from mcp.client.stdio import get_default_environment
    from mcp.shared.message import SessionMessage

    process = await asyncio.create_subprocess_exec(
        config.command or "",
        *config.args,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=get_default_environment() | dict(config.env),
        cwd=config.cwd,
        start_new_session=True,
    )
    heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_say = anyio.create_memory_object_stream[SessionMessage](0)
    talk = {
        asyncio.create_task(_listen(process, heard, remains, down)),
        asyncio.create_task(_speak(process, to_say)),
    }
    aside = asyncio.create_task(_overhear(process, remains))
    try:
        yield incoming, outgoing
    finally:
        try:
            incoming.close()
            outgoing.close()
            await _leave(process, talk)
            _kill(process, signal.SIGKILL)
            await asyncio.wait({aside}, timeout=LAST_WORDS_S)
        finally:
            _kill(process, signal.SIGKILL)
            for pump in (*talk, aside):
                pump.cancel()
            await asyncio.wait({*talk, aside})
            remains.status = process.returncode
            for stream in (heard, to_say):
                stream.close()


async def _listen(
    process: Process, heard: MemoryObjectSendStream[SessionMessage | Exception], remains: Remains, down: asyncio.Event
) -> None:
    """Hand on each line that is a message, until the server says no more."""
    import anyio

    assert process.stdout is not None
    open_ended = True
    line = bytearray()
    try:
        while chunk := await process.stdout.read(_CHUNK):
            *lines, rest = chunk.split(b"\n")
            for end in lines:
                line += end
                if open_ended:
                    open_ended = await _hand_on(bytes(line), heard, remains)
                line.clear()
            line += rest
            if len(line) > MESSAGE_LIMIT:
                remains.trouble = f"it sent a message of more than {MESSAGE_LIMIT >> 20} MB"
                break
    finally:
        with suppress(anyio.ClosedResourceError):
            heard.close()
        down.set()


async def _hand_on(line: bytes, heard: MemoryObjectSendStream[SessionMessage | Exception], remains: Remains) -> bool:
    """Whether anybody still listens. What is no message (a print of the server, half a line) is kept as its last words."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        remains.keep(line)
        return True
    try:
        await heard.send(SessionMessage(message))
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        return False
    return True


async def _speak(process: Process, to_say: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Write each message; afterwards, whatever the reason, stdin is closed, which asks the server to leave."""
    assert process.stdin is not None
    try:
        async for said in to_say:
            process.stdin.write(said.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await process.stdin.drain()
    except (ConnectionError, RuntimeError):  # it closed its stdin: the end of its stdout tells the rest
        pass
    finally:
        to_say.close()
        process.stdin.close()


async def _overhear(process: Process, remains: Remains) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(_CHUNK):
        remains.keep(chunk)


async def _leave(process: Process, talk: set[asyncio.Task[None]]) -> None:
    """Let the server leave by itself, then ask its group to."""
    ended = asyncio.create_task(process.wait())
    try:
        # subtle: the end of the talk too, since a server may be a script whose child does the work and holds the pipes.
        _, left = await asyncio.wait({ended, *talk}, timeout=GRACE_S)
        if left:
            _kill(process, signal.SIGTERM)
            _, left = await asyncio.wait({ended, *talk}, timeout=TERM_S)
        if left:
            _kill(process, signal.SIGKILL)
            await asyncio.wait({ended}, timeout=TERM_S)
    finally:
        ended.cancel()


def _kill(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
