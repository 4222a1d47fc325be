"""The recorded moves are the whole tree: it can be rebuilt from them, and searched on from wherever they were cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import Lab
from tree_checks import check_at_rest, contents, facts, rebuilt
from treewright.core.budget import Budget, Limits, Spend
from treewright.core.errors import JournalError
from treewright.core.orders import Order
from treewright.core.tree import Node, Tree
from worlds import FEW, ORDERS, Timing, World, orders, parallels, timings, worlds, worlds_with_an_answer

any_world = worlds | worlds_with_an_answer
Setting = tuple[str, int, Timing]
settings = st.tuples(orders, parallels, timings)


def check_whole(lab: Lab) -> None:
    """The moves of all sittings make this tree, each of its nodes was executed once, and nothing is under way."""
    assert facts(rebuilt(lab.all_events)) == facts(lab.tree)
    assert len(lab.executed) == len(set(lab.executed)) == lab.tree.root.visits
    check_at_rest(lab.tree, lab.budget)


def check_same(world: World, lab: Lab, other: Lab) -> None:
    """Nodes that two searches of one world both found hold the same; without an accept they found the same nodes."""
    ours, theirs = contents(lab.tree), contents(other.tree)
    if world.accept == 0:
        assert ours == theirs == world.grown()
    for node in ours.keys() & theirs.keys():
        assert ours[node][1] == theirs[node][1]
        if ours[node][3] is not None and theirs[node][3] is not None:
            assert ours[node][2:] == theirs[node][2:]


@FEW
@given(any_world, orders, parallels, timings, st.none() | st.integers(0, 40))
def test_the_recorded_moves_rebuild_the_tree_to_the_last_bit(
    world: World, order: str, parallel: int, timing: Timing, executions: int | None
) -> None:
    lab = Lab(world, order, parallel, timing, Budget(Limits(executions=executions)))
    lab.run()
    check_whole(lab)
    again = rebuilt(lab.events)
    assert list(again.nodes) == list(lab.tree.nodes)
    assert [n.score_sum.hex() for n in again.nodes.values()] == [n.score_sum.hex() for n in lab.tree.nodes.values()]


@FEW
@given(any_world, settings, settings, st.data())
def test_a_search_cut_at_any_event_and_taken_up_again_ends_with_the_same_nodes(
    world: World, before: Setting, after: Setting, data: st.DataObject
) -> None:
    whole = Lab(world, *before)
    whole.run()
    cut = data.draw(st.integers(0, len(whole.events)))
    resumed = Lab(world, *after, known=whole.events[:cut])
    resumed.run()
    check_whole(resumed)
    check_same(world, whole, resumed)


@FEW
@given(any_world, st.lists(st.tuples(settings, st.integers(0, 6)), max_size=4))
def test_many_sittings_find_what_one_finds(world: World, sittings: list[tuple[Setting, int]]) -> None:
    one, lab = Lab(world), Lab(world, budget=Budget(Limits(executions=0)))
    one.run()
    for setting, more in sittings:
        done = len(lab.executed)
        lab = Lab(world, *setting, Budget(Limits(executions=done + more), Spend(executions=done)), known=lab.all_events)
        lab.run()
        check_whole(lab)
    last = Lab(world, known=lab.all_events)
    last.run()
    check_whole(last)
    check_same(world, one, last)


@FEW
@given(any_world, orders, parallels, timings, st.integers(0, 60), st.booleans(), st.booleans())
def test_a_sink_that_fails_at_any_event_stops_the_run_and_loses_nothing(
    world: World, order: str, parallel: int, timing: Timing, crash_at: int, ours: bool, taken: bool
) -> None:
    crash = JournalError("the disk is full: free some space") if ours else OSError("the disk is full")
    lab = Lab(world, order, parallel, timing, crash=crash, crash_at=crash_at, taken=taken)
    whole = Lab(world, order, parallel, timing)
    whole.run()
    if crash_at < len(whole.events):
        with pytest.raises(JournalError if ours else ExceptionGroup):
            lab.run()
    else:
        lab.run()
    check_at_rest(lab.tree, lab.budget)
    resumed = Lab(world, order, parallel, timing, known=lab.events)
    resumed.run()
    check_whole(resumed)
    check_same(world, whole, resumed)


@FEW
@given(any_world, orders, parallels, timings, st.none() | st.integers(0, 40))
def test_an_order_made_in_the_middle_of_a_search_offers_what_the_old_one_offers(
    world: World, order: str, parallel: int, timing: Timing, executions: int | None
) -> None:
    lab = Lab(world, order, parallel, timing, Budget(Limits(executions=executions)))
    old: Order[str, str] = lab.strategy.order

    def both(tree: Tree[str, str]) -> Node[str, str] | None:
        node = old(tree)
        assert ORDERS[order]()(tree) is node
        return node

    lab.strategy.order = both
    lab.run()
    check_whole(lab)
