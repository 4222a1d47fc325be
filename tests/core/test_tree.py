"""The tree: its life table, its two moves, and the sums and counts that every node keeps of its subtree."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_checks import check_counts, everything, facts
from treewright.core.errors import IllegalMove
from treewright.core.tree import LIFE, Evaluation, Growth, Node, Proposal, Status, Tree, Verdict, node_seed
from worlds import FEW

Words = Tree[str, str]
ONE = (Proposal("one"),)


def judged(verdict: Verdict, score: float = 0.5) -> Evaluation:
    return Evaluation(score, verdict)


def grown(*verdicts: Verdict) -> Words:
    """A tree whose root has one judged child for each verdict, and a pending one after them."""
    tree: Words = Tree()
    tree.expand(tree.root, [Proposal(str(index)) for index in range(len(verdicts) + 1)])
    for child, verdict in zip(tree.root.children, verdicts, strict=False):
        tree.record(child, "seen", judged(verdict))
    return tree


def node_that_is(status: Status) -> tuple[Words, Node[str, str]]:
    tree = grown(Verdict.EXPAND, Verdict.EXPAND, Verdict.KEEP, Verdict.PRUNE)
    tree.expand(tree.nodes["0.1"], ONE)
    order = [Status.OPEN, Status.EXPANDED, Status.CLOSED, Status.PRUNED, Status.PENDING]
    node = tree.root.children[order.index(status)]
    assert node.status is status
    return tree, node


def happen(tree: Words, node: Node[str, str], what: Verdict | Growth) -> None:
    if isinstance(what, Verdict):
        tree.record(node, "seen", judged(what))
    else:
        tree.expand(node, ONE if what is Growth.GROWN else ())


AFTER = {
    (Status.PENDING, Verdict.EXPAND): Status.OPEN,
    (Status.PENDING, Verdict.KEEP): Status.CLOSED,
    (Status.PENDING, Verdict.ACCEPT): Status.CLOSED,
    (Status.PENDING, Verdict.PRUNE): Status.PRUNED,
    (Status.OPEN, Growth.GROWN): Status.EXPANDED,
    (Status.OPEN, Growth.BARREN): Status.CLOSED,
}
PAIRS: list[tuple[Status, Verdict | Growth]] = [(status, what) for status in Status for what in [*Verdict, *Growth]]


def test_the_life_table_is_the_drawn_one() -> None:
    assert LIFE == AFTER


@pytest.mark.parametrize(("status", "what"), [pair for pair in PAIRS if pair in AFTER])
@pytest.mark.parametrize("running", [False, True])
def test_legal_moves_lead_where_the_table_says_and_end_the_step(status: Status, what: Verdict | Growth, running: bool) -> None:
    tree, node = node_that_is(status)
    if running:
        tree.start(node)
    happen(tree, node, what)
    assert node.status is AFTER[status, what]
    assert not node.running
    check_counts(tree)


@pytest.mark.parametrize(("status", "what"), [pair for pair in PAIRS if pair not in AFTER])
def test_illegal_moves_raise_and_change_nothing(status: Status, what: Verdict | Growth) -> None:
    tree, node = node_that_is(status)
    before = everything(tree)
    with pytest.raises(IllegalMove, match=rf"node {node.id} is {status.value}: it cannot be"):
        happen(tree, node, what)
    assert everything(tree) == before


@pytest.mark.parametrize("status", [Status.EXPANDED, Status.CLOSED, Status.PRUNED])
def test_a_finished_node_cannot_start(status: Status) -> None:
    tree, node = node_that_is(status)
    before = everything(tree)
    with pytest.raises(IllegalMove, match="cannot start"):
        tree.start(node)
    assert everything(tree) == before


def test_a_running_node_cannot_start_again() -> None:
    tree, node = node_that_is(Status.PENDING)
    tree.start(node)
    before = everything(tree)
    with pytest.raises(IllegalMove, match="pending and running"):
        tree.start(node)
    assert everything(tree) == before


@pytest.mark.parametrize("status", list(Status))
def test_a_node_that_does_not_run_cannot_be_released(status: Status) -> None:
    tree, node = node_that_is(status)
    before = everything(tree)
    with pytest.raises(IllegalMove):
        tree.release(node)
    assert everything(tree) == before


@pytest.mark.parametrize("status", [Status.PENDING, Status.OPEN])
def test_a_released_node_is_as_it_was_and_arrives_again(status: Status) -> None:
    tree, node = node_that_is(status)
    before, arrivals = facts(tree), len(tree.arrivals)
    tree.start(node)
    assert (tree.root.in_flight, node.ready) == (1, 0)
    tree.release(node)
    assert facts(tree) == before
    assert node.selectable
    assert tree.arrivals[arrivals:] == [node]
    check_counts(tree)


@pytest.mark.parametrize("score", [-0.001, 1.001, math.nan, math.inf])
def test_a_score_outside_the_unit_interval_is_refused(score: float) -> None:
    tree, node = node_that_is(Status.PENDING)
    before = everything(tree)
    with pytest.raises(IllegalMove, match="outside"):
        tree.record(node, "seen", judged(Verdict.KEEP, score))
    assert everything(tree) == before


@pytest.mark.parametrize("prior", [-0.001, 1.001, math.nan, math.inf])
def test_a_prior_outside_the_unit_interval_is_refused(prior: float) -> None:
    tree, node = node_that_is(Status.OPEN)
    before = everything(tree)
    with pytest.raises(IllegalMove, match="outside"):
        tree.expand(node, [Proposal("fine"), Proposal("not", prior)])
    assert everything(tree) == before


@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_the_bounds_of_scores_and_priors_are_allowed(bound: float) -> None:
    tree: Words = Tree()
    tree.expand(tree.root, [Proposal("one", bound)])
    tree.record(tree.nodes["0.0"], "seen", judged(Verdict.KEEP, bound))
    assert tree.root.value == bound


def test_a_new_tree_is_an_open_root_that_can_be_selected_and_answers_nothing() -> None:
    tree: Words = Tree()
    assert (tree.root.id, tree.root.status, tree.root.selectable, tree.root.ready) == ("0", Status.OPEN, True, 1)
    assert (tree.root.visits, tree.root.value, tree.root.score, tree.root.depth) == (0, 0.0, 0.0, 0)
    assert list(tree.candidates()) == []
    assert tree.accepted is None
    with pytest.raises(IllegalMove, match="root"):
        _ = tree.root.action


def test_ids_are_paths_and_the_tenth_child_stands_after_the_second() -> None:
    tree: Words = Tree()
    tree.expand(tree.root, [Proposal(f"child {index}") for index in range(11)])
    tenth = tree.nodes["0.10"]
    assert (tenth.path, tenth.depth, tenth.index, tenth.action) == ((0, 10), 1, 10, "child 10")
    assert tree.nodes["0.2"].path < tenth.path
    tree.record(tenth, "seen", judged(Verdict.EXPAND))
    tree.expand(tenth, ONE)
    leaf = tree.nodes["0.10.0"]
    assert [node.id for node in leaf.ancestors()] == ["0.10", "0"]
    assert list(tree.nodes) == ["0", *(f"0.{index}" for index in range(11)), "0.10.0"]


def test_scores_are_backed_up_to_every_ancestor_and_to_nobody_else() -> None:
    tree = grown(Verdict.EXPAND, Verdict.EXPAND)
    tree.expand(tree.nodes["0.0"], ONE)
    tree.record(tree.nodes["0.0.0"], "seen", judged(Verdict.PRUNE, 0.1))
    sums = {node.id: (node.visits, node.score_sum, node.value) for node in tree.nodes.values()}
    assert sums == {
        "0": (3, 0.5 + 0.5 + 0.1, (0.5 + 0.5 + 0.1) / 3),
        "0.0": (2, 0.5 + 0.1, (0.5 + 0.1) / 2),
        "0.1": (1, 0.5, 0.5),
        "0.2": (0, 0.0, 0.0),
        "0.0.0": (1, 0.1, 0.1),
    }


def test_the_first_accepted_node_stays_the_accepted_one() -> None:
    tree = grown(Verdict.KEEP, Verdict.ACCEPT, Verdict.ACCEPT)
    assert tree.accepted is tree.nodes["0.1"]


def test_candidates_are_the_executed_nodes_that_were_not_pruned_in_the_order_made() -> None:
    tree = grown(Verdict.KEEP, Verdict.PRUNE, Verdict.ACCEPT, Verdict.EXPAND)
    tree.expand(tree.nodes["0.3"], ONE)
    tree.record(tree.nodes["0.3.0"], "seen", judged(Verdict.KEEP))
    tree.record(tree.nodes["0.4"], "seen", judged(Verdict.KEEP))
    assert [node.id for node in tree.candidates()] == ["0.0", "0.2", "0.3", "0.4", "0.3.0"]


def test_values_are_frozen() -> None:
    proposal, evaluation = Proposal("one"), judged(Verdict.KEEP)
    with pytest.raises(FrozenInstanceError):
        proposal.prior = 0.5  # type: ignore[misc]  # what is tested
    with pytest.raises(FrozenInstanceError):
        evaluation.score = 1.0  # type: ignore[misc]  # what is tested


Move = Verdict | Growth | str
MOVES: list[Move] = ["start", "release", *Verdict, *Growth]


def make(move: Move, tree: Words, node: Node[str, str], score: float) -> None:
    match move:
        case Verdict():
            tree.record(node, "seen", judged(move, score))
        case Growth():
            tree.expand(node, [Proposal("child", score)] * (2 if move is Growth.GROWN else 0))
        case "start":
            tree.start(node)
        case _:
            tree.release(node)


def legal(move: Move, node: Node[str, str]) -> bool:
    match move:
        case Verdict() | Growth():
            return (node.status, move) in AFTER
        case "start":
            return node.status in (Status.PENDING, Status.OPEN) and not node.running
        case _:
            return node.running


@FEW
@given(st.data())
def test_any_row_of_moves_keeps_the_counts_and_what_is_illegal_changes_nothing(data: st.DataObject) -> None:
    tree: Words = Tree()
    tree.expand(tree.root, [Proposal("child")] * 3)
    for _ in range(data.draw(st.integers(0, 25))):
        node = tree.nodes[data.draw(st.sampled_from(list(tree.nodes)))]
        move = data.draw(st.sampled_from(MOVES))
        score = data.draw(st.integers(0, 10)) / 10
        before = everything(tree)
        if legal(move, node):
            make(move, tree, node, score)
        else:
            with pytest.raises(IllegalMove):
                make(move, tree, node, score)
            assert everything(tree) == before
        check_counts(tree)
    assert set(tree.arrivals) >= {node for node in tree.nodes.values() if node.selectable}


def test_seeds_are_the_same_for_ever() -> None:
    assert [node_seed(0, "0"), node_seed(0, "0.2.1"), node_seed(7, "0.2.1", "solver")] == [1799590272, 958616357, 489528909]


@given(st.integers(), st.integers(0, 99), st.text())
def test_seeds_are_below_two_to_the_31(run_seed: int, index: int, purpose: str) -> None:
    assert 0 <= node_seed(run_seed, f"0.{index}", purpose) < 2**31


def test_seeds_tell_runs_nodes_and_purposes_apart() -> None:
    seeds = {node_seed(run, f"0.{index}", purpose) for run in range(10) for index in range(100) for purpose in ("", "a")}
    assert len(seeds) == 2_000
    assert sum(seed >> 30 for seed in seeds) in range(800, 1200), "the highest bit is as often 1 as 0"
