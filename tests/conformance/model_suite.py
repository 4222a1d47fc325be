"""What every `Model` adapter must do, whatever stands behind it. `test_models.py` runs it over each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import pytest

from treewright.models.base import Fault, Message, Model, ModelError, Reply, Request

PROMPTS = ("count the vowels", "sort the list", "add two numbers", "reverse the text")


@dataclass(frozen=True)
class Subject:
    """One adapter under test.

    Args:
        name: what `Model.name` must say (None if it has a changing part).
        open: a fresh model, ready, that answers each of `PROMPTS` any number of times.
        broken: a fresh model and the request that fails with `fault`.
        fault: that fault.
    """

    name: str | None
    open: Callable[[], AbstractAsyncContextManager[Model]]
    broken: Callable[[], AbstractAsyncContextManager[tuple[Model, Request]]]
    fault: Fault


def asked(prompt: str, *, max_tokens: int = 24, seed: int = 7) -> Request:
    return Request((Message("user", prompt),), temperature=0.7, max_tokens=max_tokens, seed=seed)


async def it_has_a_name(subject: Subject) -> None:
    async with subject.open() as model:
        assert model.name
        assert subject.name in (None, model.name)


async def it_replies_with_text_and_counts_tokens(subject: Subject) -> None:
    async with subject.open() as model:
        reply = await model.complete(asked(PROMPTS[0]))
    assert reply.text
    assert reply.usage.input > 0
    assert 0 < reply.usage.output <= 24
    assert 0 <= reply.usage.cached <= reply.usage.input


async def it_stops_at_max_tokens_and_says_so(subject: Subject) -> None:
    async with subject.open() as model:
        reply = await model.complete(asked(PROMPTS[0], max_tokens=2))
    assert reply.finish == "length"
    assert reply.usage.output <= 2


async def it_does_not_mix_up_calls_that_run_at_once(subject: Subject) -> None:
    async with subject.open() as model:
        alone = [await model.complete(asked(prompt)) for prompt in PROMPTS]
        together = await asyncio.gather(*(model.complete(asked(prompt)) for prompt in reversed(PROMPTS)))
    assert len({reply.text for reply in alone}) == len(PROMPTS)
    assert list(reversed(together)) == alone


async def it_gives_equal_replies_to_equal_requests_with_a_seed(subject: Subject) -> None:
    async with subject.open() as model:
        first, _, second = [await model.complete(asked(prompt)) for prompt in (PROMPTS[0], PROMPTS[1], PROMPTS[0])]
    assert first == second


async def it_can_be_cancelled_and_used_again(subject: Subject) -> None:
    async with subject.open() as model:
        calls = [asyncio.ensure_future(model.complete(asked(prompt, max_tokens=2000))) for prompt in PROMPTS]
        await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        ends: Sequence[Reply | BaseException] = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends)
        assert (await asyncio.wait_for(model.complete(asked(PROMPTS[0])), 60)).text


async def it_does_not_hold_up_the_event_loop(subject: Subject) -> None:
    async with subject.open() as model:
        call = asyncio.ensure_future(model.complete(asked(PROMPTS[0])))
        turns = 0
        while not call.done():
            await asyncio.sleep(0)
            turns += 1
        await call
    assert turns > 4  # an adapter that blocks lets two pass


async def it_fails_with_a_model_error_in_one_line(subject: Subject) -> None:
    async with subject.broken() as (model, request):
        with pytest.raises(ModelError) as caught:
            await model.complete(request)
    assert caught.value.fault == subject.fault
    assert str(caught.value)
    assert "\n" not in str(caught.value)


CHECKS: tuple[Callable[[Subject], Awaitable[None]], ...] = (
    it_has_a_name,
    it_replies_with_text_and_counts_tokens,
    it_stops_at_max_tokens_and_says_so,
    it_does_not_mix_up_calls_that_run_at_once,
    it_gives_equal_replies_to_equal_requests_with_a_seed,
    it_can_be_cancelled_and_used_again,
    it_does_not_hold_up_the_event_loop,
    it_fails_with_a_model_error_in_one_line,
)
