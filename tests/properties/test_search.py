"""What holds of every search: any world, any order, any number of steps at once, any latencies, any budget, any fault."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import event as note
from hypothesis import given
from hypothesis import strategies as st

import virtual_time
from lab import Lab
from tree_checks import check_at_rest, check_within, contents
from treewright.core.budget import Budget, Limits
from treewright.core.errors import ModelUnavailable
from treewright.core.events import NodeEvaluated, NodeExpanded
from treewright.core.tree import Verdict
from worlds import FEW, SHARE, Timing, World, orders, parallels, timings, worlds, worlds_with_an_answer

limits = st.builds(
    Limits,
    executions=st.none() | st.integers(0, 40),
    calls=st.none() | st.integers(1, 60),
    tool_calls=st.none() | st.integers(0, 40),
    tokens=st.none() | st.integers(8, 2_000),
    dollars=st.none() | st.integers(1, 200).map(lambda eighths: eighths / 8),
    seconds=st.none() | st.integers(0, 160).map(lambda eighths: eighths / 8),
)
#: Moments at which nothing else happens: all else falls on whole sixteenths of a second.
moments = st.integers(0, 300).map(lambda sixteenths: sixteenths / 16 + 1 / 32)


def check_moves(lab: Lab) -> None:
    """Each node was executed once at most and expanded once at most, and charged once."""
    moves = Counter((type(event), event.node) for event in lab.all_events if isinstance(event, NodeEvaluated | NodeExpanded))
    assert all(times == 1 for times in moves.values())
    assert lab.budget.spent.executions == len(lab.executed) == lab.tree.root.visits
    check_at_rest(lab.tree, lab.budget)


@FEW
@given(worlds, orders, parallels, timings)
def test_a_search_without_limits_finds_the_whole_world_and_leaves_nobody_idle(
    world: World, order: str, parallel: int, timing: Timing
) -> None:
    lab = Lab(world, order, parallel, timing)

    def busy() -> None:
        lab.watch()
        root = lab.tree.root
        assert root.in_flight == min(parallel, root.in_flight + root.ready), "a step could have started and did not"

    result = virtual_time.run(lab.search(), on_idle=busy)

    assert result.reason == "exhausted"
    assert contents(lab.tree) == world.grown()
    assert len(lab.strategy.calls) == 2 * len(lab.executed) + sum(isinstance(e, NodeExpanded) for e in lab.events)
    check_moves(lab)


@FEW
@given(worlds_with_an_answer, st.tuples(orders, orders), st.tuples(parallels, parallels), st.tuples(timings, timings))
def test_what_a_node_holds_depends_on_neither_timing_nor_order_nor_parallelism(
    world: World, order: tuple[str, str], parallel: tuple[int, int], timing: tuple[Timing, Timing]
) -> None:
    one, other = (Lab(world, *setting) for setting in zip(order, parallel, timing, strict=True))
    one.run()
    other.run()
    everything = replace(world, accept=0)
    for lab in (one, other):
        for node, (_, proposal, outcome, evaluation) in contents(lab.tree).items():
            if evaluation is not None:
                assert outcome == everything.outcome(node)
                assert evaluation == world.evaluation(node)
            if node != "0":
                assert proposal == world.proposals(node.rpartition(".")[0])[int(node.rpartition(".")[2])]


def longest_path(world: World, timing: Timing) -> float:
    """When the last node would end if every step began as soon as its parent's did."""

    def after(node: str, since: float) -> float:
        if node != "0":
            since += timing.latency("execute", node) + timing.latency("evaluate", node)
            if world.evaluation(node).verdict is not Verdict.EXPAND:
                return since
        since += timing.latency("expand", node)
        return max((after(f"{node}.{i}", since) for i in range(len(world.proposals(node)))), default=since)

    return after("0", 0.0)


@FEW
@given(worlds, orders, timings)
def test_with_room_for_all_the_time_is_that_of_the_longest_path(world: World, order: str, timing: Timing) -> None:
    lab = Lab(world, order, parallel=len(world.grown()), timing=timing)
    result = lab.run()
    assert result.usage.seconds == longest_path(world, timing)


@FEW
@given(worlds, orders, parallels, timings, limits)
def test_no_limit_is_ever_passed_and_the_answer_can_always_be_paid(
    world: World, order: str, parallel: int, timing: Timing, limits: Limits
) -> None:
    lab = Lab(world, order, parallel, timing, Budget(limits), paying=True, share=SHARE)
    result = lab.run()
    note(f"ended by {result.reason}")

    assert result.answer.text
    check_within(lab.budget)
    check_moves(lab)
    if result.reason == "exhausted":
        assert contents(lab.tree) == world.grown()
    else:
        assert getattr(limits, result.reason) is not None
    if result.reason in ("executions", "seconds"):
        assert getattr(result.usage, result.reason) == getattr(limits, result.reason), "less than there was"
    prices = [(timing.price(call.verb, call.node), call.ended) for call in lab.strategy.calls]
    charged = [worst if ended is None else actual for (worst, actual), ended in prices]
    paid = sum(charged, start=SHARE)
    assert replace(result.usage, executions=0, seconds=0) == replace(paid, seconds=0)


@FEW
@given(worlds, orders, parallels, timings, st.integers(0, 40))
def test_executions_are_neither_passed_nor_left_unused(
    world: World, order: str, parallel: int, timing: Timing, executions: int
) -> None:
    lab = Lab(world, order, parallel, timing, Budget(Limits(executions=executions)))
    result = lab.run()
    assert result.usage.executions == len(lab.executed) == min(executions, len(world.grown()) - 1)
    assert lab.strategy.under_way == set()
    assert not [call for call in lab.strategy.calls if call.ended is None]
    check_moves(lab)


