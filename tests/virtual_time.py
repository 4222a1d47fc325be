"""An event loop whose clock jumps: `asyncio.sleep(60)` takes no time, and every run of a test takes the same turns.

When nothing is left to do now, the clock moves to the next timer. A run in which nobody can ever move again, or which spins
without letting time pass, fails at once instead of hanging.
"""

from __future__ import annotations

import asyncio
from asyncio.events import _set_running_loop  # what the standard library offers to those who write a loop
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
SPINNING = 50_000


class Stuck(Exception):
    """Nobody can move: all wait for something that no timer will bring, or turns go by and time does not."""


@dataclass(slots=True, eq=False)
class _Turn:
    handle: asyncio.Handle
    call: Callable[[], object]
    context: Context

    def take(self) -> None:
        if not self.handle.cancelled():
            self.context.run(self.call)


class VirtualLoop(asyncio.AbstractEventLoop):
    """Just enough of a loop for tasks, sleeps, events, task groups and time-outs.

    Args:
        tick_s: virtual seconds that each turn of a task costs, as on a machine that is busy. 0 for exact sums.
        on_idle: called each time before the clock jumps, when everybody waits.
    """

    def __init__(self, tick_s: float = 0.0, on_idle: Callable[[], None] | None = None) -> None:
        self.complaints: list[dict[str, Any]] = []
        self._tick_s = tick_s
        self._on_idle = on_idle
        self._now = 0.0
        self._ready: deque[_Turn] = deque()
        self._timers: list[tuple[float, int, _Turn]] = []
        self._made = 0
        self._turns = 0

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_soon(self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None) -> asyncio.Handle:
        context = context or copy_context()
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(_Turn(handle, lambda: callback(*args), context))
        return handle

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        context = context or copy_context()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._made += 1
        heappush(self._timers, (when, self._made, _Turn(handle, lambda: callback(*args), context)))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer is passed over when its time comes."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Any, *, name: str | None = None, context: Context | None = None, **_: object
    ) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.complaints.append(context)

    def turn(self) -> None:
        """Take every turn that is due; when none is, let the clock jump first.

        Raises:
            Stuck: there is nothing to wait for, or time stands still.
        """
        if not self._ready:
            self._jump()
        for _ in range(len(self._ready)):
            self._turns += 1
            self._now += self._tick_s
            self._ready.popleft().take()
        if self._turns > SPINNING:
            raise Stuck(f"{SPINNING} turns and it is still {self._now} s")
        while self._timers and self._timers[0][0] <= self._now:
            self._ready.append(heappop(self._timers)[2])

    def wind_up(self, left: list[asyncio.Task[Any]]) -> None:
        """Cancel the tasks that are left, so that a run that failed says why and nothing else."""
        self._on_idle = None
        self._turns = 0
        for task in left:
            task.cancel()
        with suppress(Stuck):
            while not all(task.done() for task in left):
                self.turn()

    def _jump(self) -> None:
        if self._on_idle is not None:
            self._on_idle()
        while self._timers and self._timers[0][2].handle.cancelled():
            heappop(self._timers)
        if not self._timers:
            raise Stuck("everybody waits and no timer is set")
        self._now = max(self._now, self._timers[0][0])
        self._turns = 0
        while self._timers and self._timers[0][0] <= self._now:
            self._ready.append(heappop(self._timers)[2])


def run(main: Coroutine[Any, Any, T], *, tick_s: float = 0.0, on_idle: Callable[[], None] | None = None) -> T:
    """Run `main` to its end on a clock of its own, and see that it leaves no task behind.

    Raises:
        Stuck: it cannot end.
        AssertionError: a task outlived it, or an exception went unseen.
    """
    loop = VirtualLoop(tick_s, on_idle)  # type: ignore[abstract]  # a search needs a dozen of the fifty methods
    _set_running_loop(loop)
    try:
        task: asyncio.Task[T] = loop.create_task(main)
        try:
            while not task.done():
                loop.turn()
        finally:
            left = [other for other in asyncio.all_tasks(loop) if not other.done()]
            loop.wind_up(left)
        assert not left, f"tasks left behind: {left}"
        assert not loop.complaints, loop.complaints
        return task.result()
    finally:
        _set_running_loop(None)
