"""One job of the `process` adapter while it runs: its streams, its channel, its limits and its end.

No task of its own: the event loop calls back when a pipe can be read, when the process has ended, when time is up.
"""

from __future__ import annotations

import asyncio
import math
import os
import resource
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Literal

from treewright.sandbox.base import Exit, Job, Limits
from treewright.sandbox.capture import Capture, outlast
from treewright.sandbox.channel import Channel, opened
from treewright.sandbox.leftovers import Mark, new_mark, sweep
from treewright.sandbox.verdicts import Ending, outcome

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The host's ends: the program's text, the gate to open, standard output and error, and the channel if there is one."""

    program: int
    gate: int
    output: int
    errors: int
    channel: socket.socket | None


class Running:
    """A started job: the `Process` that `ProcessSandbox` gives out.

    Args:
        child: waits at the gate.
        job: what it is to run.
        descriptors: the host's ends.
        closing: gives everything back; taken over if all goes well.

    Raises:
        OSError: the host is short of something.
    """

    def __init__(self, child: subprocess.Popen[bytes], job: Job, descriptors: Descriptors, *, closing: ExitStack) -> None:
        self._loop = asyncio.get_running_loop()
        self._child, self._job, self._descriptors, self._closing = child, job, descriptors, closing
        self._started = time.monotonic()
        self._ended: asyncio.Future[Exit] = self._loop.create_future()
        self._cause: Literal["timeout", "output", "killed"] | None = None
        self._channel = Channel(descriptors.channel) if descriptors.channel else None
        cap = job.limits.output_kb * 1024
        self._output = Capture((descriptors.output, descriptors.errors), cap, flooded=lambda: self._end("output"))
        closing.callback(self._output.stop)
        self._mark = new_mark()
        pidfd = os.pidfd_open(child.pid)
        closing.callback(os.close, pidfd)
        self._watch(pidfd)
        with suppress(ProcessLookupError):
            set_limits(child.pid, job.limits, self._mark, command=bool(job.command))
        with suppress(BrokenPipeError):
            os.write(descriptors.gate, b"!")
        self._closing = closing.pop_all()

    def _watch(self, pidfd: int) -> None:
        self._loop.add_reader(pidfd, self._finish, pidfd)
        self._closing.callback(self._loop.remove_reader, pidfd)
        timer = self._loop.call_later(self._job.limits.wall_s, self._end, "timeout")
        self._closing.callback(timer.cancel)

    def _end(self, cause: Literal["timeout", "output", "killed"]) -> None:
        if self._ended.done():
            return
        self._cause = self._cause or cause
        self._kill_group()

    def _kill_group(self) -> None:
        if self._child.returncode is None:  # once it is reaped, its number may belong to somebody else
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, signal.SIGKILL)

    def _finish(self, pidfd: int) -> None:
        self._loop.remove_reader(pidfd)
        self._kill_group()
        try:
            _, status, used = os.wait4(self._child.pid, 0)
        except ChildProcessError:  # somebody else in the host reaped it
            status, used = 0, None
        self._child.returncode = os.waitstatus_to_exitcode(status)  # reaped here, for wait4 also tells what was used
        if self._mark:
            with suppress(OSError):  # a host out of descriptors cannot look
                sweep(self._child.pid, self._mark)
        stdout, stderr = self._output.rest()
        if self._descriptors.channel:
            # What it sent stays readable; then comes the end, even if an unknown descendant still holds the other side.
            with suppress(OSError):
                self._descriptors.channel.shutdown(socket.SHUT_RDWR)
        self._ended.set_result(self._outcome(self._child.returncode, used, stdout, stderr))

    def _outcome(self, code: int, used: resource.struct_rusage | None, stdout: bytes, stderr: bytes) -> Exit:
        peak = used.ru_maxrss if used else 0
        if peak <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
            peak = 0  # subtle: a child starts with its parent's figure, which says nothing of the child
        ending = Ending(
            code=code,
            cause=self._cause,
            reached=os.pread(self._descriptors.program, 1, 0) == b"!",
            stdout=stdout,
            stderr=stderr,
            wall_s=time.monotonic() - self._started,
            cpu_s=used.ru_utime + used.ru_stime if used else 0.0,
            memory_mb=peak / 1024,
        )
        return outcome(ending, self._job.limits)

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
        """Kill what is left, wait until it is gone, give everything back. A cancellation is raised again afterwards."""
        self.kill()
        cancelled = await outlast(self._ended)
        if self._channel:
            self._channel.close()
        self._closing.close()
        if cancelled:
            raise cancelled


def set_limits(pid: int, limits: Limits, mark: Mark | None, *, command: bool) -> None:
    """Hold process `pid` to `limits`.

    Raises:
        ProcessLookupError: it is gone.
    """
    memory = limits.memory_mb * _MIB
    seconds = max(1, math.ceil(limits.cpu_s))
    wanted = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_FSIZE, limits.disk_mb * _MIB, limits.disk_mb * _MIB),
        (resource.RLIMIT_NOFILE, limits.files, limits.files),
        # Runtimes such as Java's and V8 reserve far more address space than they use, so commands are held to private memory.
        (resource.RLIMIT_DATA if command else resource.RLIMIT_AS, memory, memory),
    ]
    if mark:
        wanted.append((resource.RLIMIT_MSGQUEUE, *mark))
    for kind, soft, hard in wanted:
        _, most = resource.prlimit(pid, kind)
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.prlimit(pid, kind, (soft, hard))
