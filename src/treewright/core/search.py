"""The loop. Every algorithm runs through `search`; what differs is the `Strategy` it is given.

Nothing waits for a layer or a sibling: up to `parallel` steps are at work, and each that ends asks `select` again. Results
are recorded in the order they arrive, randomness is seeded by the node, so timing cannot change what a node contains.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol

from treewright.core.budget import ACCEPTED, FAULT, NOTHING, ONE_EXECUTION, Budget, Fit, Spend
from treewright.core.errors import BudgetSpent, TreewrightError
from treewright.core.events import NodeEvaluated, NodeExpanded, Sink
from treewright.core.tree import A, Evaluation, Node, O, Proposal, Status, Tree


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search answers.

    Args:
        text: the answer; "" when there is none.
        verified: the search accepted it. A fallback is never verified.
        evidence: what speaks for or against it, in a sentence.
        solved: it passes every visible test (there is at least one).
        node: id of the node it comes from; "" when none.
    """

    text: str
    verified: bool
    evidence: str = ""
    solved: bool = False
    node: str = ""


@dataclass(frozen=True, slots=True)
class Result(Generic[A, O]):
    """What was found, why the search ended, and what it cost.

    Args:
        answer: the answer.
        tree: all nodes.
        reason: "accepted", "exhausted" (nothing left to try), the name of the limit that was reached, or what the budget was
            closed for.
        usage: what was spent.
    """

    answer: Answer
    tree: Tree[A, O]
    reason: str
    usage: Spend


class Strategy(Protocol[A, O]):
    """How to search one task. Holds roles, ports and settings, never the state of a search."""

    def select(self, tree: Tree[A, O]) -> Node[A, O] | None:
        """The node to work on next, one for which `selectable` holds; None when there is none now."""
        ...

    async def expand(self, node: Node[A, O]) -> Sequence[Proposal[A]]:
        """Children worth trying below an open node; none closes it."""
        ...

    async def execute(self, node: Node[A, O]) -> O:
        """Carry out the action of a pending node. A candidate's failure is an outcome, not an exception."""
        ...

    async def evaluate(self, node: Node[A, O], outcome: O) -> Evaluation:
        """Judge what executing the node showed."""
        ...

    async def answer(self, tree: Tree[A, O]) -> Answer:
        """The answer that the tree supports as it is now."""
        ...


async def step(strategy: Strategy[A, O], tree: Tree[A, O], node: Node[A, O], budget: Budget, emit: Sink) -> None:
    """Take a claimed node one step further: expand it if it is open, execute and judge it if it is pending."""
    held = _price(node)
    charged = Spend()
    try:
        if node.status is Status.OPEN:
            proposals = tuple(await strategy.expand(node))
            emit(NodeExpanded(node.id, proposals))
            tree.expand(node, proposals)
        else:
            outcome = await strategy.execute(node)
            evaluation = await strategy.evaluate(node, outcome)
            emit(NodeEvaluated(node.id, outcome, evaluation))
            tree.record(node, outcome, evaluation)
            charged = held
            if tree.accepted is not None:
                budget.close(ACCEPTED)  # the calls under way elsewhere end and are recorded, none follows
    finally:
        if held is not NOTHING:
            budget.settle(held, charged)
        if node.running:  # cut short: not an execution, and the node stays as it was
            tree.release(node)


async def search(
    strategy: Strategy[A, O], *, budget: Budget, parallel: int, emit: Sink, tree: Tree[A, O], answer_share: Spend = NOTHING
) -> Result[A, O]:
    """Search until a node is accepted, nothing is left to try, or the budget is spent; then answer.

    Args:
        strategy: how to search.
        budget: what may be spent. Reserved before it is spent. It ends the search, never a node: unfinished nodes stay as
            they were, and `tree` can be searched on. Closing it from outside stops the search after the calls under way.
        parallel: most steps at work at once, >= 1.
        emit: takes every event before it is acted on.
        tree: an empty one, or one rebuilt from events.
        answer_share: what answering may cost at worst; kept aside from the start.

    Raises:
        TreewrightError: a fault of ours (a model is gone, the journal is full), after the calls under way have ended.
        BudgetSpent: the answer's share alone is more than is left.
    """
    changed, at_work, faults = asyncio.Event(), 0, list[TreewrightError]()
    reason = budget.closed or budget.passed(answer_share)

    async def worker() -> None:
        nonlocal at_work, reason
        while not reason and tree.accepted is None:
            try:
                if (node := _claim(strategy, tree, budget)) is not None:
                    at_work += 1
                    try:
                        await step(strategy, tree, node, budget, emit)
                    finally:
                        at_work -= 1
                        changed.set()
                elif at_work:
                    changed.clear()
                    await changed.wait()
                else:
                    reason = "exhausted"
            except BudgetSpent as spent:
                reason = reason or spent.limit
            except TreewrightError as fault:
                faults.append(fault)
                reason = reason or FAULT
                budget.close(FAULT)
            except BaseException:  # a bug, or cancelled: nobody may start another step before it has reached the task group
                reason = reason or FAULT
                raise
            await asyncio.sleep(0)  # a strategy that never waits must not shut out the others, or a deadline

    with _kept(budget, answer_share if not reason else NOTHING), _clocked(budget):
        try:
            async with asyncio.timeout(budget.left("seconds")), asyncio.TaskGroup() as workers:
                for _ in range(parallel):
                    workers.create_task(worker())
        except TimeoutError:
            reason = "seconds"
        if faults:
            raise faults[0]
    return Result(await _answer(strategy, tree), tree, ACCEPTED if tree.accepted else reason, budget.spent)


@contextmanager
def _kept(budget: Budget, share: Spend) -> Iterator[None]:
    """Keep the answer's share aside while the block runs."""
    budget.keep(share)
    try:
        yield
    finally:
        budget.release()


@contextmanager
def _clocked(budget: Budget) -> Iterator[None]:
    """Charge the seconds that the block takes."""
    clock = asyncio.get_running_loop().time
    started = clock()
    try:
        yield
    finally:
        budget.settle(NOTHING, Spend(seconds=clock() - started))


def _claim(strategy: Strategy[A, O], tree: Tree[A, O], budget: Budget) -> Node[A, O] | None:
    """The next node, started and paid for; None when there is none now, or only a refund could pay for it."""
    node = strategy.select(tree)
    if node is None:
        return None
    if node.status is Status.OPEN:  # children that can never be executed are not worth asking for
        fit, limit = budget.fits(ONE_EXECUTION)
        if fit is Fit.NEVER:
            raise BudgetSpent(limit)
    tree.start(node)
    paid = False
    try:
        paid = budget.reserve(_price(node))
    finally:
        if not paid:
            tree.release(node)
    return node if paid else None


def _price(node: Node[A, O]) -> Spend:
    """What a step on `node` costs beside the calls it makes."""
    return ONE_EXECUTION if node.status is Status.PENDING else NOTHING


async def _answer(strategy: Strategy[A, O], tree: Tree[A, O]) -> Answer:
    try:
        return await strategy.answer(tree)
    except BudgetSpent:
        return Answer("", verified=False, evidence="stopped before it could answer")
