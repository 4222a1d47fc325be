"""Programs that call tools: the program runs in the sandbox, each call of a tool comes out to the host, its result goes back.

What crosses is JSON in frames of bounded size, never pickle; the peer may be hostile, so every frame is checked, and calls are
bounded in number and at once. Keys and connections stay on this side. The time that tools take does not count as the
program's: its clock stands still while a call is under way.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from types import coroutine
from typing import Any

from treewright.core.errors import SandboxUnavailable, TreewrightError
from treewright.sandbox.base import ChannelClosed, Exit, Job, Limits, Process, Sandbox
from treewright.sandbox.calling import Call, Failed, Function, Returned
from treewright.sandbox.judging.bundle import bundle

GUEST = ("judging.frames", "bridge_guest")
_MAX_FRAME = (1 << 20) + 4096
_MAX_REPLY = 1 << 23
_AT_ONCE = 32
_LOOK_S = 0.02
_TURN_S = 0.005
_MAX_MESSAGE = 20_000
_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that has run.

    Args:
        exit: how it ended, with what it printed.
        answer: the last value it gave to `final_answer`, plain JSON, in a tuple; empty when it gave none.
        raised: class and message of the exception that ended it; "" when none did.
        trace: the traceback, frames of its own file only.
        calls: calls it made.
        failed_calls: those that failed.
        tool_s: seconds during which calls were under way.
    """

    exit: Exit
    answer: tuple[Any, ...] = ()
    raised: str = ""
    trace: str = ""
    calls: int = 0
    failed_calls: int = 0
    tool_s: float = 0.0


async def run_program(
    sandbox: Sandbox,
    program: str,
    functions: Sequence[Function],
    call: Call,
    *,
    limits: Limits = _LIMITS,
    tool_s: float = 600.0,
    most_calls: int = 10_000,
) -> Ran:
    """Run `program`, with `functions` and `final_answer` among its globals, to its end.

    Args:
        sandbox: where.
        program: Python source, untrusted.
        functions: what it can call.
        call: carries out a call; several may be under way at once. Cancelled when the program ends first.
        limits: of the program; `wall_s` is its own time, without that of tools.
        tool_s: most seconds that tools may take together.
        most_calls: calls after which every other fails.

    Raises:
        SandboxUnavailable: the sandbox cannot run it, also at a second attempt.
        TreewrightError: what `call` raised (the budget is spent); the program was ended for it.
    """
    for _ in range(2):
        job = Job(python=bundle(*GUEST), trusted=True, channel=True, limits=replace(limits, wall_s=limits.wall_s + tool_s))
        async with sandbox.start(job) as process:
            ran = await _Talk(process, call, limits.wall_s, most_calls).hold(program, functions)
        if ran.exit.status != "unavailable" or ran.calls:
            return ran
    raise SandboxUnavailable(f"The sandbox cannot run programs ({sandbox.level}): {ran.exit.detail}.")


