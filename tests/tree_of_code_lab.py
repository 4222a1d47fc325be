"""Tree-of-Code without a language model or a sandbox: what each node's program comes to stands in a plot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import virtual_time
from tree_checks import apply
from treewright.core.budget import Budget, Limits
from treewright.core.errors import BudgetSpent
from treewright.core.events import Event, NodeEvaluated
from treewright.core.orders import breadth_first
from treewright.core.search import Answer, search
from treewright.models.base import Reply, Request
from treewright.roles.asking import Asker
from treewright.roles.prompts import Prompt
from treewright.roles.tool_programs import ProgramRun
from treewright.roles.tree_of_code import Programmer, Voter
from treewright.strategies.tree_of_code import TreeOfCode
from treewright.strategies.tree_of_code_settings import Draw, ProgramNode, ProgramTree, Settings

POOL = tuple(Prompt(name, f"Be {name}.") for name in ("brave", "calm", "dry"))
#: The paper's tree; answers are left as they are.
PLAIN = Settings(worded=False)


def gives(answer: str, *, tool_errors: int = 0) -> ProgramRun:
    """A program that ran to its end and gave an answer."""
    return ProgramRun("ok", answer, tool_errors=tool_errors, final=True)


def fails(error: str = "ValueError: no", *, printed: str = "", answer: str = "", tool_errors: int = 0) -> ProgramRun:
    """A program that failed, after it had printed or answered something."""
    return ProgramRun("error", answer or printed, printed, error, tool_errors=tool_errors, final=bool(answer))


@dataclass(slots=True, eq=False)
class Plot:
    """What happens.

    Args:
        runs: node -> what its program comes to; `otherwise` elsewhere.
        otherwise: on any other node.
        replies: (role, node) -> what is replied there, instead of thoughts and a program that name the node.
        spent: roles that the budget has no room for.
        latency: (role or "run", node) -> seconds.
        requests: all that was asked, with the model's name.
        ran: (node, program) in the order in which programs were begun.
    """

    runs: Mapping[str, ProgramRun] = field(default_factory=dict)
    otherwise: ProgramRun = field(default_factory=fails)
    replies: Mapping[tuple[str, str], str] = field(default_factory=dict)
    spent: Sequence[str] = ()
    latency: Callable[[str, str], float] = lambda _role, _node: 0.0
    requests: list[tuple[str, Request]] = field(default_factory=list)
    ran: list[tuple[str, str]] = field(default_factory=list)

    async def run(self, node: str, program: str) -> ProgramRun:
        self.ran.append((node, program))
        await asyncio.sleep(self.latency("run", node))
        return self.runs.get(node, self.otherwise)

    def asked(self, node: str) -> str:
        """All the text that the writer of a node's program was asked."""
        found = next(r for _, r in self.requests if r.caller.node == node and r.caller.role.startswith("programmer"))
        return "\n".join(message.text for message in found.messages)

    def roles(self) -> list[str]:
        return [request.caller.role for _, request in self.requests]


@dataclass(frozen=True, slots=True)
class Teller:
    """One model of the pool."""

    plot: Plot
    name: str

    async def complete(self, request: Request) -> Reply:
        role, node = request.caller.role, request.caller.node
        if role in self.plot.spent:
            raise BudgetSpent("tokens")
        self.plot.requests.append((self.name, request))
        await asyncio.sleep(self.plot.latency(role, node))
        said = f"I think of {node}.\n<execute>\nprint('{node}')\n</execute>"
        return Reply(self.plot.replies.get((role, node), said))


@dataclass(frozen=True, slots=True)
class Played:
    """What a search left behind."""

    plot: Plot
    tree: ProgramTree
    events: list[Event]
    answer: Answer
    reason: str

    @property
    def executed(self) -> list[str]:
        """Nodes in the order in which they ended."""
        return [event.node for event in self.events if isinstance(event, NodeEvaluated)]

    def node(self, name: str) -> ProgramNode:
        return self.tree.nodes[name]

    def draws(self) -> dict[str, Draw]:
        return {node.id: node.proposal.action for node in self.tree.nodes.values() if node.proposal is not None}


def strategy(
    plot: Plot, settings: Settings = PLAIN, *, models: int = 1, pool: Sequence[Prompt] = POOL, seed: int = 0
) -> TreeOfCode:
    asks = tuple(Asker(Teller(plot, f"model {number}"), seed) for number in range(1, models + 1))
    programmer = Programmer(asks, tuple(pool), "look(x)", settings.temperature, settings.history)
    return TreeOfCode("How many?", programmer, Voter(asks[0]), plot.run, breadth_first(), settings, seed)


def play(
    plot: Plot,
    settings: Settings = PLAIN,
    *,
    models: int = 1,
    pool: Sequence[Prompt] = POOL,
    seed: int = 0,
    parallel: int = 3,
    executions: int | None = None,
    known: Sequence[Event] = (),
) -> Played:
    """Search to the end, after the moves that are known already."""
    tree: ProgramTree = ProgramTree()
    for event in known:
        apply(tree, event)
    events: list[Event] = []
    made = strategy(plot, settings, models=models, pool=pool, seed=seed)
    budget = Budget(Limits(executions=executions))
    found = virtual_time.run(search(made, budget=budget, parallel=parallel, emit=events.append, tree=tree))
    return Played(plot, tree, events, found.answer, found.reason)
