"""The tree of one search: its nodes, the life of a node, and the two moves that change it.

    PENDING ── evaluated EXPAND ─▶ OPEN ── expanded, ≥ 1 child ─▶ EXPANDED
            ── KEEP or ACCEPT ───▶ CLOSED      └─ expanded, none ─▶ CLOSED
            ── PRUNE ────────────▶ PRUNED

The root carries no action and starts OPEN. The tree is the only state of a search, the loop is its only writer, and
replaying the moves in their recorded order rebuilds it exactly, sums of floats included. Every move costs O(depth).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from treewright.core.errors import IllegalMove

A = TypeVar("A")
O = TypeVar("O")  # noqa: E741 - the letter of the architecture page: an outcome
A_co = TypeVar("A_co", covariant=True)

ROOT = "0"


class Status(Enum):
    """Where a node is in its life."""

    PENDING = "pending"
    OPEN = "open"
    EXPANDED = "expanded"
    CLOSED = "closed"
    PRUNED = "pruned"


class Verdict(Enum):
    """What an evaluation decides: may grow, finished and eligible, ruled out, ends the search."""

    EXPAND = "expand"
    KEEP = "keep"
    PRUNE = "prune"
    ACCEPT = "accept"


class Growth(Enum):
    """How an expansion went: at least one child, or none."""

    GROWN = "grown"
    BARREN = "barren"


#: The legal moves, all of them: (status, what happened) -> status.
LIFE: dict[tuple[Status, Verdict | Growth], Status] = {
    (Status.PENDING, Verdict.EXPAND): Status.OPEN,
    (Status.PENDING, Verdict.KEEP): Status.CLOSED,
    (Status.PENDING, Verdict.ACCEPT): Status.CLOSED,
    (Status.PENDING, Verdict.PRUNE): Status.PRUNED,
    (Status.OPEN, Growth.GROWN): Status.EXPANDED,
    (Status.OPEN, Growth.BARREN): Status.CLOSED,
}


@dataclass(frozen=True, slots=True)
class Proposal(Generic[A_co]):
    """A child worth trying, before anything ran.

    Args:
        action: what the child would do.
        prior: predicted use in [0, 1].

    Raises:
        IllegalMove: the prior is outside [0, 1].
    """

    action: A_co
    prior: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.prior <= 1.0:  # also refuses NaN
            raise IllegalMove(f"prior {self.prior} is outside [0, 1]")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Judgement of one executed node.

    Args:
        score: reward in [0, 1].
        verdict: the growth decision.
        feedback: text for the next attempt.
        opinion: False when the judge's reply could not be understood: the score is then neutral, and never an accept.

    Raises:
        IllegalMove: the score is outside [0, 1].
    """

    score: float
    verdict: Verdict
    feedback: str = ""
    opinion: bool = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.score <= 1.0:  # also refuses NaN
            raise IllegalMove(f"score {self.score} is outside [0, 1]")


