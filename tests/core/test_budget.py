"""Budgets: what is reserved, kept and spent never passes a limit together, and refunds make room again."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_checks import check_within
from treewright.core.budget import ACCEPTED, DIMENSIONS, NOTHING, ONE_EXECUTION, Budget, Fit, Limits, Spend
from treewright.core.errors import BudgetSpent
from worlds import FEW


def only(name: str, amount: float) -> dict[str, Any]:
    return {name: amount}


@pytest.fixture(params=DIMENSIONS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_dimension_can_be_limited() -> None:
    assert DIMENSIONS == ("executions", "calls", "tool_calls", "tokens", "dollars", "seconds")
    assert set(DIMENSIONS) == set(Limits.__dataclass_fields__)
    assert Spend(executions=1) == ONE_EXECUTION


def test_amounts_are_added_and_taken_away_dimension_by_dimension() -> None:
    one, two = Spend(1, 2, 3, 4, 0.5, 6.0), Spend(10, 20, 30, 40, 5.0, 60.0)
    assert one + two == Spend(11, 22, 33, 44, 5.5, 66.0)
    assert two - one == Spend(9, 18, 27, 36, 4.5, 54.0)
    assert one + NOTHING == one


def test_without_limits_everything_fits(name: str) -> None:
    budget = Budget()
    assert budget.reserve(Spend(**only(name, 10**12)))
    assert budget.left(name) is None


def test_a_limit_can_be_used_up_to_the_last_unit_and_no_further(name: str) -> None:
    budget = Budget(Limits(**only(name, 3)))
    for left in (3, 2, 1):
        assert budget.left(name) == left
        assert budget.reserve(Spend(**only(name, 1)))
        budget.settle(Spend(**only(name, 1)), Spend(**only(name, 1)))
    assert budget.left(name) == 0
    with pytest.raises(BudgetSpent, match=f"the budget of {name} is spent") as raised:
        budget.reserve(Spend(**only(name, 1)))
    assert raised.value.limit == name
    assert (budget.spent, budget.held) == (Spend(**only(name, 3)), NOTHING)


def test_what_a_refund_could_make_room_for_fits_later(name: str) -> None:
    budget, two = Budget(Limits(**only(name, 3))), Spend(**only(name, 2))
    assert budget.reserve(two)
    assert budget.fits(two) == (Fit.LATER, name)
    assert not budget.reserve(two)
    assert budget.held == two, "what was refused is not held"
    budget.settle(two, Spend(**only(name, 1)))
    assert budget.fits(two) == (Fit.NOW, "")
    assert budget.reserve(two)


def test_what_no_refund_could_make_room_for_never_fits(name: str) -> None:
    budget, two = Budget(Limits(**only(name, 3))), Spend(**only(name, 2))
    budget.reserve(two)
    budget.settle(two, two)
    budget.reserve(Spend(**only(name, 1)))
    assert budget.fits(two) == (Fit.NEVER, name)
    with pytest.raises(BudgetSpent):
        budget.reserve(two)


def test_one_dimension_that_will_never_do_counts_more_than_one_that_might() -> None:
    budget = Budget(Limits(calls=1, dollars=1.0))
    budget.reserve(Spend(calls=1))
    assert budget.fits(Spend(calls=1, dollars=2.0)) == (Fit.NEVER, "dollars")


def test_what_was_spent_before_counts(name: str) -> None:
    budget = Budget(Limits(**only(name, 3)), Spend(**only(name, 2)))
    assert budget.left(name) == 1
    assert budget.fits(Spend(**only(name, 2))) == (Fit.NEVER, name)


def test_a_limit_of_nothing_lets_only_nothing_through(name: str) -> None:
    budget = Budget(Limits(**only(name, 0)))
    assert budget.reserve(NOTHING)
    assert budget.fits(Spend(**only(name, 1))) == (Fit.NEVER, name)


def test_a_call_that_cost_more_than_its_worst_case_is_charged_in_full_and_is_the_last(name: str) -> None:
    budget, one = Budget(Limits(**only(name, 3))), Spend(**only(name, 1))
    budget.reserve(one)
    budget.settle(one, Spend(**only(name, 5)))
    assert (budget.spent, budget.held, budget.left(name)) == (Spend(**only(name, 5)), NOTHING, 0)
    assert budget.fits(one) == (Fit.NEVER, name)


def test_what_is_kept_is_for_the_answer_alone(name: str) -> None:
    budget, one = Budget(Limits(**only(name, 3))), Spend(**only(name, 1))
    budget.keep(one)
    assert budget.left(name) == 2
    assert budget.fits(Spend(**only(name, 3))) == (Fit.NEVER, name)
    assert budget.reserve(one + one)
    budget.settle(one + one, one + one)
    with pytest.raises(BudgetSpent):
        budget.reserve(one)
    budget.release()
    assert budget.kept == NOTHING
    assert budget.reserve(one)


def test_what_does_not_fit_cannot_be_kept(name: str) -> None:
    budget = Budget(Limits(**only(name, 3)), Spend(**only(name, 2)))
    with pytest.raises(BudgetSpent, match=name):
        budget.keep(Spend(**only(name, 2)))
    assert budget.kept == NOTHING
    budget.reserve(Spend(**only(name, 1)))
    with pytest.raises(BudgetSpent, match=name):
        budget.keep(Spend(**only(name, 1)))


def test_two_parts_can_be_kept() -> None:
    budget = Budget(Limits(tokens=10))
    budget.keep(Spend(tokens=3))
    budget.keep(Spend(tokens=4))
    assert (budget.kept, budget.left("tokens")) == (Spend(tokens=7), 3)


def test_a_closed_budget_lets_nothing_start_and_says_why_it_was_closed_first() -> None:
    budget = Budget()
    budget.reserve(Spend(calls=1))
    budget.close("interrupted")
    budget.close("fault")
    assert budget.fits(NOTHING) == (Fit.NEVER, "interrupted")
    with pytest.raises(BudgetSpent) as raised:
        budget.reserve(NOTHING)
    assert raised.value.limit == "interrupted"
    budget.settle(Spend(calls=1), Spend(calls=1))
    assert budget.spent == Spend(calls=1), "work under way is charged"


@pytest.mark.parametrize(("why", "fit"), [(ACCEPTED, Fit.NOW), ("interrupted", Fit.NEVER)])
def test_only_a_budget_closed_by_an_accepted_node_opens_for_the_answer(why: str, fit: Fit) -> None:
    budget = Budget()
    budget.close(why)
    budget.release()
    assert budget.fits(Spend(calls=1))[0] is fit


def test_those_who_wait_hear_of_every_settlement_and_of_the_end_once_it_can_be_seen() -> None:
    budget, heard = Budget(Limits(calls=2)), list[tuple[Spend, str]]()

    def listen() -> None:
        heard.append((budget.spent, budget.closed))
        budget.on_change.remove(listen)
        budget.on_change.append(listen)

    budget.on_change.append(listen)
    budget.reserve(Spend(calls=1))
    assert heard == []
    budget.settle(Spend(calls=1), Spend(calls=1))
    budget.close("interrupted")
    assert heard == [(Spend(calls=1), ""), (Spend(calls=1), "interrupted")]


amounts = st.builds(Spend, *[st.integers(0, 5)] * 4, *[st.integers(0, 40).map(lambda eighths: eighths / 8)] * 2)
limits = st.builds(Limits, *[st.none() | st.integers(0, 15)] * 4, *[st.none() | st.integers(0, 15).map(float)] * 2)


def share_of(amount: Spend, eighths: int) -> Spend:
    """So many eighths of an amount, whole numbers rounded down."""
    parts = {name: getattr(amount, name) * eighths // 8 for name in DIMENSIONS[:4]}
    return replace(amount, **parts, dollars=amount.dollars * eighths / 8, seconds=amount.seconds * eighths / 8)


@FEW
@given(limits, amounts, st.lists(st.tuples(amounts, st.integers(0, 8), st.booleans()), max_size=30))
def test_no_row_of_reservations_and_refunds_passes_a_limit(
    limits: Limits, kept: Spend, row: list[tuple[Spend, int, bool]]
) -> None:
    budget, under_way, settled = Budget(limits), list[Spend](), NOTHING
    try:
        budget.keep(kept)
    except BudgetSpent:
        kept = NOTHING
    for amount, eighths, reserving in row:
        if reserving:
            fit, blocked = budget.fits(amount)
            assert (fit is Fit.NOW) == (not blocked)
            if fit is Fit.NEVER:
                with pytest.raises(BudgetSpent, match=blocked):
                    budget.reserve(amount)
            else:
                assert budget.reserve(amount) == (fit is Fit.NOW)
                under_way += [amount] * (fit is Fit.NOW)
        elif under_way:
            reserved = under_way.pop(eighths % len(under_way))
            budget.settle(reserved, share_of(reserved, eighths))
            settled = settled + share_of(reserved, eighths)
        check_within(budget)
        assert (budget.spent, budget.held, budget.kept) == (settled, sum(under_way, start=NOTHING), kept)


@FEW
@given(st.floats(0.001, 1), st.lists(st.floats(0, 0.2), max_size=12), st.floats(0, 1))
def test_dollars_do_not_drift(bound: float, prices: list[float], used: float) -> None:
    """Sums of prices are rounded. Once nothing is under way nothing is held, or somebody would wait for a refund for ever."""
    budget = Budget(Limits(dollars=bound))
    under_way = []
    for price in prices:
        try:
            under_way += [Spend(dollars=price)] * budget.reserve(Spend(dollars=price))
        except BudgetSpent:
            break
    for reserved in under_way:
        budget.settle(reserved, replace(reserved, dollars=reserved.dollars * used))
    assert budget.held == NOTHING
    assert budget.spent.dollars <= bound * (1 + 1e-12)
    left = budget.left("dollars")
    assert left is not None
    assert budget.fits(Spend(dollars=math.nextafter(left, 1))) != (Fit.LATER, "dollars")
