"""CodeTree (Li et al., "CodeTree: Agent-guided Tree Search for Code Generation with Large Language Models", NAACL 2025).

A node is a program: at depth 1 for one strategy of the Thinker, deeper for one reflection on its parent. Where to look:

    section 3.1  Thinker: strategies, reflections     `CodeTree.expand`
    section 3.2  Solver                               `CodeTree.execute`, depth 1
    section 3.3  Debugger                             `CodeTree.execute`, deeper
    section 3.4  Critic: score, verify, eq. 7         `CodeTree.evaluate`
    accept, refine, abort                             `_after_pass`, `_after_failure`
    submission                                        `CodeTree.answer`

The paper and the authors' script differ. `codetree_presets` holds both, and `recommended`, which keeps the paper's parts and
mends what the script shows to be weak. The three ablations of Table 4 are switches of `codetree_settings.Settings`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from treewright.core.orders import Order
from treewright.core.search import Answer
from treewright.core.task import CodeTask
from treewright.core.tree import Evaluation, Proposal, Verdict
from treewright.roles.codetree import Attempt, Critic, Debugger, Solver, Thinker
from treewright.sandbox.harness import Report
from treewright.strategies.codetree_settings import CodeAction, CodeNode, CodeOutcome, CodeSearch, Settings, best_scored, passes

#: Critic's part of the value of a program against the pass rate: value = pass rate + score / 15 (official script).
CRITIC_SHARE = 15
#: Value of a program that passes every visible test, the highest there is: 1 + 5/15.
TOP = 1 + 5 / CRITIC_SHARE
#: A judge without an opinion leaves this score, half of the scale.
NEUTRAL = 2.5
#: Priors of the first layer, for orders that look at them: a strategy not tried yet is worth as much as a program that passes
#: about a third of the tests; a further plain sample comes when nothing better is left.
UNTRIED, RESERVE = 0.3, 0.1
#: Strategies tried for a task without tests.
UNTESTED_WIDTH = 3


Ideas = list[Proposal[CodeAction]]
#: Runs a node's program on the visible tests: (node id, program) -> report.
Test = Callable[[str, str], Awaitable[Report]]


@dataclass(frozen=True, slots=True)
class CodeTree:
    """The strategy: see the module's map. Holds roles and settings, never the state of a search.

    Args:
        task: what to solve.
        thinker: names strategies and reflections.
        solver: writes the programs of depth 1.
        debugger: writes all deeper ones.
        critic: scores and verifies.
        test: runs the visible tests.
        order: which node comes next.
        settings: the numbers and switches.
    """

    task: CodeTask
    thinker: Thinker
    solver: Solver
    debugger: Debugger
    critic: Critic
    test: Test
    order: Order[CodeAction, CodeOutcome]
    settings: Settings

    def select(self, tree: CodeSearch) -> CodeNode | None:
        """What the order offers."""
        return self.order(tree)

    async def expand(self, node: CodeNode) -> Ideas:
        """Strategies at the root, reflections below it. A Thinker that cannot be read leaves nothing to try there."""
        s = self.settings
        if node.depth > 0:
            plans = await self.thinker.reflections(self.task, node.id, attempt(node), most=s.width, exactly=s.exactly)
            return [Proposal(CodeAction(plan)) for plan in plans or []]
        ideas = [Proposal(CodeAction(strategy), prior=UNTRIED) for strategy in await self._strategies(node)]
        if not self.task.visible:  # nothing can tell programs apart, so a few are enough
            ideas = ideas[:UNTESTED_WIDTH]
        # Without any strategy the problem can still be solved: a Thinker without an opinion ends no search.
        plain = max(s.plain if self.task.visible else 1, 0 if ideas else 1)
        first = [Proposal(CodeAction(""), prior=1.0)] if plain else []
        return first + ideas + [Proposal(CodeAction(""), prior=RESERVE)] * (plain - 1)

    async def _strategies(self, node: CodeNode) -> list[str]:
        s = self.settings
        if s.width == 0:
            return []
        found = await self.thinker.strategies(self.task, node.id, most=s.width, exactly=s.exactly) or []
        if s.top_up and 0 < len(found) < s.width:  # with none at all it would be the same question again
            more = await self.thinker.strategies(self.task, node.id, most=s.width - len(found), exactly=True, known=found)
            found = list(dict.fromkeys([*found, *(more or [])]))
        return found

    async def execute(self, node: CodeNode) -> CodeOutcome:
        """Write the node's program and run the visible tests on it."""
        idea = node.action.idea
        if node.depth == 1 or node.parent is None:
            again = not idea and node.index > 0  # a further sample of the plain problem: it has to differ
            temperature = self.settings.plain_temperature if again else None
            program = await self.solver.program(self.task, node.id, idea, temperature=temperature)
        else:
            program = await self.debugger.program(self.task, node.id, attempt(node.parent), idea)
        if program is None:
            return CodeOutcome("", Report((), error="the model wrote no program"))
        return CodeOutcome(program, await self.test(node.id, program))

    async def evaluate(self, node: CodeNode, outcome: CodeOutcome) -> Evaluation:
        """Accept, refine or abort (section 3.4)."""
        if not outcome.program:
            return Evaluation(0.0, Verdict.PRUNE, outcome.report.error)
        if self.settings.drop_repeats and any(a.outcome and a.outcome.program == outcome.program for a in node.ancestors()):
            return Evaluation(score_of(outcome.report.pass_rate, 0), Verdict.PRUNE, "the same program as one above it")
        tried = Attempt(node.action.idea, outcome.program, outcome.report)
        if outcome.report.all_passed or (not self.task.visible and not outcome.report.error):
            return await self._after_pass(node, tried)
        return await self._after_failure(node, tried)

    async def _after_pass(self, node: CodeNode, tried: Attempt) -> Evaluation:
        """A program that passes every visible test: verified, or refined once more. It is never aborted."""
        tested = tried.report.total > 0
        if not self.settings.verification:
            return Evaluation(1.0 if tested else _untested_score(None), Verdict.ACCEPT)
        opinion = await self.critic.verify(self.task, node.id, tried)
        if not tested:  # nothing ran: the Critic's word alone ranks it, may end the search, and verifies nothing
            verdict = Verdict.ACCEPT if opinion.value else Verdict.KEEP
            return Evaluation(_untested_score(opinion.value), verdict, opinion.review, opinion.value is not None)
        fit, known = await self._fidelity(node, tried)
        if opinion.value is None:  # no opinion: eligible, but never an accept
            return Evaluation(fit, Verdict.KEEP, opinion=False)
        if opinion.value:
            return Evaluation(fit, Verdict.ACCEPT, opinion.review)
        deepest = node.depth >= self.settings.depth
        if deepest and node.parent is not None and passes(node.parent):
            return Evaluation(fit, Verdict.ACCEPT, opinion.review)  # rejected twice on one path, and no repair is left
        return Evaluation(fit, Verdict.KEEP if deepest else Verdict.EXPAND, opinion.review, known)

    async def _fidelity(self, node: CodeNode, tried: Attempt) -> tuple[float, bool]:
        """Score of a program that passes everything: the highest, less what its strategy lacks where that is judged.

        And whether the Critic had an opinion.
        """
        if not (self.settings.fidelity and self.settings.scoring):
            return 1.0, True
        value = (await self.critic.score_strategy(self.task, node.id, tried)).value
        return paper_score(1.0, 5, NEUTRAL if value is None else value), value is not None

    async def _after_failure(self, node: CodeNode, tried: Attempt) -> Evaluation:
        """A program that fails a visible test: aborted when it is no better than its parent, else refined."""
        s, rate = self.settings, tried.report.pass_rate
        deepest = node.depth >= s.depth
        if not s.scoring:
            score, review, known, critic = score_of(rate, 0), "", True, NEUTRAL
        elif deepest and not s.fidelity:  # it will not grow: the script saves the call
            return Evaluation(score_of(rate, 0), Verdict.KEEP)
        else:
            score, review, known, critic = await self._judge(node, tried)
        review = review if s.analysis else ""
        if deepest:
            return Evaluation(score, Verdict.KEEP, review, known)
        # A judge without an opinion gives no reason to give a program up.
        stop = s.abort and known and aborts(score, node.parent.score if node.parent else 0.0, node.depth, critic)
        return Evaluation(score, Verdict.PRUNE if stop else Verdict.EXPAND, review, known)

    async def _judge(self, node: CodeNode, tried: Attempt) -> tuple[float, str, bool, float]:
        """Score in [0, 1], the Critic's review, whether it had an opinion, and its score of the outputs, 0 to 5."""
        rate = tried.report.pass_rate
        outputs = await self.critic.score_outputs(self.task, node.id, tried)
        closeness = NEUTRAL if outputs.value is None else outputs.value
        if not self.settings.fidelity:
            return score_of(rate, closeness), outputs.review, outputs.value is not None, closeness
        strategy = await self.critic.score_strategy(self.task, node.id, tried)
        fidelity = NEUTRAL if strategy.value is None else strategy.value
        known = outputs.value is not None and strategy.value is not None
        review = "\n".join(filter(None, (outputs.review, strategy.review)))
        return paper_score(rate, closeness, fidelity), review, known, closeness

    async def answer(self, tree: CodeSearch) -> Answer:
        """The accepted program; else the one with the best score, earliest first, marked unverified (section 3.4)."""
        if tree.accepted is not None:
            tested = self.task.visible > 0
            why = "accepted: it passes every visible test" if tested else _doubt(tree.accepted, self.task)
            return _submit(tree.accepted, verified=tested, why=why)
        # subtle: in this order, not in that of the tree, which depends on timing.
        executed = sorted((n for n in tree.nodes.values() if n.outcome and n.outcome.program), key=lambda n: (n.depth, n.path))
        # Without tests no program passes and none fails: the Critic's word is all there is to go by.
        best = (self.settings.fallback if self.task.visible else best_scored)(executed)
        if best is None:
            why = "no program passes every visible test" if executed else "no program was found"
            return Answer("", verified=False, evidence=why)
        return _submit(best, verified=False, why=_doubt(best, self.task))


