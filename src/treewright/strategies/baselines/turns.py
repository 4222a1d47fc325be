"""CodeAct and ReAct on the engine: a tree of one path, a turn a node, until a turn gives the answer.

So budgets, resume and the record are those of the searches they are compared with. Nobody tells them whether an answer is
right: the first one given is the one that counts (M3ToolEval's own protocol lets them try again, up to ten times).
"""

from __future__ import annotations

from dataclasses import dataclass

from treewright.core.orders import Order
from treewright.core.search import Answer
from treewright.core.tree import Evaluation, Proposal, Verdict
from treewright.roles.tool_programs import ProgramRun
from treewright.roles.tool_turns import Act
from treewright.roles.tree_of_code import Tried
from treewright.roles.turns import Actor
from treewright.strategies.tree_of_code_settings import Draw, ProgramNode, ProgramOutcome, ProgramTree

#: M3ToolEval's number of turns.
TURNS = 10


@dataclass(frozen=True, slots=True)
class Turns:
    """The strategy.

    Args:
        query: the question.
        actor: decides what to do next.
        act: does it.
        order: which node comes next; there is never more than one.
        turns: most turns, >= 1.
    """

    query: str
    actor: Actor
    act: Act
    order: Order[Draw, ProgramOutcome]
    turns: int = TURNS

    def select(self, tree: ProgramTree) -> ProgramNode | None:
        """The turn to take next."""
        return self.order(tree)

    async def expand(self, node: ProgramNode) -> list[Proposal[Draw]]:
        """One more turn."""
        return [Proposal(Draw(0, self.actor.role))]

    async def execute(self, node: ProgramNode) -> ProgramOutcome:
        """Decide and act."""
        before = [n.outcome for n in reversed(list(node.ancestors())) if n.outcome is not None]
        earlier = [Tried(outcome.thought, outcome.program, outcome.run.result) for outcome in before]
        written = await self.actor.act(self.query, node.id, earlier)
        if written is None:
            return ProgramOutcome("", "", ProgramRun("error", error="the reply could not be read"))
        # What was killed (it ran too long, took too much memory) would be again in every turn that repeats it.
        acts = [outcome.program for outcome in before if outcome.program and outcome.run.ended in ("ok", "error")]
        return ProgramOutcome(written.thought, written.program, await self.act(node.id, acts, written.program))

    async def evaluate(self, node: ProgramNode, outcome: ProgramOutcome) -> Evaluation:
        """The first answer ends the search."""
        if outcome.run.final and outcome.run.answer:
            return Evaluation(1.0, Verdict.ACCEPT)
        return Evaluation(0.0, Verdict.KEEP if node.depth >= self.turns else Verdict.EXPAND, outcome.run.result)

    async def answer(self, tree: ProgramTree) -> Answer:
        """What was answered; without that, what the last turn showed, never verified."""
        if tree.accepted is not None and tree.accepted.outcome is not None:
            run, turns = tree.accepted.outcome.run, tree.accepted.depth
            return Answer(run.answer, verified=True, evidence=f"answered in turn {turns}", node=tree.accepted.id)
        last = max((node for node in tree.candidates() if node.outcome), key=lambda node: node.depth, default=None)
        if last is None or last.outcome is None:
            return Answer("", verified=False, evidence="no turn was taken")
        return Answer(last.outcome.run.output.strip(), verified=False, evidence="no turn gave an answer", node=last.id)