@FEW
@given(worlds, orders, parallels, timings, st.integers(0, 160))
def test_a_deadline_cuts_steps_short_and_the_search_can_go_on_from_there(
    world: World, order: str, parallel: int, timing: Timing, eighths: int
) -> None:
    first = Lab(world, order, parallel, timing, Budget(Limits(seconds=eighths / 8)), paying=True)
    result = first.run()
    check_moves(first)
    assert all(call.ended is not None for call in first.strategy.calls) or result.usage.seconds == eighths / 8
    assert result.reason in ("seconds", "exhausted")

    second = Lab(world, order, parallel, timing, known=first.events)
    assert second.run().reason == "exhausted"
    assert contents(second.tree) == world.grown()


@FEW
@given(worlds, orders, parallels, timings, moments, st.booleans())
def test_closing_the_budget_lets_the_calls_under_way_end_and_nothing_follow(
    world: World, order: str, parallel: int, timing: Timing, moment: float, paying: bool
) -> None:
    lab = Lab(world, order, parallel, timing, paying=paying)

    async def closed_at_that_moment() -> str:
        asyncio.get_running_loop().call_later(moment, lab.budget.close, "interrupted")
        return (await lab.search()).reason

    reason = virtual_time.run(closed_at_that_moment(), on_idle=lab.watch)
    late = [call for call in lab.strategy.calls if call.began > moment]
    assert not late if paying else all(call.verb == "evaluate" for call in late)
    assert all(call.ended is not None for call in lab.strategy.calls)
    assert reason == ("exhausted" if contents(lab.tree) == world.grown() else "interrupted")
    check_moves(lab)


@FEW
@given(worlds_with_an_answer, orders, parallels, timings, st.booleans())
def test_once_a_node_is_accepted_nothing_starts_and_what_is_under_way_is_recorded(
    world: World, order: str, parallel: int, timing: Timing, paying: bool
) -> None:
    lab = Lab(world, order, parallel, timing, paying=paying, share=SHARE)
    result = lab.run()
    verdicts = [event.evaluation.verdict if isinstance(event, NodeEvaluated) else None for event in lab.events]
    if Verdict.ACCEPT not in verdicts:
        assert result.reason == "exhausted"
        return
    first = verdicts.index(Verdict.ACCEPT)
    accepted, moment = lab.events[first], lab.times[first]
    assert isinstance(accepted, NodeEvaluated)
    assert lab.tree.accepted is lab.tree.nodes[accepted.node]
    assert (result.reason, result.answer.verified) == ("accepted", True)
    late = [call for call in lab.strategy.calls if call.began > moment]
    assert not late if paying else all(call.verb == "evaluate" for call in late)
    assert all(call.ended is not None for call in lab.strategy.calls)
    if not paying:  # a step whose next call could not be paid any more is cut short there
        assert Counter(call.node for call in lab.strategy.calls if call.verb == "execute") == Counter(lab.executed)
    check_moves(lab)


@FEW
@given(worlds, orders, parallels, timings, st.booleans(), st.data())
def test_a_missing_model_stops_the_run_after_the_steps_under_way(
    world: World, order: str, parallel: int, timing: Timing, paying: bool, data: st.DataObject
) -> None:
    verb, node = data.draw(st.sampled_from(sorted(world.calls())))
    gone = ModelUnavailable("no answer from the model: check the network")
    lab = Lab(world, order, parallel, timing, paying=paying, faults={(verb, node): gone})
    with pytest.raises(ModelUnavailable) as raised:
        lab.run()
    assert raised.value is gone
    broken = [call for call in lab.strategy.calls if call.ended is None]
    assert [(call.verb, call.node) for call in broken] == [(verb, node)]
    moment = broken[0].began + timing.latency(verb, node) / 2
    late = [call for call in lab.strategy.calls if call.began > moment]
    assert not late if paying else all(call.verb == "evaluate" for call in late)
    assert lab.tree.nodes[node].selectable
    check_moves(lab)


@FEW
@given(worlds, orders, parallels, timings, st.data())
def test_a_bug_surfaces_at_once_and_leaves_nothing_running(
    world: World, order: str, parallel: int, timing: Timing, data: st.DataObject
) -> None:
    verb, node = data.draw(st.sampled_from(sorted(world.calls())))
    bug = ValueError("a bug in a strategy")
    lab = Lab(world, order, parallel, timing, paying=True, faults={(verb, node): bug})
    with pytest.raises(ExceptionGroup) as raised:
        lab.run()
    assert raised.value.exceptions == (bug,)
    broken = [call for call in lab.strategy.calls if call.verb == verb and call.node == node]
    assert [call.ended for call in broken] == [None], "it was tried again"
    moment = broken[0].began + timing.latency(verb, node) / 2
    assert not [call for call in lab.strategy.calls if call.began > moment]
    assert lab.tree.nodes[node].selectable
    check_moves(lab)


@FEW
@given(worlds, orders, parallels, timings, moments)
def test_a_cancelled_search_leaves_every_node_as_it_was(
    world: World, order: str, parallel: int, timing: Timing, moment: float
) -> None:
    lab = Lab(world, order, parallel, timing, paying=True)

    async def cancelled_at_that_moment() -> None:
        task = asyncio.ensure_future(lab.search())
        asyncio.get_running_loop().call_later(moment, task.cancel)
        await task

    with suppress(asyncio.CancelledError):
        virtual_time.run(cancelled_at_that_moment(), on_idle=lab.watch)
    cut = [call for call in lab.strategy.calls if call.ended is None]
    assert bool(cut) == (contents(lab.tree) != world.grown())
    assert all(lab.tree.nodes[call.node].selectable for call in cut)
    check_moves(lab)