def attempt(node: CodeNode) -> Attempt:
    """An executed node as the roles talk about it."""
    if node.outcome is None or node.evaluation is None:
        raise ValueError(f"node {node.id} was not executed")
    return Attempt(node.action.idea, node.outcome.program, node.outcome.report, node.evaluation.feedback)


def score_of(pass_rate: float, critic: float) -> float:
    """The script's value, pass rate + score / 15, scaled into [0, 1].

    Args:
        pass_rate: in [0, 1].
        critic: the Critic's score of the outputs, in [0, 5].

    >>> round(score_of(2 / 3, 3) * TOP, 4), score_of(1, 5)
    (0.8667, 1.0)
    """
    return (pass_rate + critic / CRITIC_SHARE) / TOP


def paper_score(pass_rate: float, closeness: float, fidelity: float) -> float:
    """Equation 7, Score(F_exe) + Score(F_cri), scaled into [0, 1]: the Critic's part is the mean of its two judgements.

    Args:
        pass_rate: in [0, 1].
        closeness: how close the outputs are, in [0, 5].
        fidelity: how well the strategy is carried out, in [0, 5].
    """
    return (pass_rate + (closeness + fidelity) / 10) / 2


def aborts(score: float, parent: float, depth: int, critic: float) -> bool:
    """The script's abort: worse than its parent, or equal to it and deeper than the Critic's score is high.

    >>> aborts(0.0, 0.0, 1, 0), aborts(0.5, 0.5, 2, 2), aborts(0.5, 0.5, 2, 1), aborts(0.9, 1.0, 2, 5)
    (True, False, True, True)
    """
    return score < parent or (score == parent and depth > critic)


def _untested_score(decision: int | None) -> float:
    return 0.5 if decision is None else 0.75 if decision else 0.25


def _submit(node: CodeNode, *, verified: bool, why: str) -> Answer:
    outcome = node.outcome
    if outcome is None:
        return Answer("", verified=False, evidence="no program was found")
    return Answer(outcome.program, verified, f"node {node.id}, {why}", outcome.report.all_passed, node.id)


def _doubt(node: CodeNode, task: CodeTask) -> str:
    if not task.visible:
        return "unverified: the task has no tests"
    if passes(node):
        return "unverified: it passes every visible test, but the Critic did not accept it"
    # subtle: one test of the task may hold several checks, and the report counts those.
    passed, total = (node.outcome.report.passed, node.outcome.report.total) if node.outcome else (0, 0)
    return f"unverified: it passes {passed} of {total or task.visible} visible tests"
