"""Tree-of-Code (Ni et al., "Tree-of-Code: A Tree-Structured Exploring Framework", ACL Findings 2025).

A node is a whole program that calls the task's tools, written and run once. Where to look:

    section 3.1    what a child sees: thoughts, code, results of all ancestors    `TreeOfCode.execute`
    section 3.2.1  a model and a prompt drawn at random for each node             `TreeOfCode.expand`, `_draw`
    section 3.3    success ends a branch, a failure grows M children, L layers    `TreeOfCode.evaluate`
    section 3.4    the answer that most programs gave                             `TreeOfCode.answer`

No layer waits for another: a branch grows as soon as its program has failed. The vote is counted, never asked for; a model only
tells which free texts say the same, and words the result.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from treewright.core.errors import BudgetSpent, UserError
from treewright.core.orders import Order
from treewright.core.search import Answer
from treewright.core.tree import ROOT, Evaluation, Proposal, Verdict, node_seed
from treewright.core.voting import Vote, majority, normal_form
from treewright.roles.tool_programs import ProgramRun, RunProgram
from treewright.roles.tree_of_code import Programmer, Tried, Voter
from treewright.strategies.tree_of_code_settings import Draw, ProgramNode, ProgramOutcome, ProgramTree, Settings

#: Answers longer than this, in characters, are free text: words may differ where the meaning does not.
SHORT = 60
#: What a failure begins with that says plainly what to mend.
PLAIN_FAILURES = (
    "SyntaxError", "IndentationError", "TabError", "NameError", "UnboundLocalError", "TypeError", "AttributeError",
    "ImportError", "ModuleNotFoundError",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TreeOfCode:
    """The strategy: see the module's map.

    Args:
        query: the question.
        programmer: writes programs; holds the pools of models and prompts.
        voter: compares free texts and words the answer.
        run: runs a node's program with the tools.
        order: which node comes next.
        settings: the numbers and switches.
        seed: of the run.
    """

    query: str
    programmer: Programmer
    voter: Voter
    run: RunProgram
    order: Order[Draw, ProgramOutcome]
    settings: Settings
    seed: int = 0

    def select(self, tree: ProgramTree) -> ProgramNode | None:
        """What the order offers."""
        return self.order(tree)

    async def expand(self, node: ProgramNode) -> list[Proposal[Draw]]:
        """M draws of a model and a prompt (section 3.2.1)."""
        width = 1 if self.settings.adaptive and _plain_failure(node) else self.settings.width
        return [Proposal(draw) for draw in self._draws(node, width)]

    def _draws(self, node: ProgramNode, count: int) -> list[Draw]:
        """`count` pairs, seeded by the node, so that timing cannot change them."""
        dice = random.Random(node_seed(self.seed, node.id, "draw"))
        models, prompts = range(len(self.programmer.asks)), range(len(self.programmer.prompts))
        pairs = [(model, prompt) for model in models for prompt in prompts]
        if self.settings.distinct:
            drawn = dice.sample(pairs, min(count, len(pairs)))
            drawn += [dice.choice(pairs) for _ in range(count - len(drawn))]
        else:
            drawn = [dice.choice(pairs) for _ in range(count)]
        return [Draw(model, self.programmer.prompts[prompt].name) for model, prompt in drawn]

    async def execute(self, node: ProgramNode) -> ProgramOutcome:
        """Write the program, with all that its ancestors have shown, and run it."""
        earlier = [_tried(n.outcome) for n in reversed(list(node.ancestors())) if n.outcome is not None]
        model, prompt = self._drawn(node.action)
        written = await self.programmer.write(self.query, node.id, model, prompt, earlier)
        if written is None:
            return ProgramOutcome("", "", ProgramRun("error", error="the model wrote no program"))
        return ProgramOutcome(written.thought, written.program, await self.run(node.id, written.program))

    def _drawn(self, draw: Draw) -> tuple[int, int]:
        """Places of the drawn model and prompt in the pools."""
        names = [prompt.name for prompt in self.programmer.prompts]
        if draw.prompt not in names or draw.model >= len(self.programmer.asks):
            what = f"prompt {draw.prompt!r}" if draw.prompt not in names else f"model {draw.model + 1}"
            raise UserError(f"the run has drawn the {what}, which its pool does not hold any more: put it back, then resume")
        return draw.model, names.index(draw.prompt)

    async def evaluate(self, node: ProgramNode, outcome: ProgramOutcome) -> Evaluation:
        """Success ends the branch; a failure grows children until the last layer (section 3.3)."""
        if self.succeeded(outcome.run):
            return Evaluation(1.0, Verdict.KEEP)
        last = node.depth >= self.settings.layers
        return Evaluation(0.0, Verdict.KEEP if last else Verdict.EXPAND, outcome.run.result)

    def succeeded(self, run: ProgramRun) -> bool:
        """It ended normally and gave an answer; in strict mode no tool reported an error either."""
        return run.ended == "ok" and bool(run.answer) and not (self.settings.strict and run.tool_errors)

    async def answer(self, tree: ProgramTree) -> Answer:
        """The answer that most successful programs gave; without one, the last partial result, never verified."""
        nodes = [node for node in tree.candidates() if node.outcome is not None]
        good = [node for node in nodes if self.succeeded(_run(node))]
        if not good:
            return _partial(nodes)
        vote = await self._vote(good)
        winner = good[vote.winner]
        evidence = f"{vote.votes} of {vote.cast} programs that ran to their end say so"
        return Answer(await self._words(_run(winner).answer), verified=True, evidence=evidence, node=winner.id)

    async def _vote(self, good: list[ProgramNode]) -> Vote:
        """Ties go to the earlier layer, then to fewer failed ancestors' tool errors, then to the earlier node."""
        answers = [_run(node).answer for node in good]

        def rank(place: int) -> tuple[object, ...]:
            node = good[place]
            return (node.depth, sum(_run(n).tool_errors for n in (node, *node.ancestors()) if n.outcome), node.path)

        return majority(answers, rank=rank, like=await self._alike(answers))

    async def _alike(self, answers: list[str]) -> list[int] | None:
        """The group of each answer, where words differ and a model can tell; those of one normal form stay together."""
        forms = [normal_form(answer) for answer in answers]
        distinct = list(dict.fromkeys(forms))
        if len(distinct) < 2 or all(len(answer) <= SHORT for answer in answers):
            return None
        try:
            groups = await self.voter.groups(self.query, ROOT, [answers[forms.index(form)] for form in distinct])
        except BudgetSpent:
            return None
        return None if groups is None else [groups[distinct.index(form)] for form in forms]

    async def _words(self, answer: str) -> str:
        if not self.settings.worded and len(answer) <= SHORT:
            return answer
        try:
            return await self.voter.words(self.query, ROOT, answer) or answer
        except BudgetSpent:
            return answer


def _run(node: ProgramNode) -> ProgramRun:
    assert node.outcome is not None
    return node.outcome.run


def _tried(outcome: ProgramOutcome) -> Tried:
    return Tried(outcome.thought, outcome.program, outcome.run.result)


def _plain_failure(node: ProgramNode) -> bool:
    if node.outcome is None:
        return False
    last = node.outcome.run.error.strip().rpartition("\n")[2]
    return not node.outcome.program or last.startswith(PLAIN_FAILURES)


def _partial(nodes: list[ProgramNode]) -> Answer:
    """The best that failed programs showed: one that only tools have failed, one that gave an answer, the last layer's."""

    def worth(node: ProgramNode) -> tuple[object, ...]:
        run = _run(node)
        return (run.ended == "ok", run.final, node.depth, *(-step for step in node.path))

    shown: Iterator[ProgramNode] = (node for node in nodes if _run(node).answer)
    best = max(shown, key=worth, default=None)
    if best is None:
        return Answer("", verified=False, evidence="no program gave an answer")
    what = "an answer without an error of a tool" if _run(best).ended == "ok" else "an answer and ran to its end"
    evidence = f"no program gave {what}; this is what one had found"
    return Answer(_run(best).answer, verified=False, evidence=evidence, node=best.id)
