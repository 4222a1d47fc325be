"""From a job to a run in a slot: what the hardened sandboxes have in common."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Job, Process
from treewright.sandbox.capture import NeverRan
from treewright.sandbox.jail.parcel import Parcel
from treewright.sandbox.jail.run import Run
from treewright.sandbox.jail.slot import Gone, Slot
from treewright.sandbox.jail.slots import Slots
from treewright.sandbox.workfolder import TRANSIENT

_BUSY_S = 0.002
_TRIES = 3
Prepare = Callable[[Job, Slot], Parcel]


class Launcher:
    """Starts runs.

    Args:
        slots: where they run.
        alone: whether a job needs a slot of its own.
    """

    def __init__(self, slots: Slots, *, alone: Callable[[Job], bool]) -> None:
        self._slots, self._alone = slots, alone
        self._has_worked = False

    @asynccontextmanager
    async def run(self, job: Job, prepare: Prepare) -> AsyncIterator[Process]:
        """Run `job` until the block is left. See `Sandbox.start`.

        Args:
            job: what to run.
            prepare: opens what a run of it in the slot that is found needs.
        """
        alone = self._alone(job)
        for _ in range(_TRIES):
            slot = await self._slot(alone)
            if isinstance(slot, NeverRan):
                yield slot
                return
            slot.runs += 1
            try:
                run = await self._submit(job, slot, prepare)
                if run is None:
                    continue
                try:
                    yield run
                finally:
                    if isinstance(run, Run):
                        await run.close()
                return
            finally:
                slot.runs -= 1
                if alone:
                    self._slots.release(slot)
        yield NeverRan("the sandbox's own processes die as soon as they are started")

    async def _slot(self, alone: bool) -> Slot | NeverRan:
        try:
            slot = await (self._slots.own() if alone else self._slots.shared())
        except SandboxUnavailable as error:
            if not self._has_worked:
                raise
            return NeverRan(str(error))
        except OSError as error:
            if error.errno not in TRANSIENT:
                raise SandboxUnavailable(f"The sandbox cannot be started: {error}.") from error
            return NeverRan(f"the host cannot start a process: {error.strerror}")
        self._has_worked = True
        return slot

    async def _submit(self, job: Job, slot: Slot, prepare: Prepare) -> Run | NeverRan | None:
        """The run; or why there is none; or None if the slot is gone and another may do better."""
        try:
            parcel = prepare(job, slot)
        except OSError as error:
            return NeverRan(f"the host cannot start a run: {error.strerror}")
        with parcel.theirs:
            waited = 0.0
            while True:
                try:
                    slot.submit(parcel.request, parcel.handed)
                    break
                except BlockingIOError:
                    await _pause(parcel)
                    waited += _BUSY_S
                except Gone:
                    parcel.ours.close()
                    self._slots.discard(slot)
                    return None
                except OSError as error:
                    parcel.ours.close()
                    return NeverRan(f"the host cannot start a run: {error.strerror}")
        return Run(job, parcel, broken=lambda: self._slots.discard(slot), memory_kills=slot.memory_kills)


async def _pause(parcel: Parcel) -> None:
    """The zygote is busy with earlier requests; a cancellation meanwhile leaves nothing open."""
    try:
        await asyncio.sleep(_BUSY_S)
    except asyncio.CancelledError:
        parcel.ours.close()
        raise
