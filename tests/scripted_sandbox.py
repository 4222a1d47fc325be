"""A sandbox without processes: each job gives the frames it was told to give, then ends as it was told to end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from treewright.sandbox.base import ChannelClosed, Exit, Job, Process

_WELL = Exit("ok", code=0)


@dataclass(frozen=True, slots=True)
class Script:
    """One job: the frames it sends, one for each that is awaited; then it is gone, as `end` says."""

    frames: Sequence[bytes] = ()
    end: Exit = _WELL


@dataclass(slots=True)
class ScriptedProcess:
    script: Script
    sent: list[bytes] = field(default_factory=list)
    killed: bool = False
    at: int = 0

    async def send(self, frame: bytes) -> None:
        self.sent.append(frame)

    async def receive(self, max_bytes: int = 1 << 20) -> bytes:
        if self.at >= len(self.script.frames):
            raise ChannelClosed("the script is at its end")
        self.at += 1
        frame = self.script.frames[self.at - 1]
        if len(frame) > max_bytes:
            raise ChannelClosed("too long")
        return frame

    async def wait(self) -> Exit:
        over = self.at >= len(self.script.frames)
        return self.script.end if over or not self.killed else Exit("killed", signal=9, stdout=self.script.end.stdout)

    def kill(self) -> None:
        self.killed = True


class ScriptedSandbox:
    """Starts `scripts` one after another; the last one again and again."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = scripts
        self.jobs: list[Job] = []
        self.processes: list[ScriptedProcess] = []

    @property
    def level(self) -> str:
        return "scripted"

    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        return self._start(job)

    @asynccontextmanager
    async def _start(self, job: Job) -> AsyncIterator[Process]:
        process = ScriptedProcess(self._scripts[min(len(self.jobs), len(self._scripts) - 1)])
        self.jobs.append(job)
        self.processes.append(process)
        yield process