class _Talk:
    """The host's side of one program's talk.

    One worker reads a frame and carries the call out itself. Only when the call has to wait for something does another worker
    take over the reading, so a quick call costs no task of its own, and slow ones run side by side. With as many under way as
    may be, nobody reads until one is done.
    """

    def __init__(self, process: Process, call: Call, wall_s: float, most_calls: int) -> None:
        self._process, self._call, self._wall_s, self._most_calls = process, call, wall_s, most_calls
        self._loop = asyncio.get_running_loop()
        self._names: frozenset[str] = frozenset()
        self._answer: tuple[Any, ...] = ()
        self._raised = self._trace = ""
        self._calls = self._failed = self._under_way = 0
        self._tool_s, self._called_at = 0.0, 0.0
        self._started = self._turned = monotonic()
        self._nobody_reads = self._garbled = False
        self._workers: set[asyncio.Task[None]] = set()
        self._sending = asyncio.Lock()
        self._fault: TreewrightError | None = None
        self._cause = ""
        self._clock: asyncio.TimerHandle

    async def hold(self, program: str, functions: Sequence[Function]) -> Ran:
        """Send the program, serve its calls, and say how it ended."""
        shapes = [
            [f.name, [[p.name, p.wire, p.required, list(p.default) or None, p.annotation] for p in f.parameters], f.doc]
            for f in functions
        ]
        self._names = frozenset(f.name for f in functions)
        self._look()
        try:
            async with asyncio.TaskGroup() as group:
                with suppress(ChannelClosed):
                    await self._process.send(json.dumps({"program": program, "functions": shapes}).encode())
                    self._read_on(group)
                ended = await self._process.wait()
                for worker in self._workers:
                    worker.cancel()
        finally:
            self._clock.cancel()
        if self._fault is not None:
            raise self._fault
        while await self._next_call():  # what was said last may be the answer; calls of a program that is gone are not made
            pass
        tool_s = round(self._tool_s, 4)
        return Ran(self._named(ended), self._answer, self._raised, self._trace, self._calls, self._failed, tool_s)

    def _read_on(self, group: asyncio.TaskGroup) -> None:
        """Have a new worker take over the reading, unless enough are busy: then the first that is done reads on."""
        if len(self._workers) >= _AT_ONCE:
            self._nobody_reads = True
            return
        worker = group.create_task(self._work(group))
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    async def _work(self, group: asyncio.TaskGroup) -> None:
        """Read calls and carry them out, until another worker reads."""
        while (call := await self._next_call()) is not None:
            self._nobody_reads = True
            await _noticed(self._carry_out(*call), partial(self._relieve, group))
            if not self._nobody_reads:
                return
            self._nobody_reads = False

    def _relieve(self, group: asyncio.TaskGroup) -> None:
        """A call waits: somebody else must read on."""
        self._nobody_reads = False
        self._read_on(group)

    async def _next_call(self) -> tuple[int, str, dict[str, Any]] | None:
        """The next call: its number, function and arguments. None when no other can come."""
        while not self._garbled:
            if monotonic() - self._turned > _TURN_S:  # else a program that sends without end would have the loop for itself
                await asyncio.sleep(0)
                self._turned = monotonic()
            try:
                frame = await self._process.receive(_MAX_FRAME)
            except ChannelClosed:
                break
            match _read(frame):
                case ["call", int(number), str(name), dict(arguments)]:
                    return number, name, arguments
                case ["answer", value]:
                    self._answer = (value,)
                case ["raised", str(kind), str(message), str(trace)]:
                    self._raised, self._trace = f"{kind}: {message}" if message else kind, trace
                case _:
                    self._garbled = True
                    self._end("it sent what is no call")
        return None

    async def _carry_out(self, number: int, name: str, arguments: dict[str, Any]) -> None:
        self._calls += 1
        try:
            await self._send(number, await self._given(name, arguments))
        except ChannelClosed:
            pass  # the program is gone
        except TreewrightError as fault:
            self._fault = self._fault or fault
            self._end("the search ended")

    async def _given(self, name: str, arguments: dict[str, Any]) -> Returned | Failed:
        if self._calls > self._most_calls:
            return Failed(f"more than {self._most_calls} calls in one program")
        if name not in self._names:
            return Failed(f"there is no function {name[:80]}")
        self._begin()
        try:
            return await self._call(name, arguments)
        finally:
            self._finish()

    async def _send(self, number: int, reply: Returned | Failed) -> None:
        """Send the reply. The time this takes is the program's, which may not read."""
        if isinstance(reply, Returned):
            try:
                text = json.dumps([number, True, reply.value])
                problem = f"is {len(text)} characters of JSON, more than {_MAX_REPLY}" if len(text) > _MAX_REPLY else ""
            except (TypeError, ValueError, RecursionError) as error:
                problem = f"is no plain data: {error}"
            if problem:
                reply = Failed(f"the result {problem}")
        if isinstance(reply, Failed):
            self._failed += 1
            text = json.dumps([number, False, reply.message[:_MAX_MESSAGE]])
        async with self._sending:
            await self._process.send(text.encode())

    def _begin(self) -> None:
        self._under_way += 1
        if self._under_way == 1:
            self._called_at = monotonic()

    def _finish(self) -> None:
        self._under_way -= 1
        if self._under_way == 0:
            self._tool_s += monotonic() - self._called_at

    def _own_s(self) -> float:
        """Seconds of the program itself so far: without those during which a call was under way."""
        now = monotonic()
        return now - self._started - self._tool_s - (now - self._called_at if self._under_way else 0.0)

    def _look(self) -> None:
        """End the program if its own time is over, else look again when it could be."""
        left = self._wall_s - self._own_s()
        if left > 0:
            self._clock = asyncio.get_running_loop().call_later(max(left, _LOOK_S), self._look)
        else:
            self._end(f"more than {self._wall_s:g} s of its own time", "timeout")

    def _end(self, cause: str, status: str = "") -> None:
        if not self._cause:
            self._cause = f"{status}:{cause}"
            self._process.kill()

    def _named(self, ended: Exit) -> Exit:
        """The exit with the reason we had for ending it."""
        if ended.status != "killed" or not self._cause:
            return ended
        status, _, cause = self._cause.partition(":")
        return replace(ended, status="timeout" if status else "error", detail=cause)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_decode = json.JSONDecoder(parse_constant=_no_number).decode


def _read(frame: bytes) -> Any:
    try:
        return _decode(frame.decode())
    except (ValueError, RecursionError):
        return None


@coroutine
def _noticed(steps: Coroutine[Any, Any, None], waits: Callable[[], None]) -> Generator[Any, Any, None]:
    """Await `steps`, and call `waits` when it first has to wait.

    So a quick call is told from a slow one at no cost: no task, no turn of the event loop.
    """
    try:
        awaited = steps.send(None)
        waits()
        while True:
            try:
                given = yield awaited
            except BaseException as error:  # noqa: BLE001 - for `steps`, which may have something to put away first
                awaited = steps.throw(error)
            else:
                awaited = steps.send(given)
    except StopIteration:
        return