@dataclass(slots=True, eq=False)
class Node(Generic[A, O]):
    """One candidate. Read it freely; only `Tree` writes it.

    Args:
        id: its path: "0" is the root, "0.2.1" the second child of the root's third child.
        parent: None for the root.
        proposal: None for the root.
        path: its id as numbers: (0, 2, 1) for "0.2.1". Path order is pre-order.
        status: where it is in its life.
        outcome: what executing it showed; None before.
        evaluation: how that was judged; None before.
        children: in the order proposed.
        visits: evaluated nodes in its subtree, itself included (N).
        score_sum: sum of their scores.
        running: a step is at work on it.
        ready: nodes in its subtree that `select` may offer.
        in_flight: running nodes in its subtree.
    """

    id: str
    parent: Node[A, O] | None = None
    proposal: Proposal[A] | None = None
    path: tuple[int, ...] = (0,)
    status: Status = Status.PENDING
    outcome: O | None = None
    evaluation: Evaluation | None = None
    children: tuple[Node[A, O], ...] = ()
    visits: int = 0
    score_sum: float = 0.0
    running: bool = False
    ready: int = 0
    in_flight: int = 0

    @property
    def action(self) -> A:
        """What the node tries.

        Raises:
            IllegalMove: for the root, which tries nothing.
        """
        if self.proposal is None:
            raise IllegalMove("the root has no action")
        return self.proposal.action

    @property
    def selectable(self) -> bool:
        """Whether `select` may offer it: pending or open, and no step at work on it."""
        return not self.running and (self.status is Status.PENDING or self.status is Status.OPEN)

    @property
    def value(self) -> float:
        """Q: mean score of the evaluated nodes in its subtree, in [0, 1]; 0.0 before any."""
        return self.score_sum / self.visits if self.visits else 0.0

    @property
    def score(self) -> float:
        """Its own score in [0, 1]; 0.0 before it was evaluated, and for the root."""
        return self.evaluation.score if self.evaluation else 0.0

    @property
    def depth(self) -> int:
        """Edges from the root, 0 for the root."""
        return len(self.path) - 1

    @property
    def index(self) -> int:
        """Place among its siblings, from 0; 0 for the root."""
        return self.path[-1]

    def ancestors(self) -> Iterator[Node[A, O]]:
        """Its parent, its parent's parent, ... up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


class Tree(Generic[A, O]):
    """All nodes of one search.

    Attributes:
        root: the open node everything grows from.
        nodes: id -> node, in the order they were made.
        accepted: the node that ended the search, if one did.
        arrivals: every node each time it became selectable, oldest first. Append-only: an order reads on from where it was.
    """

    def __init__(self) -> None:
        self.root: Node[A, O] = Node(ROOT, status=Status.OPEN)
        self.nodes: dict[str, Node[A, O]] = {ROOT: self.root}
        self.accepted: Node[A, O] | None = None
        self.arrivals: list[Node[A, O]] = []
        self._arrive(self.root)

    def start(self, node: Node[A, O]) -> None:
        """Mark that a step is at work on `node`.

        Raises:
            IllegalMove: it cannot be worked on, or is being worked on already.
        """
        if not node.selectable:
            raise IllegalMove(f"node {node.id} is {node.status.value}{' and running' if node.running else ''}: it cannot start")
        node.running = True
        self._count(node, ready=-1, in_flight=1)

    def release(self, node: Node[A, O]) -> None:
        """Undo `start`: the step ended without a result, the node is as it was and can be offered again.

        Raises:
            IllegalMove: no step is at work on it.
        """
        if not node.running:
            raise IllegalMove(f"node {node.id} is not running: it cannot be released")
        node.running = False
        self._count(node, ready=0, in_flight=-1)
        if node.selectable:
            self._arrive(node)

    def expand(self, node: Node[A, O], proposals: Sequence[Proposal[A]]) -> None:
        """Give an open node its children, or close it when there are none.

        Raises:
            IllegalMove: the node is not open.
        """
        self._move(node, Growth.GROWN if proposals else Growth.BARREN)
        node.children = tuple(
            Node(f"{node.id}.{index}", node, proposal, (*node.path, index), ready=1) for index, proposal in enumerate(proposals)
        )
        self.nodes.update((child.id, child) for child in node.children)
        self.arrivals.extend(node.children)
        self._count(node, ready=len(proposals), in_flight=0)

    def record(self, node: Node[A, O], outcome: O, evaluation: Evaluation) -> None:
        """Give a pending node its outcome and its judgement, and back the score up to the root.

        Raises:
            IllegalMove: the node is not pending.
        """
        self._move(node, evaluation.verdict)
        node.outcome, node.evaluation = outcome, evaluation
        above: Node[A, O] | None = node
        while above is not None:
            above.visits += 1
            above.score_sum += evaluation.score
            above = above.parent
        if evaluation.verdict is Verdict.ACCEPT and self.accepted is None:
            self.accepted = node
        if node.selectable:
            self._arrive(node)

    def candidates(self) -> Iterator[Node[A, O]]:
        """Every executed node that was not pruned, in the order made."""
        return (n for n in self.nodes.values() if n.evaluation is not None and n.status is not Status.PRUNED)

    def _move(self, node: Node[A, O], event: Verdict | Growth) -> None:
        after = LIFE.get((node.status, event))
        if after is None:
            raise IllegalMove(f"node {node.id} is {node.status.value}: it cannot be {event.value}")
        if node.running:
            node.running = False
            self._count(node, ready=0, in_flight=-1)
        else:
            self._count(node, ready=-1, in_flight=0)
        node.status = after

    def _arrive(self, node: Node[A, O]) -> None:
        self.arrivals.append(node)
        self._count(node, ready=1, in_flight=0)

    @staticmethod
    def _count(node: Node[A, O], *, ready: int, in_flight: int) -> None:
        above: Node[A, O] | None = node
        while above is not None:
            above.ready += ready
            above.in_flight += in_flight
            above = above.parent


def node_seed(run_seed: int, node: str, purpose: str = "") -> int:
    """The seed of one node, in [0, 2**31): the same whenever and wherever the node runs.

    Args:
        run_seed: the seed of the run.
        node: id of the node.
        purpose: tells apart several draws of one node.

    >>> node_seed(0, "0.2.1") == node_seed(0, "0.2.1")
    True
    """
    digest = hashlib.blake2b(f"{run_seed}|{node}|{purpose}".encode(), digest_size=4).digest()
    return int.from_bytes(digest) >> 1
