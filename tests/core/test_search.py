"""The loop, one rule at a time, on small worlds. What holds of every search is in properties/test_search.py."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

import virtual_time
from lab import Lab
from layers import Layer, Run
from tree_checks import check_at_rest, rebuilt
from treewright.core.budget import NOTHING, Budget, Limits, Spend
from treewright.core.errors import BudgetSpent, IllegalMove, JournalError, ModelUnavailable
from treewright.core.events import Event, NodeEvaluated, NodeExpanded
from treewright.core.search import search
from treewright.core.tree import Evaluation, Proposal, Status, Tree, Verdict
from worlds import SHARE, Timing, World

BUSH = World(seed=3, depth=2, width=3, prune=0, keep=0)
ENDLESS = World(seed=3, depth=10**6, width=4, prune=0, keep=0)


def test_the_slow_sibling_holds_up_nobody_and_results_are_recorded_as_they_arrive() -> None:
    run = Run(Layer((60.0, 1.0, 2.0, 1.0)), parallel=2)
    assert run.go().usage.seconds == 60.0
    assert run.done == ["0.1", "0.2", "0.3", "0.0"]


def test_all_steps_that_may_be_at_work_are_and_no_more() -> None:
    run = Run(Layer((1.0,) * 6), parallel=3)
    assert run.go().usage.seconds == 2.0
    assert max(map(len, run.layer.seen)) == 3 - 1, "asked for the third step, select sees the other two"
    assert Run(Layer((1.0,) * 6), parallel=1).go().usage.seconds == 6.0


def test_select_sees_the_nodes_in_flight() -> None:
    run = Run(Layer((1.0, 1.0, 1.0)))
    run.go()
    assert ["0.0", "0.1"] in run.layer.seen


def test_an_exhausted_search_says_what_it_cost_and_answers() -> None:
    result = Run(Layer((1.0, 2.0))).go()
    assert (result.reason, result.answer.text, result.answer.verified) == ("exhausted", "2 seen", False)
    assert result.usage == Spend(executions=2, seconds=2.0)


def test_an_accepted_node_ends_the_search_after_the_steps_in_flight() -> None:
    run = Run(Layer((1.0, 3.0, 1.0), Verdict.ACCEPT), parallel=2)
    result = run.go()
    assert (result.reason, result.answer.verified, run.done) == ("accepted", True, ["0.0", "0.1"])
    assert result.usage.seconds == 3.0
    assert result.tree.accepted is run.tree.nodes["0.0"]
    assert run.tree.nodes["0.2"].status is Status.PENDING


def test_a_tree_with_an_accepted_node_is_answered_at_once() -> None:
    tree: Tree[int, str] = Tree()
    tree.expand(tree.root, [Proposal(0), Proposal(0)])
    tree.record(tree.nodes["0.0"], "seen", Evaluation(1.0, Verdict.ACCEPT))
    run = Run(Layer(), tree=tree)
    assert (run.go().reason, run.events) == ("accepted", [])


def test_an_event_is_taken_before_it_is_acted_on() -> None:
    lab, statuses = Lab(BUSH), []

    def note(event: Event) -> None:
        assert isinstance(event, NodeExpanded | NodeEvaluated)
        statuses.append((type(event), lab.tree.nodes[event.node].status))

    result = virtual_time.run(search(lab.strategy, budget=lab.budget, parallel=2, emit=note, tree=lab.tree))
    assert set(statuses) == {(NodeExpanded, Status.OPEN), (NodeEvaluated, Status.PENDING)}
    assert result.tree.root.visits == len(BUSH.grown()) - 1


@pytest.mark.parametrize("layer", [Layer(prior=1.5), Layer(score=1.5)], ids=["prior", "score"])
def test_what_the_tree_would_refuse_is_never_recorded(layer: Layer) -> None:
    run = Run(layer)
    with pytest.raises(IllegalMove):
        run.go()
    rebuilt(run.events)
    check_at_rest(run.tree, run.budget)


@pytest.mark.parametrize("status", [Status.OPEN, Status.CLOSED])
def test_a_strategy_that_offers_a_node_that_runs_or_is_finished_is_told_so(status: Status) -> None:
    lab = Lab(BUSH, parallel=2, timing=Timing(seed=1))
    lab.strategy.order = lambda tree: next((node for node in tree.nodes.values() if node.status is status), tree.root)
    with pytest.raises(IllegalMove, match="cannot start"):
        lab.run()
    check_at_rest(lab.tree, lab.budget)


def test_a_deadline_cancels_what_is_in_flight_and_leaves_it_as_it_was() -> None:
    run = Run(Layer((1.0, 60.0, 60.0)), budget=Budget(Limits(seconds=10.0)))
    result = run.go()
    assert (result.reason, result.answer.text) == ("seconds", "1 seen")
    assert result.usage == Spend(executions=1, seconds=10.0)
    assert run.tree.nodes["0.1"].selectable
    check_at_rest(run.tree, run.budget)


def test_the_seconds_kept_for_the_answer_come_off_the_deadline() -> None:
    run = Run(Layer((60.0,)), budget=Budget(Limits(seconds=10.0)), share=Spend(seconds=3.0))
    assert run.go().usage.seconds == 7.0


def test_a_deadline_reaches_a_strategy_that_never_waits() -> None:
    run = Run(Layer((0.0,) * 1000), parallel=2, budget=Budget(Limits(seconds=0.5)))
    result = virtual_time.run(run.search(), tick_s=0.01)
    assert result.reason == "seconds"
    assert 0 < len(run.done) < 60


def test_a_deadline_that_is_noticed_late_still_leaves_the_answer_its_share() -> None:
    lab = Lab(ENDLESS, parallel=2, budget=Budget(Limits(seconds=5.0, calls=1000)), paying=True, share=SHARE)
    result = virtual_time.run(lab.search(), tick_s=0.001)
    assert (result.reason, result.answer.text) == ("seconds", max(lab.executed, key=lambda node: lab.tree.nodes[node].score))


@pytest.mark.parametrize(("spent", "share"), [(5.0, 0.0), (0.0, 5.0), (2.0, 3.0), (6.0, 0.0)])
def test_without_a_second_left_nothing_starts(spent: float, share: float) -> None:
    budget = Budget(Limits(seconds=5.0), Spend(seconds=spent))
    lab = Lab(BUSH, budget=budget, share=Spend(seconds=share))
    assert virtual_time.run(lab.search()).reason == "seconds"
    assert lab.strategy.calls == []


@pytest.mark.parametrize("share", [NOTHING, SHARE], ids=["nothing kept", "a share kept"])
@pytest.mark.parametrize(("spent", "limit"), [(Spend(tokens=10), "tokens"), (Spend(dollars=2.0), "dollars")])
def test_an_overdrawn_budget_ends_the_search_at_once_and_it_can_still_answer(spent: Spend, limit: str, share: Spend) -> None:
    run = Run(Layer(), budget=Budget(Limits(tokens=5, dollars=1.0), spent), share=share)
    result = run.go()
    assert (result.reason, result.answer.text, run.events) == (limit, "0 seen", [])


@pytest.mark.parametrize("share", [NOTHING, SHARE], ids=["nothing kept", "a share kept"])
def test_a_closed_budget_ends_the_search_at_once_and_it_can_still_answer(share: Spend) -> None:
    run = Run(Layer(), share=share)
    run.budget.close("interrupted")
    result = run.go()
    assert (result.reason, result.answer.text, run.events) == ("interrupted", "0 seen", [])


def test_an_answer_that_could_never_be_paid_is_refused_before_anything_starts() -> None:
    run = Run(Layer(), budget=Budget(Limits(calls=0)), share=Spend(calls=1))
    with pytest.raises(BudgetSpent, match="calls"):
        run.go()
    assert run.events == []


def test_an_answer_that_cannot_be_paid_says_so() -> None:
    lab = Lab(BUSH, budget=Budget(Limits(calls=6)), paying=True)
    answer = lab.run().answer
    assert (answer.text, answer.verified) == ("", False)
    assert answer.evidence


def test_who_waits_for_a_refund_is_woken_when_the_budget_is_closed() -> None:
    budget = Budget(Limits(tokens=64 * 2))
    lab = Lab(BUSH, parallel=9, timing=Timing(seed=5), budget=budget, paying=True)

    async def closed_while_somebody_waits() -> str:
        hold = Spend(tokens=64 * 2)
        asyncio.get_running_loop().call_later(1.0, budget.close, "interrupted")
        assert budget.reserve(hold)
        result = await lab.search()
        budget.settle(hold, NOTHING)
        return result.reason

    assert virtual_time.run(closed_while_somebody_waits()) == "interrupted"
    assert lab.strategy.calls == []
    check_at_rest(lab.tree, budget)


@pytest.mark.parametrize(
    "fault", [ModelUnavailable("no answer: check the network"), JournalError("disk full: free some space")]
)
def test_a_fault_of_ours_is_raised_after_the_steps_in_flight(fault: Exception) -> None:
    run = Run(Layer((1.0, 5.0, 5.0, 5.0), raised={0: fault}))
    with pytest.raises(type(fault)) as raised:
        run.go()
    assert raised.value is fault
    assert (run.done, run.budget.spent) == (["0.1", "0.2"], Spend(executions=2, seconds=5.0))
    assert run.tree.nodes["0.0"].selectable
    check_at_rest(run.tree, run.budget)


def test_of_two_faults_the_first_is_raised() -> None:
    first, second = ModelUnavailable("the first"), ModelUnavailable("the second")
    with pytest.raises(ModelUnavailable, match="the first"):
        Run(Layer((2.0, 1.0), raised={0: second, 1: first})).go()


def test_only_executing_a_node_costs_an_execution() -> None:
    run = Run(Layer(), budget=Budget(Limits(executions=1)))
    assert run.go().usage.executions == 1
    assert run.tree.root.status is Status.EXPANDED


def test_children_that_could_never_be_executed_are_not_asked_for() -> None:
    run = Run(Layer(), budget=Budget(Limits(executions=0)))
    assert run.go().reason == "executions"
    assert (run.tree.root.status, run.events) == (Status.OPEN, [])


def test_a_limit_reached_inside_a_step_ends_the_search_after_the_steps_in_flight() -> None:
    run = Run(Layer((1.0, 5.0, 5.0, 5.0), raised={0: BudgetSpent("tokens")}))
    result = run.go()
    assert (result.reason, run.done, result.usage.executions) == ("tokens", ["0.1", "0.2"], 2)
    assert run.tree.nodes["0.0"].selectable


def test_a_bug_cancels_the_steps_in_flight() -> None:
    run = Run(Layer((1.0, 60.0, 60.0), raised={0: ValueError("a bug")}), share=SHARE)
    with pytest.raises(ExceptionGroup) as raised:
        run.go()
    assert [str(bug) for bug in raised.value.exceptions] == ["a bug"]
    assert (run.done, run.budget.spent) == ([], Spend(seconds=1.0))
    check_at_rest(run.tree, run.budget)


@pytest.mark.parametrize("fault", [ValueError("a bug"), ModelUnavailable("gone: start it")])
def test_a_search_that_raised_keeps_nothing_aside_any_more(fault: Exception) -> None:
    run = Run(Layer(raised={0: fault}), share=SHARE)
    with pytest.raises((ExceptionGroup, ModelUnavailable)):
        run.go()
    assert run.budget.kept == NOTHING


def test_a_time_out_inside_a_strategy_is_a_bug_and_no_deadline() -> None:
    run = Run(Layer(raised={0: TimeoutError()}), budget=Budget(Limits(seconds=10.0)))
    with pytest.raises(ExceptionGroup):
        run.go()


def test_a_time_out_around_the_search_is_not_taken_for_its_own() -> None:
    run = Run(Layer((60.0,)), budget=Budget(Limits(seconds=10.0)))

    async def hurried() -> None:
        async with asyncio.timeout(5.0):
            await run.search()

    with pytest.raises(TimeoutError):
        virtual_time.run(hurried())
    assert run.budget.spent == Spend(seconds=5.0)
    check_at_rest(run.tree, run.budget)


def test_a_step_that_cancels_itself_never_ends_the_search_without_a_reason() -> None:
    run = Run(Layer(raised={0: asyncio.CancelledError()}), parallel=1)
    with suppress(asyncio.CancelledError):
        assert run.go().reason
    check_at_rest(run.tree, run.budget)
