"""The orders, against references that remember nothing and scan or recurse over everything."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_checks import subtree
from treewright.core.orders import Order, best_first, breadth_first, by_score, depth_first, ucb1, uct
from treewright.core.tree import Evaluation, Node, Proposal, Status, Tree, Verdict
from worlds import FEW, ORDERS, World, orders, promise, worlds

Words = Tree[str, str]
WordNode = Node[str, str]


def advance(tree: Words, node: WordNode, world: World) -> None:
    """One step on a node, as the loop takes it."""
    if node.status is Status.OPEN:
        tree.expand(node, world.proposals(node.id))
    else:
        tree.record(node, world.outcome(node.id), world.evaluation(node.id))


def walk(order: Order[str, str], world: World, tree: Words | None = None) -> list[str]:
    """Ids in the order the steps are taken, one after the other, until nothing is selectable."""
    tree = Tree() if tree is None else tree
    taken = []
    while (node := order(tree)) is not None:
        assert node.selectable
        tree.start(node)
        taken.append(node.id)
        advance(tree, node, world)
    assert tree.root.ready == 0
    return taken


def recursive(world: World, *, all_children_first: bool, by: Callable[[WordNode], object]) -> list[str]:
    """Depth-first search as a textbook writes it."""
    tree: Words = Tree()
    taken: list[str] = []

    def step(node: WordNode) -> None:
        taken.append(node.id)
        advance(tree, node, world)

    def visit(node: WordNode) -> None:
        if node.status is Status.PENDING:
            step(node)
        if node.status is Status.OPEN:
            step(node)
            if all_children_first:
                for child in node.children:
                    step(child)
            for child in sorted(node.children, key=by):  # type: ignore[arg-type]  # any key that can be compared
                visit(child)

    visit(tree.root)
    return taken


@FEW
@given(worlds)
def test_depth_first_is_recursion(world: World) -> None:
    assert walk(depth_first(), world) == recursive(world, all_children_first=False, by=lambda child: child.index)
    # Ranked by score, a node that was just executed never stands behind a sibling nobody has tried yet.
    assert walk(depth_first(rank=by_score), world) == walk(depth_first(), world)


@FEW
@given(worlds)
def test_depth_first_with_all_children_first_executes_them_and_then_goes_down(world: World) -> None:
    placed = recursive(world, all_children_first=True, by=lambda child: child.index)
    assert walk(depth_first(all_children_first=True), world) == placed
    scored = recursive(world, all_children_first=True, by=lambda child: (-child.score, child.index))
    assert walk(depth_first(rank=by_score, all_children_first=True), world) == scored


@FEW
@given(worlds)
def test_breadth_first_is_a_queue(world: World) -> None:
    tree: Words = Tree()
    queue, taken = deque([tree.root]), []
    while queue:
        node = queue.popleft()
        while node.selectable:
            taken.append(node.id)
            advance(tree, node, world)
        queue.extend(node.children)
    assert walk(breadth_first(), world) == taken


@FEW
@given(worlds)
def test_breadth_first_with_all_children_first_executes_a_layer_and_expands_its_best_first(world: World) -> None:
    tree: Words = Tree()
    layer, taken = [tree.root], []
    while layer:
        below: list[WordNode] = []
        for node in (node for node in layer if node.status is Status.OPEN):
            taken.append(node.id)
            advance(tree, node, world)
            for child in node.children:
                taken.append(child.id)
                advance(tree, child, world)
            below += sorted(node.children, key=by_score)
        layer = below
    assert walk(breadth_first(rank=by_score, all_children_first=True), world) == taken


def test_siblings_are_ranked_by_score_and_equals_by_place() -> None:
    scores = [0.2, 0.9, 0.0, 0.9]
    ranked = ["0.1", "0.3", "0.0", "0.2"]
    for order in (depth_first, breadth_first):
        tree = layer_of(scores)
        chosen = order(rank=by_score, all_children_first=True)
        assert take_all(chosen, tree) == ranked
        assert take_all(order(all_children_first=True), layer_of(scores)) == ["0.0", "0.1", "0.2", "0.3"]


def layer_of(scores: list[float]) -> Words:
    """A root with one open child for each score."""
    tree: Words = Tree()
    tree.expand(tree.root, [Proposal("child")] * len(scores))
    for child, score in zip(tree.root.children, scores, strict=True):
        tree.record(child, "seen", Evaluation(score, Verdict.EXPAND))
    return tree


def take_all(order: Order[str, str], tree: Words) -> list[str]:
    """Ids of what an order offers when each node it offers starts and nothing ends."""

    def taken() -> Iterator[str]:
        while (node := order(tree)) is not None:
            tree.start(node)
            yield node.id

    return list(taken())


@FEW
@given(worlds)
def test_best_first_is_the_maximum_again_and_again(world: World) -> None:
    def best(tree: Words) -> WordNode | None:
        able = [node for node in subtree(tree.root) if node.selectable]
        return max(able, key=lambda node: (promise(node), [-place for place in node.path]), default=None)

    # subtle: of equals the first in path order, and -place puts a parent behind its children; only one of them is ever able.
    assert walk(best_first(promise), world) == walk(best, world)


def able(node: WordNode) -> bool:
    return any(below.selectable for below in subtree(node))


def visits(node: WordNode) -> int:
    """Evaluated nodes of the subtree, and those in flight: each as a visit without a reward."""
    return sum((below.evaluation is not None) + below.running for below in subtree(node))


def ucb1_by_definition(parent: WordNode, child: WordNode, c: float) -> float:
    if not visits(child):
        return math.inf
    reward = sum(below.score for below in subtree(child)) / visits(child)
    return reward + c * math.sqrt(math.log(visits(parent)) / visits(child))


def check_uct(tree: Words, chosen: WordNode | None, c: float) -> None:
    """From the root down, the way to the chosen node takes a child with the highest bound, counted again from the leaves."""
    if chosen is None:
        assert not able(tree.root)
        return
    line = [*reversed(list(chosen.ancestors())), chosen]
    assert chosen.selectable
    assert not any(above.selectable for above in line[:-1])
    for parent, child in pairwise(line):
        bounds = {other.id: ucb1_by_definition(parent, other, c) for other in parent.children if able(other)}
        assert bounds[child.id] >= max(bounds.values()) - 1e-9
        if bounds[child.id] == math.inf:
            new = [other for other in parent.children if bounds.get(other.id) == math.inf]
            assert child is max(new, key=lambda other: (other.proposal.prior if other.proposal else 0, -other.index))


@FEW
@given(worlds, st.sampled_from([0.0, 0.5, math.sqrt(2), 10.0]), st.lists(st.integers(0, 7), max_size=60))
def test_uct_takes_the_highest_bound_with_any_steps_in_flight_and_finds_everything(
    world: World, c: float, ends: list[int]
) -> None:
    """A number below 4 lets another step start, and any other lets one of those in flight end."""
    tree: Words = Tree()
    order, running = uct(ucb1(c)), list[WordNode]()
    for number in [*ends, *[7, 0] * len(world.calls())]:
        if number < 4:
            node = order(tree)
            check_uct(tree, node, c)
            if node is not None:
                tree.start(node)
                running.append(node)
        elif running:
            advance(tree, running.pop(number % len(running)), world)
    assert tree.root.ready == 0
    assert tree.root.visits == len(world.grown()) - 1


def test_ucb1_is_the_printed_formula_with_nodes_in_flight_as_visits_without_reward() -> None:
    tree = layer_of([0.5, 0.25])
    left, right = tree.root.children
    assert ucb1(2.0)(tree.root, left) == 0.5 + 2.0 * math.sqrt(math.log(2) / 1)
    tree.start(left)
    assert ucb1(2.0)(tree.root, left) == 0.5 / 2 + 2.0 * math.sqrt(math.log(3) / 2)
    assert ucb1(2.0)(tree.root, right) == 0.25 + 2.0 * math.sqrt(math.log(3) / 1)
    assert ucb1()(tree.root, right) == ucb1(math.sqrt(2))(tree.root, right)


def test_uct_sends_a_second_step_elsewhere_while_the_first_is_in_flight() -> None:
    tree = layer_of([0.9, 0.8])
    for child in tree.root.children:
        tree.expand(child, [Proposal("one"), Proposal("two")])
    assert take_all(uct(ucb1(0.1)), tree) == ["0.0.0", "0.1.0", "0.0.1", "0.1.1"]


def test_uct_tries_new_children_by_their_prior_and_equals_by_place() -> None:
    tree: Words = Tree()
    tree.expand(tree.root, [Proposal("child", prior) for prior in (0.1, 0.7, 0.7, 0.0)])
    assert take_all(uct(), tree) == ["0.1", "0.2", "0.0", "0.3"]
    assert take_all(uct(), layer_of([0.5, 0.5, 0.5])) == ["0.0", "0.1", "0.2"]


def test_uct_follows_the_formula_it_is_given() -> None:
    last = uct(lambda _, child: float(child.index))
    assert take_all(last, layer_of([0.9, 0.5, 0.1])) == ["0.2", "0.1", "0.0"]


@FEW
@given(
    worlds,
    orders,
    st.lists(st.tuples(st.sampled_from(["start", "release", "advance", "ask"]), st.integers(0, 99)), max_size=40),
)
def test_an_order_is_a_function_of_the_tree_whoever_moves_it(world: World, name: str, moves: list[tuple[str, int]]) -> None:
    tree: Words = Tree()
    old = ORDERS[name]()
    for move, number in moves:
        at_work = [node for node in tree.nodes.values() if node.running]
        at_rest = [node for node in tree.nodes.values() if node.selectable]
        if move == "start" and at_rest:
            tree.start(at_rest[number % len(at_rest)])
        elif move == "release" and at_work:
            tree.release(at_work[number % len(at_work)])
        elif move == "advance" and at_work + at_rest:
            advance(tree, (at_work + at_rest)[number % len(at_work + at_rest)], world)
        elif move == "ask":
            assert old(tree) is ORDERS[name]()(tree)


@pytest.mark.parametrize("name", sorted(ORDERS))
def test_an_order_that_is_shown_another_tree_offers_nodes_of_that_one(name: str) -> None:
    world, order, other = World(seed=1), ORDERS[name](), Tree[str, str]()
    walked = walk(order, world)
    assert order(other) is other.root
    assert walk(order, world, other) == walked


@pytest.mark.parametrize("name", sorted(ORDERS))
def test_nothing_is_offered_while_everything_is_in_flight_and_a_released_node_is_offered_again(name: str) -> None:
    tree, order = layer_of([0.9, 0.5, 0.7]), ORDERS[name]()
    assert sorted(take_all(order, tree)) == ["0.0", "0.1", "0.2"]
    assert order(tree) is None
    tree.release(tree.nodes["0.1"])
    assert order(tree) is tree.nodes["0.1"]


@FEW
@given(worlds, orders)
def test_every_order_finds_everything(world: World, name: str) -> None:
    taken = walk(ORDERS[name](), world)
    assert sorted(taken) == sorted(node for verb, node in world.calls() if verb != "evaluate")
