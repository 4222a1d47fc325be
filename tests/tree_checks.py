"""What must hold of every tree and of every budget, told by counting again from the start."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treewright.core.budget import DIMENSIONS, Budget
from treewright.core.events import Event, NodeEvaluated, NodeExpanded
from treewright.core.tree import Node, Status, Tree

#: What a node holds, apart from where it stands in the search.
Contents = tuple[Status, object, object, object]


def apply(tree: Tree[Any, Any], event: Event) -> None:
    """Make the move that an event tells of; events that are no moves change nothing."""
    match event:
        case NodeExpanded(node, proposals):
            tree.expand(tree.nodes[node], proposals)
        case NodeEvaluated(node, outcome, evaluation):
            tree.record(tree.nodes[node], outcome, evaluation)


def rebuilt(events: Iterable[Event]) -> Tree[str, str]:
    tree: Tree[str, str] = Tree()
    for event in events:
        apply(tree, event)
    return tree


def contents(tree: Tree[Any, Any]) -> dict[str, Contents]:
    return {node.id: (node.status, node.proposal, node.outcome, node.evaluation) for node in tree.nodes.values()}


def facts(tree: Tree[Any, Any]) -> list[object]:
    """All that a journal must be able to rebuild: nodes in their order, sums to the last bit, the accepted node."""
    nodes = [
        (n.id, n.parent and n.parent.id, n.depth, n.index, [child.id for child in n.children], n.visits, n.score_sum.hex())
        for n in tree.nodes.values()
    ]
    return [nodes, list(contents(tree).items()), tree.accepted and tree.accepted.id]


def everything(tree: Tree[Any, Any]) -> list[object]:
    """The facts, and all that goes with work under way."""
    passing = [(n.running, n.ready, n.in_flight) for n in tree.nodes.values()]
    return [facts(tree), passing, [node.id for node in tree.arrivals]]


def subtree(node: Node[Any, Any]) -> list[Node[Any, Any]]:
    return [node, *(below for child in node.children for below in subtree(child))]


def check_counts(tree: Tree[Any, Any]) -> None:
    """Every sum that a node keeps of its subtree is what counting the subtree gives."""
    assert set(tree.nodes.values()) == set(subtree(tree.root))
    for node in tree.nodes.values():
        below = subtree(node)
        judged = [n.evaluation.score for n in below if n.evaluation is not None]
        assert node.visits == len(judged), node.id
        assert abs(node.score_sum - sum(judged)) < 1e-9, node.id
        assert node.ready == sum(n.selectable for n in below), node.id
        assert node.in_flight == sum(n.running for n in below), node.id
        assert (node.status is Status.EXPANDED) == bool(node.children), node.id
        assert (node.evaluation is None) == (node.status is Status.PENDING or node.parent is None), node.id
        assert (node.outcome is None) == (node.evaluation is None), node.id
        assert [child.id for child in node.children] == [f"{node.id}.{index}" for index in range(len(node.children))]
        assert not node.running or node.status in (Status.PENDING, Status.OPEN), node.id


def check_at_rest(tree: Tree[Any, Any], budget: Budget) -> None:
    """Nothing is under way: no node runs, nothing is held."""
    check_counts(tree)
    assert tree.root.in_flight == 0
    for name in DIMENSIONS:
        assert getattr(budget.held, name) == 0, name


def check_within(budget: Budget) -> None:
    """No limit is passed, whatever is under way. Exact when all amounts are whole fractions by powers of two."""
    for name in DIMENSIONS:
        spent, held, kept = (getattr(part, name) for part in (budget.spent, budget.held, budget.kept))
        assert min(spent, held, kept) >= 0, name
        if (bound := getattr(budget.limits, name)) is not None:
            assert spent + held + kept <= bound, name
