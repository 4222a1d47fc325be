"""`Throttled`: what is tried again, when, how often, and how many calls are under way meanwhile. Time is virtual."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

import virtual_time
from treewright.core.errors import BudgetSpent, ModelUnavailable, UserError
from treewright.models.base import RETRYABLE, Fault, Message, ModelError, Reply, Request
from treewright.models.throttled import Throttled

ASK = Request((Message("user", "x"),))
FINAL: list[Fault] = ["quota", "key", "refused"]


@dataclass
class Flaky:
    """Raises the given errors first, then answers; notes when each call came and how many overlapped."""

    errors: Iterable[Exception | None] = ()
    latency_s: float = 0.0
    name: str = "flaky"
    starts: list[float] = field(default_factory=list)
    under_way: int = 0
    most: int = 0

    def __post_init__(self) -> None:
        self._errors = iter(self.errors)

    async def complete(self, request: Request) -> Reply:
        self.starts.append(asyncio.get_running_loop().time())
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self.latency_s)
            error = next(self._errors, None)
            if error is not None:
                raise error
            return Reply("done")
        finally:
            self.under_way -= 1


def half() -> float:
    return 0.5


@pytest.mark.parametrize("fault", sorted(RETRYABLE))
def test_a_passing_fault_is_tried_again_after_growing_pauses(fault: Fault) -> None:
    model = Flaky([ModelError(fault, "x")] * 4)
    reply = virtual_time.run(Throttled(model, first_pause_s=1.0, longest_pause_s=3.0, jitter=half).complete(ASK))
    assert reply.text == "done"
    assert model.starts == [0.0, 0.5, 1.5, 3.0, 4.5]


@pytest.mark.parametrize("fault", FINAL)
def test_a_lasting_fault_is_final_at_once(fault: Fault) -> None:
    model = Flaky([ModelError(fault, "flaky says no")])
    with pytest.raises(ModelUnavailable, match=r"^flaky says no$"):
        virtual_time.run(Throttled(model).complete(ASK))
    assert len(model.starts) == 1


def test_a_prompt_that_is_too_long_is_the_users_to_solve() -> None:
    with pytest.raises(UserError, match="larger context"):
        virtual_time.run(Throttled(Flaky([ModelError("context", "too long")])).complete(ASK))


def test_it_gives_up_after_its_tries_and_says_so_in_one_sentence() -> None:
    model = Flaky([ModelError("server", f"failure {number}") for number in range(9)])
    with pytest.raises(ModelUnavailable, match=r"^failure 2; gave up after 3 tries$") as caught:
        virtual_time.run(Throttled(model, tries=3).complete(ASK))
    assert isinstance(caught.value.__cause__, ModelError)
    assert len(model.starts) == 3


def test_the_providers_pause_is_kept_in_full_and_ours_comes_on_top() -> None:
    model = Flaky([ModelError("rate", "x", retry_after=20.0)])
    virtual_time.run(Throttled(model, first_pause_s=1.0, jitter=half).complete(ASK))
    assert model.starts == [0.0, 20.5]


def test_a_pause_beyond_our_patience_is_named_and_not_waited_for() -> None:
    async def wait() -> float:
        with pytest.raises(ModelUnavailable, match="asks to wait 300 s, longer than the 120 s"):
            await Throttled(Flaky([ModelError("rate", "x", retry_after=300.0)])).complete(ASK)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(wait()) == 0.0


def test_all_calls_keep_the_pause_that_one_was_told() -> None:
    model = Flaky([ModelError("rate", "x", retry_after=10.0)])

    async def two() -> None:
        throttled = Throttled(model, jitter=half)
        async with asyncio.TaskGroup() as group:
            group.create_task(throttled.complete(ASK))
            await asyncio.sleep(1.0)
            group.create_task(throttled.complete(ASK))

    virtual_time.run(two())
    assert model.starts == [0.0, 10.0, 10.5]


def test_never_more_calls_are_under_way_than_allowed() -> None:
    model = Flaky(latency_s=1.0)

    async def many() -> float:
        throttled = Throttled(model, concurrency=3)
        async with asyncio.TaskGroup() as group:
            for _ in range(9):
                group.create_task(throttled.complete(ASK))
        return asyncio.get_running_loop().time()

    assert virtual_time.run(many()) == 3.0
    assert model.most == 3


def test_a_pause_holds_no_slot() -> None:
    model = Flaky([ModelError("server", "x"), None], latency_s=1.0)

    async def two() -> list[float]:
        throttled = Throttled(model, concurrency=1, first_pause_s=20.0, jitter=half)
        async with asyncio.TaskGroup() as group:
            group.create_task(throttled.complete(ASK))
            group.create_task(throttled.complete(ASK))
        return model.starts

    assert virtual_time.run(two()) == [0.0, 1.0, 11.0]


def test_other_errors_pass_and_free_their_slot() -> None:
    throttled = Throttled(Flaky([BudgetSpent("tokens"), None]), concurrency=1)

    async def twice() -> str:
        with pytest.raises(BudgetSpent):
            await throttled.complete(ASK)
        return (await throttled.complete(ASK)).text

    assert virtual_time.run(twice()) == "done"


@pytest.mark.parametrize("stage", ["in the call", "in the pause", "in the queue"])
def test_cancellation_passes_through_at_every_stage(stage: str) -> None:
    model = Flaky([ModelError("server", "x")] if stage == "in the pause" else [], latency_s=1.0)
    throttled = Throttled(model, concurrency=1, first_pause_s=10.0, jitter=half)

    async def cancel() -> str:
        first = asyncio.ensure_future(throttled.complete(ASK))
        await asyncio.sleep(0)
        victim = asyncio.ensure_future(throttled.complete(ASK)) if stage == "in the queue" else first
        await asyncio.sleep(2.0 if stage == "in the pause" else 0.5)
        victim.cancel()
        with pytest.raises(asyncio.CancelledError):
            await victim
        if victim is not first:
            await first
        return (await throttled.complete(ASK)).text

    assert virtual_time.run(cancel()) == "done"


def test_one_model_serves_one_event_loop_after_another() -> None:
    throttled = Throttled(Flaky(latency_s=1.0), concurrency=1)

    async def two() -> None:
        await asyncio.gather(throttled.complete(ASK), throttled.complete(ASK))

    virtual_time.run(two())
    virtual_time.run(two())


def test_its_name_is_the_models() -> None:
    assert Throttled(Flaky()).name == "flaky"
