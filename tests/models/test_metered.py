"""`Metered`: no limit is passed whatever runs side by side, every call is charged and on record before it is acted on."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import virtual_time
from tree_checks import check_within
from treewright.core.budget import Budget, Limits, Spend
from treewright.core.errors import BudgetSpent, JournalError, ModelUnavailable, UserError
from treewright.core.events import BudgetChanged, Event, ModelCalled
from treewright.models.base import Caller, Fault, Message, ModelError, Reply, Request, Usage
from treewright.models.estimates import most_usage
from treewright.models.metered import LEAST_REPLY, Metered
from treewright.models.prices import Price, Pricing
from treewright.models.recorded import Recorded

ASK = Request((Message("user", "why?"),), max_tokens=200, caller=Caller("0.1", "solver", 1))
MOST_INPUT = most_usage(ASK, "").input
DEAR = Price(input=1_000_000 / 64, output=1_000_000 / 16)  # whole fractions by powers of two, so that sums are exact


@dataclass(slots=True, eq=False)
class Fake:
    """A model that takes a second and says what it was told to: text, tokens, or a fault.

    Args:
        says: one for each call, the last one for ever: a usage, an exception, or None for no answer within an hour.
        asked: the requests as they came.
        log: what happened, in order, events included.
    """

    says: Sequence[Usage | BaseException | None] = (Usage(3, 4),)
    latency_s: float = 1.0
    asked: list[Request] = field(default_factory=list)
    log: list[object] = field(default_factory=list)
    name: str = "fake"

    async def complete(self, request: Request) -> Reply:
        said = self.says[min(len(self.asked), len(self.says) - 1)]
        self.asked.append(request)
        self.log.append("asked")
        await asyncio.sleep(self.latency_s if said is not None else 3600.0)
        self.log.append("answered")
        if said is None:
            raise ModelError("timeout", "fake did not answer")
        if isinstance(said, BaseException):
            raise said
        return Reply("so", said)


@dataclass(slots=True, eq=False)
class Bench:
    """A metered fake, its budget and its record."""

    fake: Fake = field(default_factory=Fake)
    limits: Limits = Limits()  # noqa: RUF009 - a frozen value
    pricing: Pricing = DEAR
    spent: Spend = Spend()  # noqa: RUF009
    events: list[Event] = field(default_factory=list)
    budget: Budget = field(init=False)
    model: Metered = field(init=False)

    def __post_init__(self) -> None:
        self.budget = Budget(self.limits, self.spent)
        self.model = Metered(self.fake, self.budget, self.take, count(1), self.pricing)

    def take(self, event: Event) -> None:
        self.events.append(event)
        self.fake.log.append(event.kind)

    def ask(self, request: Request = ASK) -> Reply:
        return virtual_time.run(self.model.complete(request))

    @property
    def called(self) -> ModelCalled:
        (call,) = [event for event in self.events if isinstance(event, ModelCalled)]
        return call


WORST = Spend(calls=1, tokens=MOST_INPUT + 200, dollars=DEAR(input_tokens=MOST_INPUT, output_tokens=200))
ANSWERED = Spend(calls=1, tokens=7, dollars=DEAR(input_tokens=3, output_tokens=4))


def test_the_intent_is_on_record_before_the_call_and_the_call_before_its_reply_is_used() -> None:
    bench = Bench()

    async def use() -> None:
        reply = await bench.model.complete(ASK)
        bench.fake.log.append(f"used {reply.text}")

    virtual_time.run(use())
    assert bench.fake.log == ["budget_changed", "asked", "answered", "model_called", "used so"]
    assert bench.events[0] == BudgetChanged(1, WORST)


def test_a_call_is_recorded_whole() -> None:
    bench = Bench(Fake([Usage(30, 4, 16)]))
    bench.ask()
    call = bench.called
    assert (call.call, call.node, call.role, call.attempt, call.model) == (1, "0.1", "solver", 1, "fake")
    assert (call.messages, call.reply, call.error, call.finish) == ((("user", "why?"),), "so", "", "stop")
    assert (call.input_tokens, call.output_tokens, call.cached_tokens, call.digest) == (30, 4, 16, ASK.digest)
    assert call.seconds >= 0


def test_calls_are_numbered_on() -> None:
    bench = Bench()
    bench.model = Metered(bench.fake, bench.budget, bench.take, count(8))
    bench.ask()
    bench.ask()
    assert [event.call for event in bench.events if isinstance(event, BudgetChanged | ModelCalled)] == [8, 8, 9, 9]


TOO_MUCH = Spend(calls=1, tokens=1400, dollars=DEAR(input_tokens=500, output_tokens=900))
CHARGES: list[tuple[object, BaseException | Usage, Spend]] = [
    ("answered", Usage(3, 4), ANSWERED),
    (
        "used more than it was allowed",
        Usage(500, 900),
        Spend(calls=1, tokens=1400, dollars=DEAR(input_tokens=500, output_tokens=900)),
    ),
    *((fault, ModelError(fault, "x"), WORST) for fault in ("timeout", "garbled")),
    *((fault, ModelError(fault, "x"), Spend(calls=1)) for fault in ("rate", "server", "connection", "quota", "key", "refused")),
    ("gone", ModelUnavailable("x"), Spend(calls=1)),
    ("wrong", UserError("x"), Spend(calls=1)),
    ("a bug", ZeroDivisionError("x"), WORST),
]


@pytest.mark.parametrize(("name", "said", "charge"), CHARGES, ids=[str(name) for name, *_ in CHARGES])
def test_what_is_charged(name: object, said: BaseException | Usage, charge: Spend) -> None:
    bench = Bench(Fake([said]))
    if isinstance(said, BaseException):
        with pytest.raises(type(said)):
            bench.ask()
    else:
        bench.ask()
    assert bench.budget.spent == bench.called.spent == charge
    assert bench.budget.held == Spend()
    if isinstance(said, BaseException):
        assert bench.called.reply is None
        assert bench.called.error


@pytest.mark.parametrize("fault", ["timeout", "rate"])
def test_a_failed_call_says_what_failed(fault: Fault) -> None:
    bench = Bench(Fake([ModelError(fault, "fake did not answer")]))
    with pytest.raises(ModelError):
        bench.ask()
    assert bench.called.error == f"{fault}: fake did not answer"


def test_a_cancelled_call_is_charged_at_its_worst() -> None:
    bench = Bench(Fake([None]))

    async def cancel() -> None:
        call = asyncio.ensure_future(bench.model.complete(ASK))
        await asyncio.sleep(1)
        assert bench.budget.held == WORST
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    virtual_time.run(cancel())
    assert bench.budget.spent == bench.called.spent == WORST
    assert bench.budget.held == Spend()
    assert (bench.called.reply, bench.called.error) == (None, "cancelled")


def test_cached_tokens_are_charged_at_their_price() -> None:
    bench = Bench(Fake([Usage(64, 0, 48)]), pricing=Price(64.0, 64.0, 16.0))
    bench.ask()
    assert bench.budget.spent.dollars == (16 * 64 + 48 * 16) / 1_000_000


def test_without_a_known_price_dollars_are_none_and_tokens_still_count() -> None:
    bench = Bench()
    bench.model = Metered(bench.fake, bench.budget, bench.take, count(1))
    bench.ask()
    assert bench.budget.spent == Spend(calls=1, tokens=7)


@pytest.mark.parametrize("limits", [Limits(tokens=MOST_INPUT + 150), Limits(dollars=(MOST_INPUT + 4 * 150) / 64)])
def test_a_reply_is_asked_for_with_what_is_left(limits: Limits) -> None:
    bench = Bench(limits=limits)
    bench.ask()
    asked = bench.fake.asked[0].max_tokens
    assert asked == 150 if limits.tokens else 149 <= asked <= 150
    assert bench.called.digest == ASK.digest, "the record knows the call by what was asked for, not by what was left"


def test_with_room_for_it_nothing_is_shortened() -> None:
    bench = Bench(limits=Limits(tokens=MOST_INPUT + 200))
    bench.ask()
    assert bench.fake.asked[0].max_tokens == 200


@pytest.mark.parametrize(
    ("limits", "spent", "name"),
    [
        (Limits(tokens=MOST_INPUT + LEAST_REPLY - 1), Spend(), "tokens"),
        (Limits(tokens=1000), Spend(tokens=1000 - MOST_INPUT), "tokens"),
        (Limits(tokens=10), Spend(tokens=5000), "tokens"),
        (Limits(dollars=(MOST_INPUT + 4 * (LEAST_REPLY - 1)) / 64), Spend(), "dollars"),
        (Limits(dollars=0.001), Spend(), "dollars"),
        (Limits(calls=3), Spend(calls=3), "calls"),
    ],
)
def test_what_cannot_be_paid_is_not_asked(limits: Limits, spent: Spend, name: str) -> None:
    bench = Bench(limits=limits, spent=spent)
    with pytest.raises(BudgetSpent) as caught:
        bench.ask()
    assert caught.value.limit == name
    assert (bench.fake.asked, bench.events, bench.budget.spent) == ([], [], spent)


def test_a_closed_budget_lets_the_call_under_way_end_and_starts_none() -> None:
    bench = Bench(Fake(latency_s=5.0))

    async def close() -> None:
        call = asyncio.ensure_future(bench.model.complete(ASK))
        await asyncio.sleep(1)
        bench.budget.close("interrupted")
        with pytest.raises(BudgetSpent) as caught:
            await bench.model.complete(ASK)
        assert caught.value.limit == "interrupted"
        assert (await call).text == "so"

    virtual_time.run(close())
    assert bench.budget.spent == ANSWERED


def test_a_call_waits_for_a_refund_that_can_still_come() -> None:
    bench = Bench(limits=Limits(calls=10, tokens=WORST.tokens + 100))
    times: list[float] = []

    async def two() -> None:
        async def one() -> None:
            await bench.model.complete(ASK)
            times.append(asyncio.get_running_loop().time())

        async with asyncio.TaskGroup() as group:
            group.create_task(one())
            group.create_task(one())

    virtual_time.run(two())
    assert times == [1.0, 2.0]
    assert [request.max_tokens for request in bench.fake.asked] == [200, 200]


def test_what_was_spent_while_it_waited_shortens_a_call_instead_of_ending_the_run() -> None:
    used = Usage(MOST_INPUT, 100)
    bench = Bench(Fake([used]), limits=Limits(tokens=2 * MOST_INPUT + 100 + 150))

    async def two() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(bench.model.complete(ASK))
            group.create_task(bench.model.complete(ASK))

    virtual_time.run(two())
    assert [request.max_tokens for request in bench.fake.asked] == [200, 150]


def test_closing_the_budget_wakes_those_who_wait() -> None:
    bench = Bench(Fake(latency_s=50.0), limits=Limits(tokens=WORST.tokens))

    async def wait() -> float:
        first = asyncio.ensure_future(bench.model.complete(ASK))
        await asyncio.sleep(1)
        second = asyncio.ensure_future(bench.model.complete(ASK))
        await asyncio.sleep(1)
        bench.budget.close("interrupted")
        with pytest.raises(BudgetSpent):
            await second
        at = asyncio.get_running_loop().time()
        await first
        return at

    assert virtual_time.run(wait()) == 2.0
    assert bench.budget.on_change == []


def test_who_is_cancelled_while_waiting_leaves_nothing_behind() -> None:
    bench = Bench(Fake(latency_s=50.0), limits=Limits(tokens=WORST.tokens))

    async def wait() -> None:
        first = asyncio.ensure_future(bench.model.complete(ASK))
        await asyncio.sleep(1)
        second = asyncio.ensure_future(bench.model.complete(ASK))
        await asyncio.sleep(1)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await first

    virtual_time.run(wait())
    assert bench.budget.on_change == []
    assert bench.budget.spent == ANSWERED
    assert len(bench.fake.asked) == 1


@pytest.mark.parametrize("at", ["budget_changed", "model_called"])
def test_a_reply_that_cannot_be_recorded_is_not_used(at: str) -> None:
    bench = Bench()

    def refuse(event: Event) -> None:
        if event.kind == at:
            raise JournalError("the disk is full")
        bench.take(event)

    bench.model = Metered(bench.fake, bench.budget, refuse, count(1))
    with pytest.raises(JournalError):
        bench.ask()
    assert len(bench.fake.asked) == (at == "model_called")
    assert bench.budget.held == Spend()


def test_lone_surrogates_are_replaced_before_anybody_sees_them() -> None:
    @dataclass(frozen=True, slots=True)
    class Odd:
        name: str = "odd"

        async def complete(self, request: Request) -> Reply:
            return Reply("a\ud800b", Usage(1, 1))

    bench = Bench()
    bench.model = Metered(Odd(), bench.budget, bench.take, count(1))
    assert bench.ask().text == bench.called.reply == "a?b"


def test_a_long_prompt_is_priced_as_a_long_prompt() -> None:
    def tiered(*, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        rate = 2.0 if input_tokens > 10 else 1.0
        return rate * (input_tokens + output_tokens) / 64

    bench = Bench(limits=Limits(dollars=2.0 * (MOST_INPUT + 100) / 64), pricing=tiered)
    bench.ask()
    assert 99 <= bench.fake.asked[0].max_tokens <= 100


def test_what_is_on_record_costs_nothing_even_when_the_budget_is_spent() -> None:
    bench = Bench(limits=Limits(calls=1), spent=Spend(calls=1))
    known = ModelCalled(1, "0.1", "solver", 1, ASK.digest, "fake", (), "known", spent=ANSWERED)
    model = Recorded(bench.model, [known])
    assert virtual_time.run(model.complete(ASK)).text == "known"
    assert (bench.events, bench.budget.spent) == ([], Spend(calls=1))
    with pytest.raises(BudgetSpent):
        virtual_time.run(model.complete(ASK))


def test_its_name_is_the_models() -> None:
    assert Bench().model.name == "fake"


usages = st.builds(Usage, st.integers(0, MOST_INPUT), st.integers(0, 64))
outcomes = st.one_of(usages, usages, usages, st.sampled_from([ModelError("server", "x"), ModelError("timeout", "x"), None]))
limits = st.builds(
    Limits,
    calls=st.none() | st.integers(1, 12),
    tokens=st.none() | st.integers(1, 3000),
    dollars=st.none() | st.integers(1, 6000).map(lambda n: n / 64) | st.floats(0.001, 100.0),
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(limits, st.lists(outcomes, min_size=1, max_size=8), st.integers(1, 16), st.integers(1, 400), st.integers(0, 30))
def test_no_limit_is_passed_at_any_parallelism_and_nobody_waits_for_ever(
    limits: Limits, says: list[Usage | BaseException | None], parallel: int, max_tokens: int, cancel_after: int
) -> None:
    request = Request((Message("user", "why?"),), max_tokens=max_tokens)
    honest = [Usage(s.input, min(s.output, max_tokens)) if isinstance(s, Usage) else s for s in [*says, Usage(3, 4)]]
    bench = Bench(Fake(honest), limits)

    async def work() -> None:
        for _ in range(3):
            with suppress(ModelError, BudgetSpent):
                await bench.model.complete(request)

    async def all_of_them() -> None:
        tasks = [asyncio.ensure_future(work()) for _ in range(parallel)]
        await asyncio.sleep(cancel_after)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def within() -> None:
        exact = limits.dollars is None or limits.dollars * 64 % 1 == 0
        check_within(bench.budget) if exact else None
        for name in ("calls", "tokens"):
            bound = getattr(limits, name)
            assert bound is None or getattr(bench.budget.spent, name) + getattr(bench.budget.held, name) <= bound
        assert limits.dollars is None or bench.budget.spent.dollars <= limits.dollars * (1 + 1e-12)

    virtual_time.run(all_of_them(), on_idle=within)
    within()
    calls = [event for event in bench.events if isinstance(event, ModelCalled)]
    assert sum(call.spent.tokens for call in calls) == bench.budget.spent.tokens
    assert len(calls) == bench.budget.spent.calls == len(bench.fake.asked)
    assert bench.budget.held == Spend()
    assert bench.budget.on_change == []
