"""`Metered`: holds a model's calls to the budget and writes each of them down before its reply is used.

It sits directly around an adapter, inside `throttled`, so every try is reserved, charged and recorded on its own.

What is charged:
    answered            the provider's own count; our upper estimate where it gave none
    failed, not sent or refused by the provider    one call, no tokens
    timed out, garbled, cancelled                  the worst case: the provider may have worked and charged
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from time import perf_counter

from treewright.core.budget import Budget, Spend
from treewright.core.errors import BudgetSpent, TreewrightError
from treewright.core.events import BudgetChanged, ModelCalled, Sink
from treewright.models.base import Fault, Model, ModelError, Reply, Request
from treewright.models.estimates import most_usage
from treewright.models.prices import Pricing

#: A reply is not worth asking for with less room than this, in tokens.
LEAST_REPLY = 64
#: Faults after which the provider may have worked, and charged, all the same.
_MAYBE_CHARGED: frozenset[Fault] = frozenset({"timeout", "garbled"})


def free(*, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
    """The price of a model that costs nothing, or whose price is unknown."""
    return 0.0


@dataclass(frozen=True, slots=True)
class Metered:
    """A model whose calls are held to a budget and recorded.

    Args:
        model: the adapter.
        budget: of the run.
        emit: takes `BudgetChanged` before a call and `ModelCalled` before its reply is used.
        numbers: numbers of the calls, going on where an earlier sitting of the run ended.
        pricing: dollars of a call.
    """

    model: Model
    budget: Budget
    emit: Sink
    numbers: count[int]
    pricing: Pricing = free

    @property
    def name(self) -> str:
        """The adapter's name."""
        return self.model.name

    async def complete(self, request: Request) -> Reply:
        """Answer one request within the budget.

        When less is left than `max_tokens`, the reply is asked for with what is left.

        Raises:
            BudgetSpent: not even a short reply fits into what is left. Nothing was sent.
            ModelError: the call failed; it was charged and recorded.
        """
        asked, worst = await self._reserved(request)
        number = next(self.numbers)
        started = perf_counter()
        charge = worst  # until we know better: a cancelled call may have been charged in full
        call = ModelCalled(
            number, request.caller.node, request.caller.role, request.caller.attempt, request.digest, self.name,
            tuple((m.speaker, m.text) for m in request.messages), None, "cancelled", finish="",
        )  # fmt: skip
        try:
            self.emit(BudgetChanged(number, worst))
            reply = await self.model.complete(asked)
            reply = replace(reply, text=_storable(reply.text))
            charge = self._charge(reply)
            call = replace(
                call, reply=reply.text, error="", finish=reply.finish, input_tokens=reply.usage.input,
                output_tokens=reply.usage.output, cached_tokens=reply.usage.cached,
            )  # fmt: skip
            return reply
        except ModelError as error:
            charge = worst if error.fault in _MAYBE_CHARGED else Spend(calls=1)
            call = replace(call, error=f"{error.fault}: {error}")
            raise
        except TreewrightError as fault:  # the adapter knows that asking again is no use
            charge = Spend(calls=1)
            call = replace(call, error=str(fault))
            raise
        finally:
            self.budget.settle(worst, charge)
            self.emit(replace(call, spent=charge, seconds=round(perf_counter() - started, 4)))

    async def _reserved(self, request: Request) -> tuple[Request, Spend]:
        """The request as it can be paid for, and what is reserved for it: waits for refunds if only they make room."""
        input_tokens = most_usage(request, "").input
        changed = asyncio.Event()
        listener: Callable[[], None] = changed.set
        self.budget.on_change.append(listener)
        try:
            while True:
                asked = self._shortened(request, input_tokens)  # anew each time: what others spent meanwhile is gone for good
                worst = self._worst(input_tokens, asked.max_tokens)
                if self.budget.reserve(worst):
                    return asked, worst
                changed.clear()
                await changed.wait()
        finally:
            self.budget.on_change.remove(listener)

    def _shortened(self, request: Request, input_tokens: int) -> Request:
        """The request with `max_tokens` cut to what can still be paid for, all refunds included."""
        room = self._room(input_tokens)
        if room is None or request.max_tokens <= room[0]:
            return request
        if room[0] < LEAST_REPLY:
            raise BudgetSpent(room[1])
        return replace(request, max_tokens=room[0])

    def _room(self, input_tokens: int) -> tuple[int, str] | None:
        """Most output tokens that can be paid for, and the limit that says so; None without a limit."""
        limits, spent, kept = self.budget.limits, self.budget.spent, self.budget.kept
        rooms: list[tuple[int, str]] = []
        if limits.tokens is not None:
            rooms.append((limits.tokens - spent.tokens - kept.tokens - input_tokens, "tokens"))
        if limits.dollars is not None:
            asking = self.pricing(input_tokens=input_tokens, output_tokens=0)
            a_thousand = self.pricing(input_tokens=input_tokens, output_tokens=1000) - asking  # a long prompt may cost more
            left = limits.dollars - spent.dollars - kept.dollars - asking
            if a_thousand > 0:
                # One less than fits: the sums that decide may be a rounding error above these.
                rooms.append((int(left / a_thousand * 1000) - 1, "dollars"))
        return min(rooms, default=None)

    def _worst(self, input_tokens: int, output_tokens: int) -> Spend:
        dollars = self.pricing(input_tokens=input_tokens, output_tokens=output_tokens)
        return Spend(calls=1, tokens=input_tokens + output_tokens, dollars=dollars)

    def _charge(self, reply: Reply) -> Spend:
        used = reply.usage
        dollars = self.pricing(input_tokens=used.input, output_tokens=used.output, cached_tokens=used.cached)
        return Spend(calls=1, tokens=used.input + used.output, dollars=dollars)


def _storable(text: str) -> str:
    """The text without lone surrogates, which no file or database takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
