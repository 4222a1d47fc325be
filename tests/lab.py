"""One search under watch: on a virtual clock, with a sink that looks at everything that must hold at every event."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import virtual_time
from tree_checks import apply, check_counts, check_within, facts, rebuilt
from treewright.core.budget import NOTHING, Budget, Spend
from treewright.core.events import Event, NodeEvaluated
from treewright.core.search import Result, search
from treewright.core.tree import Tree
from worlds import ORDERS, Scripted, Timing, World


@dataclass(slots=True, eq=False)
class Lab:
    """A search of `world`, not yet begun.

    Args:
        world: what is to be found.
        order: a name in `ORDERS`.
        parallel: most steps at work at once.
        timing: how long calls take, and what they cost.
        budget: what may be spent.
        paying: calls are paid from the budget.
        share: what is kept for the answer.
        faults: (verb, node) -> what is raised in that call.
        known: moves of earlier sittings.
        crash: what the sink raises at its event number `crash_at`, from 0.
        crash_at: -1 for never.
        taken: the sink takes that event before it raises.
        events: what the sink took in this sitting.
        times: when.
    """

    world: World
    order: str = "depth first"
    parallel: int = 4
    timing: Timing = field(default_factory=Timing)
    budget: Budget = field(default_factory=Budget)
    paying: bool = False
    share: Spend = NOTHING
    faults: Mapping[tuple[str, str], BaseException] = field(default_factory=dict)
    known: Sequence[Event] = ()
    crash: BaseException = field(default_factory=lambda: OSError("the disk is full"))
    crash_at: int = -1
    taken: bool = False
    events: list[Event] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    tree: Tree[str, str] = field(init=False)
    strategy: Scripted = field(init=False)
    _twin: Tree[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.tree, self._twin = rebuilt(self.known), rebuilt(self.known)
        budget = self.budget if self.paying else None
        self.strategy = Scripted(self.world, ORDERS[self.order](), self.timing, budget, self.faults)

    async def search(self) -> Result[str, str]:
        return await search(
            self.strategy,
            budget=self.budget,
            parallel=self.parallel,
            emit=self.take,
            tree=self.tree,
            answer_share=self.share,
        )

    def run(self) -> Result[str, str]:
        """The whole search, watched at every event and whenever everybody waits."""
        return virtual_time.run(self.search(), on_idle=self.watch)

    def take(self, event: Event) -> None:
        """The sink: each event is checked before it is acted on, and acted on in the twin, which must stay equal."""
        self.watch()
        crashing = len(self.events) == self.crash_at
        if crashing and not self.taken:
            raise self.crash
        self.events.append(event)
        self.times.append(asyncio.get_running_loop().time())
        if crashing:
            raise self.crash
        apply(self._twin, event)

    def watch(self) -> None:
        check_within(self.budget)
        check_counts(self.tree)
        assert facts(self.tree) == facts(self._twin)
        assert len(self.strategy.under_way) <= self.tree.root.in_flight <= self.parallel

    @property
    def all_events(self) -> list[Event]:
        return [*self.known, *self.events]

    @property
    def executed(self) -> list[str]:
        """Ids of the nodes executed in all sittings, in the order of their completion."""
        return [event.node for event in self.all_events if isinstance(event, NodeEvaluated)]
