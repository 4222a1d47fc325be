"""Frames over a stream socket to a peer that may be hostile: 4 bytes of big-endian length, then the bytes."""

from __future__ import annotations

import asyncio
import contextlib
import socket

from treewright.sandbox.base import ChannelClosed

_CHUNK = 1 << 16


class Channel:
    """The host's end of a job's channel. One reader and one writer at a time.

    The socket stays registered with the event loop while frames are awaited, rather than for each of them: a call and its
    answer then cost two wake-ups and no change to the loop's set.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._ended = False
        self._reading = False
        self._drained = False  # the last read took all there was: asking again at once would only cost a system call
        self._waiter: asyncio.Future[None] | None = None

    async def send(self, frame: bytes) -> None:
        """Send one frame.

        Raises:
            ChannelClosed: the peer no longer reads.
        """
        data = len(frame).to_bytes(4, "big") + frame
        try:
            sent = self._try_send(data)
            if sent < len(data):
                await self._loop.sock_sendall(self._socket, memoryview(data)[sent:])
        except OSError as error:
            raise ChannelClosed("the program no longer reads") from error

    def _try_send(self, data: bytes) -> int:
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0

    async def receive(self, max_bytes: int) -> bytes:
        """The next frame, whole. What arrived is all that is ever held, whatever the length field says.

        When it is cancelled nothing is lost: the next one goes on where it was.

        Raises:
            ChannelClosed: the end, or a frame of more than `max_bytes`.
        """
        await self._fill(4)
        length = int.from_bytes(self._received[:4], "big")
        if length > max_bytes:
            raise ChannelClosed(f"a frame of {length} bytes, more than {max_bytes}")
        await self._fill(4 + length)
        frame = bytes(self._received[4 : 4 + length])
        del self._received[: 4 + length]
        return frame

    async def _fill(self, size: int) -> None:
        while len(self._received) < size:
            if not self._drained and self._take():
                continue
            if self._ended:
                raise ChannelClosed("the program closed its channel or is gone")
            self._drained = False
            self._waiter = self._loop.create_future()
            self._listen(True)
            try:
                await self._waiter
            finally:
                self._waiter = None

    def _take(self) -> bool:
        """Take in what is there now; whether anything was."""
        try:
            piece = self._socket.recv(_CHUNK)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            piece = b""
        self._received += piece
        self._drained = 0 < len(piece) < _CHUNK
        self._ended = not piece
        return bool(piece)

    def _readable(self) -> None:
        if self._waiter is None:  # nobody asks: leave it in the kernel's buffer, where its size is bounded
            self._listen(False)
        # subtle: taken here and not by whoever waits, or the loop would find the socket readable once more before they run
        elif not self._waiter.done() and (self._take() or self._ended):
            self._waiter.set_result(None)

    def _listen(self, on: bool) -> None:
        if on and not self._reading:
            self._loop.add_reader(self._socket, self._readable)
        elif self._reading and not on:
            self._loop.remove_reader(self._socket)
        self._reading = on

    def close(self) -> None:
        """Give the socket back. The peer, and whoever still waits here, sees the end."""
        self._listen(False)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._ended = True
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)


def opened(channel: Channel | None) -> Channel:
    """The channel of a job.

    Raises:
        ChannelClosed: the job was started without one.
    """
    if channel is None:
        raise ChannelClosed("the job has no channel")
    return channel
