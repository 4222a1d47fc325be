"""The smallest search there is: a root and one layer of children, each with a latency of its own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import virtual_time
from tree_checks import check_counts
from treewright.core.budget import NOTHING, Budget, Spend
from treewright.core.events import Event, NodeEvaluated
from treewright.core.search import Answer, Result, search
from treewright.core.tree import Evaluation, Node, Proposal, Tree, Verdict


@dataclass(slots=True, eq=False)
class Layer:
    """A strategy whose root has one child for each latency, none of which grows: child k ends after `latencies[k]` seconds.

    Args:
        latencies: seconds for each child.
        verdict: of every child.
        prior: of every child.
        score: of every child.
        raised: child -> what executing it raises, after its latency.
        seen: ids of the nodes at work each time `select` was asked.
    """

    latencies: tuple[float, ...] = (1.0,)
    verdict: Verdict = Verdict.KEEP
    prior: float = 0.5
    score: float = 0.5
    raised: dict[int, BaseException] = field(default_factory=dict)
    seen: list[list[str]] = field(default_factory=list)

    def select(self, tree: Tree[int, str]) -> Node[int, str] | None:
        self.seen.append([node.id for node in tree.nodes.values() if node.running])
        return next((node for node in tree.nodes.values() if node.selectable), None)

    async def expand(self, node: Node[int, str]) -> list[Proposal[int]]:
        return [Proposal(index, self.prior) for index in range(len(self.latencies))]

    async def execute(self, node: Node[int, str]) -> str:
        if latency := self.latencies[node.action]:
            await asyncio.sleep(latency)
        if node.action in self.raised:
            raise self.raised[node.action]
        return "seen"

    async def evaluate(self, node: Node[int, str], outcome: str) -> Evaluation:
        return Evaluation(self.score, self.verdict)

    async def answer(self, tree: Tree[int, str]) -> Answer:
        return Answer(f"{tree.root.visits} seen", verified=tree.accepted is not None)


@dataclass(slots=True, eq=False)
class Run:
    """A search by a `Layer`: what it was given, and what it left behind."""

    layer: Layer
    parallel: int = 3
    budget: Budget = field(default_factory=Budget)
    share: Spend = NOTHING
    tree: Tree[int, str] = field(default_factory=Tree)
    events: list[Event] = field(default_factory=list)

    async def search(self) -> Result[int, str]:
        return await search(
            self.layer,
            budget=self.budget,
            parallel=self.parallel,
            emit=self.events.append,
            tree=self.tree,
            answer_share=self.share,
        )

    def go(self) -> Result[int, str]:
        return virtual_time.run(self.search(), on_idle=lambda: check_counts(self.tree))

    @property
    def done(self) -> list[str]:
        return [event.node for event in self.events if isinstance(event, NodeEvaluated)]
