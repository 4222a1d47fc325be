"""Who reads: never two, never nobody while there is room for a call. A scripted program, so that every turn can be watched."""

from __future__ import annotations

import asyncio
import json
import random
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import monotonic
from typing import Any

import pytest

from treewright.core.errors import BudgetSpent
from treewright.sandbox.base import ChannelClosed, Exit, Job, Process
from treewright.sandbox.bridge import Ran, run_program
from treewright.sandbox.calling import Call, Failed, Function, Parameter, Returned

TOOL = Function("tool", (Parameter("x", "x"),))
MOST = 32


class Peer:
    """A program whose frames a test sends; it sees who reads, and in what order replies come."""

    def __init__(self) -> None:
        self.frames: deque[bytes] = deque()
        self.replies: list[list[Any]] = []
        self.readers = self.writers = 0
        self.turn = asyncio.Event()
        self.over: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self.hurdles: Callable[[], int] = int

    @property
    def level(self) -> str:
        return "scripted"

    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        return self._start()

    @asynccontextmanager
    async def _start(self) -> AsyncIterator[Process]:
        yield self

    async def send(self, frame: bytes) -> None:
        self.writers += 1
        assert self.writers == 1
        for _ in range(self.hurdles()):
            await asyncio.sleep(0)
        self.writers -= 1
        self.replies.append(json.loads(frame))

    async def receive(self, max_bytes: int = 1 << 20) -> bytes:
        self.readers += 1
        assert self.readers == 1, "two read at once"
        try:
            while not self.frames:
                if self.over.done():
                    raise ChannelClosed
                self.turn.clear()
                await self.turn.wait()
            return self.frames.popleft()
        finally:
            self.readers -= 1

    async def wait(self) -> Exit:
        return await asyncio.shield(self.over)

    def kill(self) -> None:
        self.leave(Exit("killed", signal=9))

    def leave(self, end: Exit = Exit("ok", code=0)) -> None:  # noqa: B008 - a value
        if not self.over.done():
            self.over.set_result(end)
        self.turn.set()

    def say(self, *frames: object) -> None:
        self.frames.extend(json.dumps(frame).encode() for frame in frames)
        self.turn.set()

    def calls(self, *numbers: int) -> None:
        self.say(*(["call", number, "tool", {"x": number}] for number in numbers))


async def settled() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


def running(peer: Peer, call: Call) -> asyncio.Task[Ran]:
    return asyncio.ensure_future(run_program(peer, "", [TOOL], call))


@pytest.mark.parametrize("seed", range(40))
def test_every_call_gets_its_reply_whatever_waits_for_what(seed: int) -> None:
    draw = random.Random(seed)
    gates: dict[int, asyncio.Event] = {}
    most = under_way = 0

    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        nonlocal most, under_way
        under_way += 1
        most = max(most, under_way)
        for _ in range(draw.choice((0, 0, 0, 1, 2, 5))):
            await asyncio.sleep(0)
        if draw.random() < 0.3:
            gates[arguments["x"]] = asyncio.Event()
            await gates[arguments["x"]].wait()
        under_way -= 1
        return Returned(-arguments["x"])

    async def run() -> None:
        peer = Peer()
        peer.hurdles = lambda: draw.choice((0, 0, 0, 1, 3))
        talk = running(peer, call)
        left = list(range(1, 301))
        while left or gates or len(peer.replies) < 301:
            count = draw.choice((0, 1, 1, 2, 40))
            peer.calls(*left[:count])
            del left[:count]
            for _ in range(draw.choice((0, 1, 2, 30))):
                await asyncio.sleep(0)
            for number in draw.sample(sorted(gates), min(len(gates), draw.choice((0, 1, 3)))):
                gates.pop(number).set()
            assert peer.readers <= 1
        await settled()
        assert peer.readers == 1
        peer.leave()
        assert (await talk).calls == 300
        assert sorted(peer.replies[1:]) == sorted([number, True, -number] for number in range(1, 301))
        assert len(asyncio.all_tasks()) == 2  # the time-out has one

    asyncio.run(asyncio.wait_for(run(), 60))
    assert most <= MOST


def test_somebody_reads_until_as_many_calls_as_may_be_are_under_way_and_again_when_one_is_done() -> None:
    async def run() -> None:
        peer, gates = Peer(), [asyncio.Event() for _ in range(100)]

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            await gates[arguments["x"]].wait()
            return Returned(None)

        talk = running(peer, call)
        for number in range(MOST):
            await settled()
            assert peer.readers == 1, number
            peer.calls(number)
        await settled()
        assert peer.readers == 0
        peer.calls(50, 51)
        await settled()
        assert len(peer.frames) == 2
        gates[7].set()
        await settled()
        assert [reply[0] for reply in peer.replies[1:]] == [7]
        assert len(peer.frames) == 1
        peer.leave()
        await talk

    asyncio.run(run())


@pytest.mark.parametrize("frame", [["answer", 1], ["call", 1, "tool", {"x": 1}]])
def test_a_program_that_always_has_something_to_say_does_not_keep_the_loop(frame: list[Any]) -> None:
    class Flood(Peer):
        async def receive(self, max_bytes: int = 1 << 20) -> bytes:
            if self.over.done():
                raise ChannelClosed
            assert monotonic() < began + 20, "nothing else had its turn"
            return json.dumps(frame).encode()

    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        return Returned(None)

    async def run() -> Ran:
        peer = Flood()
        talk = running(peer, call)
        await asyncio.sleep(0.02)
        peer.leave()
        return await talk

    began = monotonic()
    assert asyncio.run(run()).exit.status == "ok"


def test_a_quick_call_makes_no_task() -> None:
    async def run() -> None:
        peer, tasks = Peer(), set()

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            tasks.add(asyncio.current_task())
            return Returned(None)

        talk = running(peer, call)
        peer.calls(*range(100))
        await settled()
        peer.leave()
        assert (await talk).calls == 100
        assert len(tasks) == 1

    asyncio.run(run())


def test_calls_under_way_end_with_the_program_though_nobody_reads() -> None:
    async def run() -> None:
        peer, cancelled = Peer(), []

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.append(arguments["x"])
            return Returned(None)

        talk = running(peer, call)
        peer.calls(*range(MOST + 5))
        await settled()
        peer.say(["answer", "last"])
        peer.leave()
        done = await talk
        assert (done.exit.status, done.answer, done.calls) == ("ok", ("last",), MOST)
        assert sorted(cancelled) == list(range(MOST))

    asyncio.run(run())


def test_the_first_fault_is_the_one_that_is_raised() -> None:
    async def run() -> None:
        peer, gate = Peer(), asyncio.Event()

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            await gate.wait()
            raise BudgetSpent(f"x{arguments['x']}")

        talk = running(peer, call)
        peer.calls(1, 2)
        await settled()
        gate.set()
        with pytest.raises(BudgetSpent, match="x1"):
            await talk
        assert peer.over.result().status == "killed"

    asyncio.run(run())


def test_a_program_that_left_first_keeps_its_own_end_whatever_we_wanted() -> None:
    async def run() -> None:
        peer = Peer()

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            return Returned(None)

        talk = running(peer, call)
        await settled()
        peer.say("junk")
        peer.leave(Exit("memory", code=1, detail="too much"))
        done = await talk
        assert (done.exit.status, done.exit.detail) == ("memory", "too much")

    asyncio.run(run())
