"""Threads for functions that block. A thread that hangs cannot be ended: it is left behind, counted, and never waited for.

Not `concurrent.futures`: its threads are joined when the interpreter ends, so one tool that hangs would keep the process.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

_Work = Callable[[], None] | None


class Threads:
    """A bounded pool of daemon threads.

    Args:
        most: calls at once; more wait.
        most_left_behind: calls that nobody waits for any more and that still run, after which nothing new starts.
    """

    def __init__(self, most: int = 32, most_left_behind: int = 128) -> None:
        self._places = asyncio.Semaphore(most)
        self._most_left_behind = most_left_behind
        self._left_behind = 0
        self._closed = False
        self._idle: list[SimpleQueue[_Work]] = []

    @property
    def exhausted(self) -> bool:
        """So many calls hang that no more are made."""
        return self._left_behind >= self._most_left_behind

    async def run(self, call: Callable[[], T], ended: Callable[[], None] = lambda: None) -> T:
        """What `call`, which must not raise, returns in a thread.

        When the waiting is cancelled, the call goes on and its place is given to others.

        Args:
            call: what to run, with a copy of this task's context variables.
            ended: called in the event loop when the call has really ended, cancelled or not; also when it was never begun.
        """
        try:
            await self._places.acquire()
        except asyncio.CancelledError:
            ended()
            raise
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()
        work = self._idle.pop() if self._idle else _new_thread()

        def in_thread() -> None:
            value = context.run(call)
            try:
                loop.call_soon_threadsafe(back, value)
            except RuntimeError:  # the loop was closed meanwhile: nobody waits, and this thread gets no more work
                work.put(None)

        def back(value: T) -> None:
            if self._closed:
                work.put(None)
            else:
                self._idle.append(work)
            ended()
            if future.cancelled():
                self._left_behind -= 1
            else:
                future.set_result(value)

        work.put(in_thread)
        try:
            return await future
        except asyncio.CancelledError:
            # subtle: cancelled after the result was set, the thread is back already and nothing is left behind.
            self._left_behind += future.cancelled()
            raise
        finally:
            self._places.release()

    def close(self) -> None:
        """End the threads: those that are idle now, the others when their call ends."""
        self._closed = True
        while self._idle:
            self._idle.pop().put(None)


def _new_thread() -> SimpleQueue[_Work]:
    work: SimpleQueue[_Work] = SimpleQueue()
    Thread(target=_serve, args=(work,), name="tool", daemon=True).start()
    return work


def _serve(work: SimpleQueue[_Work]) -> None:
    while (call := work.get()) is not None:
        call()
