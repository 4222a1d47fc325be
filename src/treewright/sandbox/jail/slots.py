"""Which slot takes the next run: slots are started when they are needed, replaced when they break, and ended together."""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.jail.slot import Slot

Open = Callable[[int], Slot]  # number of the slot -> a started slot; blocks


class Slots:
    """The slots of one sandbox.

    Args:
        open_shared: starts a slot that takes many runs at once.
        open_own: starts a slot that takes one run at a time (one whose memory or processor time is counted by the slot).
        count: how many shared slots at most, and how many idle own ones are kept.
    """

    def __init__(self, open_shared: Open, open_own: Open, count: int) -> None:
        self._open_shared = open_shared
        self._open_own = open_own
        self._shared: list[Future[Slot] | None] = [None] * count
        self._waiting = [0] * count
        self._idle: list[Slot] = []
        self._numbers = itertools.count(count)
        self._all: set[Slot] = set()
        self._leaving: set[Slot] = set()
        # One thread for the sandbox's whole life: a jail dies with the thread that started it (see `open_slot`).
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="sandbox")
        self._closing = weakref.finalize(self, _close, self._all, self._starter, os.getpid())

    async def shared(self) -> Slot:
        """The least busy shared slot; a new one if all are busy and there may be more.

        Raises:
            SandboxUnavailable: it could not be started, or all this is closed.
            OSError: the host is out of processes or descriptors.
        """
        at = min(range(len(self._shared)), key=self._load)
        starting = self._shared[at]
        if starting is None:
            starting = self._shared[at] = self._begin(self._open_shared, at)
        self._waiting[at] += 1
        try:
            return await asyncio.shield(asyncio.wrap_future(starting))
        finally:
            if self._shared[at] is starting and starting.done() and (starting.cancelled() or starting.exception()):
                self._shared[at] = None
            self._waiting[at] -= 1

    def _load(self, at: int) -> tuple[int, bool, int]:
        starting = self._shared[at]
        slot = _started(starting)
        runs = slot.runs if slot else 0
        return runs + self._waiting[at], starting is None, at

    async def own(self) -> Slot:
        """A slot for one run alone; give it back with `release`. Errors as for `shared`."""
        while self._idle:
            slot = self._idle.pop()
            if slot.alive:
                return slot
            self.discard(slot)
        starting = self._begin(self._open_own, next(self._numbers))
        try:
            return await asyncio.shield(asyncio.wrap_future(starting))
        except asyncio.CancelledError:
            starting.add_done_callback(self._keep)
            raise

    def _keep(self, started: Future[Slot]) -> None:
        slot = _started(started)
        if slot:
            self._idle.append(slot)

    def release(self, slot: Slot) -> None:
        """Take back a slot that `own` gave."""
        if slot.alive and len(self._idle) < len(self._shared):
            self._idle.append(slot)
        else:
            self.discard(slot)

    def discard(self, slot: Slot) -> None:
        """End a slot that is broken or not needed; the next run gets another."""
        for at, starting in enumerate(self._shared):
            if _started(starting) is slot:
                self._shared[at] = None
        if slot in self._all and slot not in self._leaving:
            self._leaving.add(slot)
            self._starter.submit(self._end, slot)

    def _begin(self, open_slot: Open, number: int) -> Future[Slot]:
        if not self._closing.alive:
            raise SandboxUnavailable("This sandbox is closed; open another.")
        try:
            return self._starter.submit(self._start, open_slot, number)
        except RuntimeError as error:  # its thread could not be started
            raise OSError(errno.EAGAIN, str(error)) from error

    def _start(self, open_slot: Open, number: int) -> Slot:
        slot = open_slot(number)
        self._all.add(slot)
        return slot

    def _end(self, slot: Slot) -> None:
        slot.close()
        self._all.discard(slot)
        self._leaving.discard(slot)

    def running(self) -> list[Slot]:
        """The slots that are up at the moment."""
        return [slot for slot in self._all - self._leaving if slot.alive]

    def close(self) -> None:
        """End all slots and wait until they are gone. Also done when the object is collected or the interpreter ends."""
        self._closing()
        self._shared = [None] * len(self._shared)
        self._idle.clear()


def _started(starting: Future[Slot] | None) -> Slot | None:
    if starting is None or not starting.done() or starting.cancelled() or starting.exception():
        return None
    return starting.result()


def _close(slots: set[Slot], starter: ThreadPoolExecutor, owner: int) -> None:
    if os.getpid() != owner:  # a forked copy of the host owns none of this
        return
    starter.shutdown(wait=True, cancel_futures=True)
    while slots:
        slots.pop().close()
