"""Waiting, pacing and trying again around any model: the only place where a `ModelError` is handled.

It is written for many calls at once against one provider. A slot is held only while a call is under way, never
during a pause. When the provider asks for a pause, all calls keep it, not only the one that was told.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from weakref import WeakKeyDictionary

from treewright.core.errors import ModelUnavailable, UserError
from treewright.models.base import RETRYABLE, Model, ModelError, Reply, Request


class Throttled:
    """A model that asks `model`, at most `concurrency` times at once, and asks again where that can help.

    Only faults in `RETRYABLE` are tried again. The pause before try n (1 is the first repeat) is drawn evenly from
    [0, min(longest_pause_s, first_pause_s * 2**(n - 1))] ("full jitter"), on top of what the provider asked for.

    Args:
        model: the model to ask; every try is one call of it.
        concurrency: most calls under way at once, >= 1.
        tries: most calls for one request, >= 1.
        patience_s: give up at once when the provider asks for a longer pause than this, in seconds.
        first_pause_s: longest pause before the first repeat, in seconds.
        longest_pause_s: no pause of our own is longer, in seconds.
        jitter: draws from [0, 1).
    """

    def __init__(
        self,
        model: Model,
        *,
        concurrency: int = 16,
        tries: int = 6,
        patience_s: float = 120.0,
        first_pause_s: float = 1.0,
        longest_pause_s: float = 30.0,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._model = model
        self._concurrency = concurrency
        self._tries = tries
        self._patience_s = patience_s
        self._first_pause_s = first_pause_s
        self._longest_pause_s = longest_pause_s
        self._jitter = jitter
        # subtle: a semaphore and a clock belong to one event loop, and a model may be used by one loop after another.
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, _Gate] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        """The wrapped model's name."""
        return self._model.name

    async def complete(self, request: Request) -> Reply:
        """Answer one request, trying again where that can help.

        Raises:
            ModelUnavailable: no answer after `tries` calls, or the fault cannot pass, or the provider's pause is too long.
            UserError: the prompt is longer than the model's context.
            BudgetSpent: as the wrapped model.
        """
        loop = asyncio.get_running_loop()
        gate = self._gates.get(loop)
        if gate is None:
            gate = self._gates[loop] = _Gate(loop, self._concurrency)
        for tried in range(1, self._tries + 1):
            await gate.enter()
            try:
                return await self._model.complete(request)
            except ModelError as error:
                failure = error
            finally:
                gate.leave()
            self._give_up(failure, tried)
            wanted = failure.retry_after or 0.0
            gate.close_for(wanted)
            longest = min(self._longest_pause_s, self._first_pause_s * 2 ** (tried - 1))
            await asyncio.sleep(wanted + self._jitter() * longest)
        raise AssertionError("the last try returns or raises")

    def _give_up(self, error: ModelError, tried: int) -> None:
        """Raise unless another try makes sense."""
        if error.fault == "context":
            raise UserError(f"{error}; shorten the task, or choose a model with a larger context") from error
        if error.fault not in RETRYABLE:
            raise ModelUnavailable(str(error)) from error
        if error.retry_after is not None and error.retry_after > self._patience_s:
            asked = f"it asks to wait {error.retry_after:g} s, longer than the {self._patience_s:g} s we would"
            raise ModelUnavailable(f"{error}; {asked}: go on with the run later") from error
        if tried == self._tries:
            raise ModelUnavailable(f"{error}; gave up after {tried} {'try' if tried == 1 else 'tries'}") from error


class _Gate:
    """Lets a number of calls in at once, and none before a moment that the provider named."""

    def __init__(self, loop: asyncio.AbstractEventLoop, width: int) -> None:
        self._now = loop.time
        self._slots = asyncio.Semaphore(width)
        self._opens = 0.0

    async def enter(self) -> None:
        while True:
            await self._slots.acquire()
            wait = self._opens - self._now()
            if wait <= 0:
                return
            self._slots.release()
            await asyncio.sleep(wait)

    def leave(self) -> None:
        self._slots.release()

    def close_for(self, seconds: float) -> None:
        if seconds > 0:
            self._opens = max(self._opens, self._now() + seconds)
