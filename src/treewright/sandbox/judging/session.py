"""A talk with one of our own guests in a job of its own: frames of text with a time limit, and why the talk ended.

Whatever goes wrong with the job (a crash, a limit, a frame that makes no sense) becomes one exception, `Ended`, with a verdict.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, NoReturn

from treewright.sandbox.base import ChannelClosed, Exit, Job, Limits, Process, Sandbox
from treewright.sandbox.judging.messages import clean

Verdict = Literal["pass", "fail", "error", "timeout", "memory", "output", "killed", "denied", "unavailable"]

# More than `encode` writes, so only a forged frame is longer. What the host only hands on may be longer than what it reads.
MAX_READ = (1 << 20) + 4096
MAX_CARRIED = (1 << 23) + 4096
_DYING_S = 1.0
_MAX_STDERR = 1000


class Ended(Exception):
    """The job is gone, and the verdict on what it was doing."""

    def __init__(self, verdict: Verdict, detail: str) -> None:
        super().__init__(detail)
        self.verdict: Verdict = verdict
        self.detail = detail


class Session:
    """The host's side of the talk."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def send(self, text: str, seconds: float) -> None:
        """Send one frame.

        Raises:
            Ended: the job is gone, or did not take the frame in `seconds`.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._process.send(text.encode())
        except TimeoutError:
            await self._late(seconds)
        except ChannelClosed:
            await self._gone()

    async def receive(self, seconds: float, max_bytes: int = MAX_READ) -> str:
        """The next frame.

        Raises:
            Ended: none came in `seconds`, the job is gone, or it sent what no guest of ours sends.
        """
        try:
            async with asyncio.timeout(seconds):
                frame = await self._process.receive(max_bytes)
        except TimeoutError:
            await self._late(seconds)
        except ChannelClosed:
            await self._gone()
        try:
            return frame.decode()
        except UnicodeDecodeError:
            await self.broken("it sent what is not text")

    async def finish(self) -> Exit:
        """End the job; how it ended and what it printed."""
        self._process.kill()
        return await self._process.wait()

    async def broken(self, what: str) -> NoReturn:
        """End the job for breaking the rules of the talk.

        Raises:
            Ended: always.
        """
        await self.finish()
        raise Ended("error", f"the program interfered with its tests: {what}")

    async def _late(self, seconds: float) -> NoReturn:
        outcome = await self.finish()
        if outcome.status == "killed":
            raise Ended("timeout", f"longer than {seconds:g} s")
        raise Ended(*_verdict(outcome))

    async def _gone(self) -> NoReturn:
        """The channel is closed: nearly always because the process is about to end by itself."""
        try:
            async with asyncio.timeout(_DYING_S):
                outcome = await self._process.wait()
        except TimeoutError:
            await self.broken("it closed the channel or sent a frame that is too long")
        raise Ended(*_verdict(outcome))


def _verdict(outcome: Exit) -> tuple[Verdict, str]:
    if outcome.status == "ok":
        return "error", "the program ended by itself with exit code 0"
    detail = outcome.detail
    if outcome.status == "error":
        last = clean(outcome.stderr.decode("utf-8", "replace").strip()[-_MAX_STDERR:])
        return "error", f"the program ended: {detail}" + (f"\n{last}" if last else "")
    return outcome.status, detail


@asynccontextmanager
async def session(sandbox: Sandbox, program: str, limits: Limits) -> AsyncIterator[Session]:
    """Run our own `program` (see `bundle`) in a job that is gone when the block is left."""
    job = Job(python=program, trusted=True, channel=True, limits=limits)
    async with sandbox.start(job) as process:
        yield Session(process)
