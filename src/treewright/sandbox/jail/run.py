"""One run in a slot while it lasts: its streams, its channel, its limits and its end, as seen from the host.

No task of its own: the event loop calls back when a pipe can be read, when the zygote reports, when time is up.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable
from contextlib import suppress

from treewright.sandbox.base import Exit, Job
from treewright.sandbox.capture import Capture, outlast
from treewright.sandbox.channel import Channel, opened
from treewright.sandbox.inside import wire
from treewright.sandbox.jail.endings import Cause, exit_of
from treewright.sandbox.jail.parcel import Parcel

_LAST_WORD_S = 5.0  # for a zygote to report a run it was told to kill


class Run:
    """A started job: the `Process` that the hardened sandboxes give out.

    Args:
        job: what runs.
        parcel: the open ends; closed by `close`.
        broken: called when the zygote does not answer any more.
        memory_kills: how often the kernel has killed for want of memory in the run's slot, where that can be known.
    """

    def __init__(self, job: Job, parcel: Parcel, *, broken: Callable[[], None], memory_kills: Callable[[], int]) -> None:
        self._loop = asyncio.get_running_loop()
        self._job, self._parcel, self._broken = job, parcel, broken
        self._memory_kills, self._kills_before = memory_kills, memory_kills()
        self._started = time.monotonic()
        self._ended: asyncio.Future[Exit] = self._loop.create_future()
        self._cause: Cause | None = None
        self._output = Capture((parcel.output, parcel.errors), job.limits.output_kb * 1024, flooded=lambda: self._end("output"))
        self._channel = Channel(parcel.channel) if parcel.channel else None
        self._loop.add_reader(parcel.line, self._reported)
        self._timer = self._loop.call_later(job.limits.wall_s, self._end, "timeout")

    def _end(self, cause: Cause) -> None:
        """Have the zygote kill it, by hanging up our half of its line."""
        if self._cause or self._ended.done():
            return
        self._cause = cause
        with suppress(OSError):
            self._parcel.line.shutdown(socket.SHUT_WR)
        self._timer.cancel()
        self._timer = self._loop.call_later(_LAST_WORD_S, self._give_up_slot)

    def _give_up_slot(self) -> None:
        """The zygote does not do as it is told, so its whole jail goes, which ends its line; even if not, this ends."""
        self._broken()
        self._timer = self._loop.call_later(_LAST_WORD_S, self._finish, b"")

    def _reported(self) -> None:
        """The zygote's report, or the end of its line without one because it is gone."""
        try:
            self._finish(self._parcel.line.recv(wire.MAX_PACKET))
        except BlockingIOError:
            return
        except OSError:
            self._finish(b"")

    def _finish(self, data: bytes) -> None:
        report: wire.Report | None = json.loads(data) if data else None
        self._loop.remove_reader(self._parcel.line)
        self._timer.cancel()
        streams = self._output.rest()
        wall_s = time.monotonic() - self._started
        memory = self._memory_kills() > self._kills_before
        self._ended.set_result(exit_of(report, self._cause, self._job, streams, wall_s, memory))
        if report is None:
            self._broken()

    async def send(self, frame: bytes) -> None:
        """Send one frame. See `Process.send`."""
        await opened(self._channel).send(frame)

    async def receive(self, max_bytes: int = 1 << 20) -> bytes:
        """The next frame. See `Process.receive`."""
        return await opened(self._channel).receive(max_bytes)

    async def wait(self) -> Exit:
        """How the job ended. See `Process.wait`."""
        return await asyncio.shield(self._ended)

    def kill(self) -> None:
        """End the job. See `Process.kill`."""
        self._end("killed")

    async def close(self) -> None:
        """Kill it, wait until it is gone, give everything back. A cancellation is raised again afterwards."""
        self.kill()
        cancelled = await outlast(self._ended)
        if self._channel:
            self._channel.close()
        self._parcel.ours.close()
        if cancelled:
            raise cancelled
