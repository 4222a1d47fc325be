"""Orders: which selectable node comes next. Pure functions of the tree; none of them ever awaits.

An order is a callable `(tree) -> node or None`. `depth_first`, `breadth_first` and `best_first` keep a frontier, a heap
fed from `tree.arrivals`; it is a cache of the tree and never holds anything the tree does not say, so an order made in the
middle of a search (after a resume) offers the same nodes. `uct` walks down from the root.

Each order is one strategy setting; any strategy can be tried with any of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from treewright.core.tree import A, Node, O, Status, Tree

Order = Callable[[Tree[A, O]], Node[A, O] | None]
Key = Callable[[Node[A, O]], tuple[Any, ...]]
N = TypeVar("N", bound=Node[Any, Any])


class Frontier(Generic[A, O]):
    """Offers the selectable node with the least key.

    Args:
        key: the key of a node, taken when the node becomes selectable. Equal keys are settled by the path, so the choice
            never depends on timing. O(log n) a node.
    """

    def __init__(self, key: Key[A, O]) -> None:
        self._key = key
        self._tree: Tree[A, O] | None = None
        self._read = 0
        self._heap: list[tuple[tuple[Any, ...], tuple[int, ...], int, Status, Node[A, O]]] = []

    def __call__(self, tree: Tree[A, O]) -> Node[A, O] | None:
        """The next node to work on, or None when nothing is selectable now. Asking changes nothing."""
        if tree is not self._tree:
            self._tree, self._read, self._heap = tree, 0, []
        for node in tree.arrivals[self._read :]:
            # subtle: the running number keeps two arrivals of one node from ever comparing the nodes themselves.
            heappush(self._heap, (self._key(node), node.path, self._read, node.status, node))
            self._read += 1
        while self._heap:
            *_, status, node = self._heap[0]
            if node.selectable and node.status is status:
                return node
            heappop(self._heap)  # at work or done; or its key is that of an earlier stage of its life
        return None


def by_score(node: Node[Any, Any]) -> tuple[float, int]:
    """Rank among siblings: higher score first, then the one proposed first. A pending node ranks by its place alone."""
    return (-node.score if node.evaluation else 0.0, node.index)


def by_place(node: Node[Any, Any]) -> tuple[float, int]:
    """Rank among siblings: the order in which they were proposed."""
    return (0.0, node.index)


Rank = Callable[[Node[Any, Any]], tuple[float, int]]


def _ranks(node: Node[Any, Any], rank: Rank) -> tuple[tuple[float, int], ...]:
    """The ranks along the path from the root: comparing two of them gives pre-order."""
    line = [rank(node), *map(rank, node.ancestors())]
    return tuple(reversed(line))


def depth_first(*, rank: Rank = by_place, all_children_first: bool = False) -> Frontier[Any, Any]:
    """Depth-first: a node, then what grew from it, then its next sibling (a stack).

    Args:
        rank: order of siblings.
        all_children_first: execute every pending node before any open one is expanded, as the CodeTree-DFS script does (
            all strategies first, then always the best).
    """
    if rank is by_place and not all_children_first:
        return Frontier(lambda _: ())  # path order is pre-order
    return Frontier(lambda node: (all_children_first and node.status is Status.OPEN, _ranks(node, rank)))


def breadth_first(*, rank: Rank = by_place, all_children_first: bool = False) -> Frontier[Any, Any]:
    """Breadth-first: all of one depth before the next (a queue).

    Args:
        rank: order of siblings.
        all_children_first: as for `depth_first`.
    """
    if rank is by_place and not all_children_first:
        return Frontier(lambda node: (node.depth,))
    return Frontier(lambda node: (all_children_first and node.status is Status.OPEN, node.depth, _ranks(node, rank)))


def best_first(key: Callable[[Node[A, O]], float]) -> Frontier[A, O]:
    """Best-first: the selectable node with the highest `key`; ties go to the one first in path order.

    Args:
        key: how promising a node is. For a pending node only its proposal and its ancestors are known.
    """
    return Frontier(lambda node: (-key(node),))


Formula = Callable[[Node[A, O], Node[A, O]], float]


def ucb1(c: float = math.sqrt(2)) -> Formula[Any, Any]:
    """UCB1 (Auer et al. 2002; UCT: Kocsis and Szepesvári 2006): Q(child) + c * sqrt(ln N(parent) / N(child)).

    Nodes in flight count as visits without reward (virtual loss). A child without a visit comes before any with one;
    among those the higher prior comes first.

    Args:
        c: weight of exploration, >= 0.
    """

    def formula(parent: Node[Any, Any], child: Node[Any, Any]) -> float:
        visits = child.visits + child.in_flight
        if visits == 0:
            return 1e9 + (child.proposal.prior if child.proposal else 0.0)
        return child.score_sum / visits + c * math.sqrt(math.log(max(1, parent.visits + parent.in_flight)) / visits)

    return formula


def uct(formula: Formula[A, O] | None = None) -> Order[A, O]:
    """Monte Carlo tree search's selection: from the root, always the child with the highest `formula`, until a selectable
    node is reached. Subtrees in which nothing is selectable are passed over. O(depth x children) a call.

    Args:
        formula: (parent, child) -> how much we want to go down there; `ucb1()` when None.
    """
    upper = formula or ucb1()

    def select(tree: Tree[A, O]) -> Node[A, O] | None:
        node = tree.root
        while not node.selectable:
            ready = [child for child in node.children if child.ready]
            if not ready:
                return None
            parent = node
            # max() keeps the first of equals: the one proposed first.
            node = max(ready, key=lambda child: upper(parent, child))
        return node

    return select
