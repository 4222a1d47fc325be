"""The program under test, loaded in a job of its own, and loaded again when a test has ended that job."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.judging.bundle import bundle
from treewright.sandbox.judging.encoding import encode
from treewright.sandbox.judging.messages import Loaded, Raised, Reply, read_reply
from treewright.sandbox.judging.session import MAX_CARRIED, Ended, Session, Verdict, session
from treewright.sandbox.judging.values import Malformed

GUEST = ("judging.values", "judging.encoding", "judging.frames", "judging.guest")
_MAX_SOURCE = 1 << 24
START_S = 10.0  # for the interpreter, which is no fault of the program on a busy machine
_MAX_STDOUT = 1 << 16


@dataclass(frozen=True, slots=True)
class Source:
    """What is loaded: the task's trusted setup, the program, and the names that the tests use of it."""

    setup: str
    program: str
    names: tuple[str, ...]


class LoadFailed(Exception):
    """The program did not load: the verdict on all its tests, and the reason."""

    def __init__(self, verdict: Verdict, detail: str) -> None:
        super().__init__(detail)
        self.verdict: Verdict = verdict
        self.detail = detail


def raised_verdict(raised: Raised) -> Verdict:
    """The verdict on a test whose call raised an exception."""
    return "memory" if "MemoryError" in raised.kinds else "error"


class Candidate:
    """A program that can be asked to do things, one at a time. Use as a context; nothing of it is left afterwards.

    Args:
        call_s: seconds for each request.
        load_s: seconds for loading the program.
        total_s: seconds for everything one job may come to do.
    """

    def __init__(
        self, sandbox: Sandbox, source: Source, limits: Limits, *, call_s: float, load_s: float, total_s: float
    ) -> None:
        self._sandbox, self._source = sandbox, source
        self._call_s, self._load_s = call_s, load_s
        self._limits = replace(limits, wall_s=total_s, cpu_s=total_s)
        self._jobs = AsyncExitStack()
        self._session: Session | None = None
        self.loaded = Loaded((), ())
        self.stdout = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._jobs.aclose()

    async def load(self) -> None:
        """Load the program into a fresh job, in place of the one before.

        Raises:
            LoadFailed: it does not load.
            SandboxUnavailable: no job could be started, twice.
        """
        try:
            answer = await self._load()
        except Ended as ended:
            raise LoadFailed(ended.verdict, f"while loading the program: {ended.detail}") from ended
        if isinstance(answer, Raised):
            raise LoadFailed(raised_verdict(answer), str(answer))
        if not isinstance(answer, Loaded):
            raise LoadFailed("error", "the program interfered with its tests while it was loaded")
        self.loaded = answer

    async def _load(self) -> Reply:
        order = encode(["load", self._source.setup, self._source.program, list(self._source.names)], max_chars=_MAX_SOURCE)
        for attempt in (1, 2):
            await self.stop()
            self._session = await self._jobs.enter_async_context(session(self._sandbox, bundle(*GUEST), self._limits))
            try:
                if await self._session.receive(START_S) != '["ready"]':
                    await self._session.broken("it spoke before it was loaded")
                await self._session.send(order, self._load_s)
                return await self.reply(self._load_s)
            except Ended as ended:
                if ended.verdict != "unavailable":
                    raise
                if attempt == 2:
                    raise SandboxUnavailable(
                        f"The sandbox cannot run programs ({self._sandbox.level}): {ended.detail}."
                    ) from ended
        raise AssertionError("unreachable")

    async def stop(self) -> None:
        """End the job, if there is one, and keep what the program printed."""
        if self._session:
            outcome = await self._session.finish()
            self.stdout = (self.stdout + outcome.stdout.decode("utf-8", "replace"))[:_MAX_STDOUT]
            self._session = None
        await self._jobs.aclose()

    async def send(self, text: str) -> None:
        """Send a request (see `guest`).

        Raises:
            Ended: the job is gone.
        """
        await self._open.send(text, self._call_s)

    async def receive(self) -> str:
        """The next frame of the program's process, unread, within the time for one request.

        Raises:
            Ended: the job is gone; `load` starts another.
        """
        return await self._open.receive(self._call_s, MAX_CARRIED)

    async def reply(self, seconds: float | None = None) -> Reply:
        """The same, read.

        Raises:
            Ended: as above, or the frame makes no sense.
        """
        text = await self._open.receive(seconds or self._call_s)
        try:
            return read_reply(text)
        except Malformed as error:
            await self._open.broken(str(error))

    @property
    def _open(self) -> Session:
        if self._session is None:
            raise Ended("error", "the program is not loaded")
        return self._session
