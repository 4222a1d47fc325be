"""Scripted worlds to search in: what a node holds depends on its id and a seed alone, how long it takes on another seed.

A `World` says what is there, a `Timing` how long each call takes and what it costs, a `Scripted` strategy acts it out, with
faults where a test wants them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tree_checks import check_within
from treewright.core.budget import Budget, Spend
from treewright.core.orders import Order, best_first, breadth_first, by_score, depth_first, uct
from treewright.core.search import Answer
from treewright.core.tree import Evaluation, Node, Proposal, Status, Tree, Verdict, node_seed

FEW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
SHARE = Spend(calls=1, tokens=8, dollars=0.125)


@dataclass(frozen=True, slots=True)
class World:
    """A tree to be found.

    Args:
        seed: two worlds with one seed are equal.
        depth: of the deepest node.
        width: most children of a node; the root has as many.
        accept: in 100 executed nodes, how many are accepted.
        prune: the same for pruned.
        keep: the same for kept; all others may grow.
    """

    seed: int
    depth: int = 3
    width: int = 3
    accept: int = 0
    prune: int = 10
    keep: int = 10

    def proposals(self, node: str) -> tuple[Proposal[str], ...]:
        """The children of a node. Priors have ties, and are no sums of powers of two."""
        depth = node.count(".")
        draw = Random(node_seed(self.seed, node, "proposals"))
        count = draw.choice([self.width, draw.randint(0, self.width)]) if depth else self.width
        if depth == self.depth:
            return ()
        return tuple(Proposal(f"try {node}.{index}", draw.randint(0, 10) / 10) for index in range(count))

    def outcome(self, node: str) -> str:
        return f"saw {node_seed(self.seed, node, 'outcome')}"

    def evaluation(self, node: str) -> Evaluation:
        draw = Random(node_seed(self.seed, node, "evaluation"))
        score, lot = draw.randint(0, 10) / 10, draw.randrange(100)
        if lot < self.accept:
            return Evaluation(score, Verdict.ACCEPT, "right")
        if lot < self.accept + self.prune:
            return Evaluation(score, Verdict.PRUNE, "hopeless")
        verdict = Verdict.KEEP if lot < self.accept + self.prune + self.keep else Verdict.EXPAND
        return Evaluation(score, verdict, f"scored {score}", opinion=draw.random() < 0.9)

    def grown(self) -> dict[str, object]:
        """What every node holds when all of the world was found, told without a search."""
        found: dict[str, object] = {"0": (Status.EXPANDED, None, None, None)}
        ahead = [(f"0.{index}", child) for index, child in enumerate(self.proposals("0"))]
        while ahead:
            node, proposal = ahead.pop()
            judged = self.evaluation(node)
            status = Status.PRUNED if judged.verdict is Verdict.PRUNE else Status.CLOSED
            if judged.verdict is Verdict.EXPAND and (children := self.proposals(node)):
                status = Status.EXPANDED
                ahead += [(f"{node}.{index}", child) for index, child in enumerate(children)]
            found[node] = (status, proposal, self.outcome(node), judged)
        return found

    def calls(self) -> set[tuple[str, str]]:
        """Every (verb, node) that finding all of the world takes."""
        judged = self.grown().keys() - {"0"}
        growing = {node for node in judged if self.evaluation(node).verdict is Verdict.EXPAND} | {"0"}
        return {(verb, node) for verb in ("execute", "evaluate") for node in judged} | {("expand", node) for node in growing}


@dataclass(frozen=True, slots=True)
class Timing:
    """How long calls take, and what they cost: whole eighths of a second, so that sums of them are exact.

    Args:
        seed: two timings with one seed are equal.
        slowest: eighths of a second of the slowest call; 0 for calls that end at once.
    """

    seed: int = 0
    slowest: int = 16

    def latency(self, verb: str, node: str) -> float:
        return Random(node_seed(self.seed, node, verb)).randint(0, self.slowest) / 8

    def price(self, verb: str, node: str) -> tuple[Spend, Spend]:
        """At worst, and in fact."""
        draw = Random(node_seed(self.seed, node, f"price {verb}"))
        worst = draw.randint(1, 64)
        actual = draw.randint(0, worst)
        tool_calls = int(verb == "execute")
        return Spend(0, 1, tool_calls, worst, worst / 64), Spend(0, 1, tool_calls, actual, actual / 64)


@dataclass(slots=True, eq=False)
class Call:
    """One call of a role: `ended` is None when it was cut short, or failed."""

    verb: str
    node: str
    began: float
    ended: float | None = None


async def reserve(budget: Budget, amount: Spend) -> None:
    """Set an amount aside, waiting for refunds as long as one can still make room for it."""
    refund = asyncio.Event()
    budget.on_change.append(refund.set)
    try:
        while not budget.reserve(amount):
            refund.clear()
            await refund.wait()
    finally:
        budget.on_change.remove(refund.set)
    check_within(budget)


@dataclass(slots=True, eq=False)
class Scripted:
    """A strategy that acts out a world.

    Args:
        world: what it finds.
        order: how it selects.
        timing: how long that takes.
        budget: what its calls are paid from; None for calls that cost nothing.
        faults: (verb, node) -> what is raised half-way through that call.
        calls: all that began, in that order.
        under_way: nodes that a call is at work on now.
    """

    world: World
    order: Order[str, str]
    timing: Timing = Timing()
    budget: Budget | None = None
    faults: Mapping[tuple[str, str], BaseException] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    under_way: set[str] = field(default_factory=set)

    def select(self, tree: Tree[str, str]) -> Node[str, str] | None:
        return self.order(tree)

    async def expand(self, node: Node[str, str]) -> tuple[Proposal[str], ...]:
        await self._call("expand", node.id)
        return self.world.proposals(node.id)

    async def execute(self, node: Node[str, str]) -> str:
        await self._call("execute", node.id)
        return self.world.outcome(node.id)

    async def evaluate(self, node: Node[str, str], outcome: str) -> Evaluation:
        assert outcome == self.world.outcome(node.id)
        await self._call("evaluate", node.id)
        return self.world.evaluation(node.id)

    async def answer(self, tree: Tree[str, str]) -> Answer:
        if self.budget is not None:
            assert self.budget.reserve(SHARE), "nothing is under way, so there is nothing to wait for"
            self.budget.settle(SHARE, SHARE)
        best = max(tree.candidates(), key=lambda node: node.score, default=None)
        return Answer("none" if best is None else best.id, verified=tree.accepted is not None)

    async def _call(self, verb: str, node: str) -> None:
        latency = self.timing.latency(verb, node)
        worst, actual = self.timing.price(verb, node)
        if self.budget is not None:
            await reserve(self.budget, worst)
        assert node not in self.under_way, f"{node} runs twice at once"
        self.under_way.add(node)
        clock = asyncio.get_running_loop().time
        call = Call(verb, node, clock())
        self.calls.append(call)
        charged = worst  # of a call that is cut short nobody knows what it cost
        try:
            await _pass(latency / 2)
            if (fault := self.faults.get((verb, node))) is not None:
                raise fault
            await _pass(latency / 2)
            charged = actual
        finally:
            self.under_way.discard(node)
            if self.budget is not None:
                self.budget.settle(worst, charged)
        call.ended = clock()


async def _pass(seconds: float) -> None:
    if seconds:  # a call that takes no time does not even yield
        await asyncio.sleep(seconds)


def promise(node: Node[str, str]) -> float:
    """How promising a node is, for best-first search: its prior while it is pending, then its score."""
    if node.evaluation is not None:
        return node.evaluation.score
    return 1.0 if node.proposal is None else node.proposal.prior


#: Every order of the core, made new for each search.
ORDERS: dict[str, Callable[[], Order[str, str]]] = {
    "depth first": depth_first,
    "depth first by score": lambda: depth_first(rank=by_score),
    "all children first": lambda: depth_first(all_children_first=True),
    "all children first by score": lambda: depth_first(rank=by_score, all_children_first=True),
    "breadth first": breadth_first,
    "breadth first by score": lambda: breadth_first(rank=by_score),
    "breadth first, all children first": lambda: breadth_first(rank=by_score, all_children_first=True),
    "best first": lambda: best_first(promise),
    "uct": uct,
}


worlds = st.builds(
    World,
    seed=st.integers(0, 10_000),
    depth=st.sampled_from([3, 2, 1]),
    width=st.sampled_from([3, 2, 4]),
    prune=st.integers(0, 20),
    keep=st.integers(0, 20),
)
worlds_with_an_answer = st.builds(World, st.integers(0, 10_000), width=st.sampled_from([3, 2, 4]), accept=st.integers(1, 30))
timings = st.builds(Timing, seed=st.integers(0, 10_000), slowest=st.integers(0, 16))
orders = st.sampled_from(sorted(ORDERS))
parallels = st.integers(1, 16)
