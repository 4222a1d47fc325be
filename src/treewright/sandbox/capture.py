"""What the runs of every adapter share on the host's side: output kept up to a cap, and an end that cancelling cannot skip."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from treewright.sandbox.base import ChannelClosed, Exit

_CHUNK = 1 << 16


def pipe(reading: ExitStack, writing: ExitStack) -> tuple[int, int]:
    """A new pipe, its reading end and its writing end, each closed by a stack of its own."""
    reader, writer = os.pipe()
    reading.callback(os.close, reader)
    writing.callback(os.close, writer)
    return reader, writer


class Capture:
    """Keeps what a job writes, without a task of its own: the event loop calls back when a pipe can be read.

    Args:
        pipes: the host's ends.
        cap: most bytes kept of each.
        flooded: called when one brings more.
    """

    def __init__(self, pipes: Sequence[int], cap: int, *, flooded: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._kept = {pipe: bytearray() for pipe in pipes}
        self._cap = cap
        self._flooded = flooded
        for pipe in pipes:
            os.set_blocking(pipe, False)
            self._loop.add_reader(pipe, self._read, pipe)

    def _read(self, pipe: int) -> bool:
        """Take what is there. False at the end of the stream, when nothing is there now, and once the cap is reached."""
        kept = self._kept[pipe]
        room = self._cap - len(kept)
        try:
            piece = os.read(pipe, min(_CHUNK, room + 1))
        except BlockingIOError:
            return False
        kept += piece[:room]
        if not piece or len(piece) > room:
            self._loop.remove_reader(pipe)
        if len(piece) > room:
            self._flooded()
            return False
        return bool(piece)

    def rest(self) -> list[bytes]:
        """Take what is left in the pipes and stop: all that was kept, pipe by pipe."""
        for pipe in self._kept:
            while self._read(pipe):
                pass
        self.stop()
        return [bytes(kept) for kept in self._kept.values()]

    def stop(self) -> None:
        """Read no more. Can be called twice."""
        for pipe in self._kept:
            self._loop.remove_reader(pipe)


async def outlast(ended: asyncio.Future[Exit]) -> asyncio.CancelledError | None:
    """Wait until the job has ended, cancelled or not; the cancellation, if one came, for the caller to raise afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not ended.done():
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled


class NeverRan:
    """A job that could not be started this time: a `Process` with nothing behind it."""

    def __init__(self, detail: str) -> None:
        self._exit = Exit("unavailable", detail=detail)

    async def send(self, frame: bytes) -> None:
        """Refuse."""
        raise ChannelClosed("the job was never started")

    async def receive(self, max_bytes: int = 1 << 20) -> bytes:
        """Refuse."""
        raise ChannelClosed("the job was never started")

    async def wait(self) -> Exit:
        """Why not."""
        return self._exit

    def kill(self) -> None:
        """Nothing to end."""
