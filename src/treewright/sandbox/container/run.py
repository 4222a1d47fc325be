"""One job in a container while it runs, as the host sees it: a line to process 1 inside, streams, limits, and the end.

No task of its own: the event loop calls back. Standard streams and the channel are descriptors of the host that were sent
inside, so nothing a program writes passes through the engine.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from treewright.sandbox.base import Exit, Job
from treewright.sandbox.capture import Capture, outlast
from treewright.sandbox.channel import Channel, opened
from treewright.sandbox.container.client import PATIENCE_S, Client
from treewright.sandbox.verdicts import Ending, outcome

Cause = Literal["timeout", "output", "killed"]
_LAST_WORD_S = 3.0
_PACKET = 1 << 16
_KILLED = 128 + signal.SIGKILL


class Report(TypedDict):
    """What process 1 says of the program's end.

    Keys:
        code: exit code, or minus the number of a signal.
        cpu_s: seconds of processor time.
        memory_mb: peak resident memory in MiB.
        memory_kills: processes of the container that the kernel killed for want of memory.
        failed: why the program was never reached; "" if it was.
    """

    code: int
    cpu_s: float
    memory_mb: float
    memory_kills: int
    failed: str


@dataclass(frozen=True, slots=True)
class Ends:
    """The host's ends: the line to process 1, standard output and error, and the channel if there is one."""

    line: socket.socket
    output: int
    errors: int
    channel: socket.socket | None


class ContainerRun:
    """A job whose container has been sent its program: the `Process` that `ContainerSandbox` gives out.

    Args:
        client: has started the container.
        job: what runs there.
        ends: the host's ends.
        closing: gives them back; taken over if all goes well.
    """

    def __init__(self, client: Client, job: Job, ends: Ends, *, closing: ExitStack) -> None:
        self._loop = asyncio.get_running_loop()
        self._client, self._job, self._ends = client, job, ends
        self._started = time.monotonic()
        self._ended: asyncio.Future[Exit] = self._loop.create_future()
        self._cause: Cause | None = None
        self._patience_s = PATIENCE_S
        self._channel = Channel(ends.channel) if ends.channel else None
        self._output = Capture((ends.output, ends.errors), job.limits.output_kb * 1024, flooded=lambda: self._end("output"))
        closing.callback(self._output.stop)
        self._loop.add_reader(ends.line, self._reported)
        closing.callback(self._loop.remove_reader, ends.line)
        self._timer = self._loop.call_later(job.limits.wall_s, self._end, "timeout")
        self._closing = closing.pop_all()

    def _end(self, cause: Cause) -> None:
        """Have process 1 leave, by hanging up. It answers with the end of its line; one that is frozen does not."""
        if self._cause or self._ended.done():
            return
        self._cause = cause
        with suppress(OSError):
            self._ends.line.shutdown(socket.SHUT_WR)
        self._timer.cancel()
        self._timer = self._loop.call_later(_LAST_WORD_S, self._give_up)

    def _give_up(self) -> None:
        self._patience_s = 0.0
        self._finish(None)

    def _reported(self) -> None:
        """The report, or the end of the line without one."""
        try:
            data = self._ends.line.recv(_PACKET)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._loop.remove_reader(self._ends.line)
        if data or self._cause:
            self._finish(json.loads(data) if data else None)
        else:  # the client knows more in a moment
            self._timer.cancel()
            self._timer = self._loop.call_later(_LAST_WORD_S, self._finish, None)
            self._client.ended.add_done_callback(lambda _: self._finish(None))

    def _finish(self, report: Report | None) -> None:
        if self._ended.done():
            return
        self._loop.remove_reader(self._ends.line)
        self._timer.cancel()
        streams = self._output.rest()
        if self._ends.channel:
            with suppress(OSError):  # what it sent stays readable; then comes the end
                self._ends.channel.shutdown(socket.SHUT_RDWR)
        wall_s = time.monotonic() - self._started
        self._ended.set_result(exit_of(report, self._cause, self._job, streams, wall_s, self._lost(report)))

    def _lost(self, report: Report | None) -> str:
        """Why there is no report, if there is none: "" for a container that was killed."""
        if report is not None or self._cause:
            return ""
        if self._client.ended.done() and self._client.ended.result() == _KILLED:
            return ""
        return f"the container was lost: {self._client.reason() or 'its first process said nothing'}"

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
        """Kill it, wait until its container is gone, give everything back. A cancellation is raised again afterwards."""
        self.kill()
        cancelled = await outlast(self._ended)
        cancelled = await self._client.leave(patience_s=self._patience_s) or cancelled
        if self._channel:
            self._channel.close()
        self._closing.close()
        if cancelled:
            raise cancelled


def exit_of(report: Report | None, cause: Cause | None, job: Job, streams: list[bytes], wall_s: float, lost: str) -> Exit:
    """The `Exit` of a job. Pure.

    Args:
        report: what process 1 said, or None if it said nothing.
        cause: what the host ended the job for, if it did.
        job: what ran.
        streams: what it wrote to standard output and to standard error, cut.
        wall_s: seconds it took.
        lost: why the end cannot be laid to the program, or "".
    """
    stdout, stderr = streams
    if unavailable := lost or (report["failed"] if report else ""):
        return Exit("unavailable", stdout=stdout, stderr=stderr, wall_s=wall_s, detail=unavailable)
    code = report["code"] if report else -signal.SIGKILL
    memory = bool(report and report["memory_kills"] and code)
    ending = Ending(
        code=code,
        cause=cause,
        reached=True,
        stdout=stdout,
        stderr=stderr,
        wall_s=wall_s,
        cpu_s=report["cpu_s"] if report else 0.0,
        memory_mb=report["memory_mb"] if report else 0.0,
    )
    usual = outcome(ending, job.limits)
    if memory and cause is None:
        return replace(usual, status="memory", detail=f"more than {job.limits.memory_mb} MiB")
    return usual
