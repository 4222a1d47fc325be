"""A recorded run as training data sees it: what was asked and answered, which programs were right, which way led to them.

The tree is rebuilt once, without the texts of the model's calls; these are read one after the other when rows are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from treewright.assembly import STRATEGIES, shapes_of
from treewright.core.errors import JournalError, UserError
from treewright.core.events import ModelCalled, NodeEvaluated, NodeExpanded, RunStarted
from treewright.core.tree import Node
from treewright.core.voting import majority, normal_form
from treewright.journal.base import PLAIN, Entry, Journal
from treewright.journal.replay import Past, replay
from treewright.roles.codetree import feedback
from treewright.spec import RunSpec, spec_from_plain
from treewright.strategies.codetree_settings import CodeOutcome
from treewright.strategies.tree_of_code_settings import ProgramOutcome

#: Roles whose reply is what a node runs.
TURNS = frozenset({"codeact", "react"})
PROGRAMMERS = frozenset({"solver", "debugger", "programmer", "programmer.reflect"})
WRITERS = PROGRAMMERS | TURNS


@dataclass(frozen=True, slots=True)
class Shown:
    """What running a node's program showed.

    Args:
        program: its text; "" when the model wrote none.
        right: it passes every visible test, or ran to its end with an answer.
        reward: in [0, 1], from the execution alone: the share of visible tests passed, or 1 for a run to its end; None where
            nothing can tell, for lack of tests.
        status: "ok", or how it failed in a word.
        result: what it gave.
        error: why it failed.
    """

    program: str
    right: bool
    reward: float | None
    status: str
    result: str
    error: str


def shown(node: Node[Any, Any]) -> Shown | None:
    """What the node showed; None for one that was not executed.

    Raises:
        JournalError: its strategy is none that this version knows.
    """
    outcome = node.outcome
    if outcome is None or node.evaluation is None:
        return None
    match outcome:
        case CodeOutcome(program, report):
            failed = next((one for one in report.results if one.verdict != "pass"), None)
            status = "error" if report.error else failed.verdict if failed is not None else "ok"
            error = report.error or (failed.detail if failed is not None else "")
            reward = report.pass_rate if report.total else None
            return Shown(program, report.all_passed, reward, status, feedback(report), error)
        case ProgramOutcome(program=program, run=run):
            score = node.evaluation.score
            return Shown(program, score == 1.0, score, run.ended, run.answer or run.output, run.error)
        case _:
            raise JournalError("the run is of a strategy that this version does not know: its programs cannot be exported")


class Recorded:
    """One run in a journal.

    Args:
        journal: an open one.
        run: id of the run.

    Attributes:
        run: its id.
        spec: what was run.
        past: its tree and end; without the model's calls.

    Raises:
        UserError: no such run.
        JournalError: the record cannot be read.
    """

    def __init__(self, journal: Journal, run: str) -> None:
        begun = next((e.event for e in journal.read(run, PLAIN) if isinstance(e.event, RunStarted)), None)
        if begun is None:
            raise UserError(f"no run {run!r} in this journal: `treewright runs` lists them")
        if begun.spec.get("strategy") not in STRATEGIES:
            raise JournalError(
                f"the run {run} is of the strategy {begun.spec.get('strategy')!r}, which this version does not know"
            )
        self.run = run
        self.spec: RunSpec = spec_from_plain(begun.spec)
        self.past: Past[Any, Any] = replay(_without_calls(journal.read(run, shapes_of(begun.spec))))
        self._journal = journal

    @cached_property
    def chosen(self) -> frozenset[str]:
        """The nodes that the run stands for: the accepted one, else all that are right; of answers, those the vote chose."""
        tree = self.past.tree
        if tree.accepted is not None:
            return frozenset({tree.accepted.id})
        good = [node for node in tree.candidates() if (seen := shown(node)) is not None and seen.right]
        answers = [node.outcome.run.answer if isinstance(node.outcome, ProgramOutcome) else "" for node in good]
        if not any(answers):
            return frozenset(node.id for node in good)
        said = self._answer(answers)
        return frozenset(node.id for node, answer in zip(good, answers, strict=True) if normal_form(answer) == said)

    def _answer(self, answers: list[str]) -> str:
        """The answer that was given, in its normal form; by our own count where a model has put it into other words."""
        end = self.past.end
        if end is not None and (said := normal_form(end.answer)) in map(normal_form, answers):
            return said
        return normal_form(answers[majority(answers).winner])

    @cached_property
    def path(self) -> frozenset[str]:
        """The chosen nodes and all that lie above them."""
        nodes = [self.past.tree.nodes[each] for each in self.chosen]
        return frozenset(step.id for node in nodes for step in (node, *node.ancestors()))

    def calls(self) -> Iterator[ModelCalled]:
        """The last ask of each question to a model, as soon as its node goes on. What could not be read is asked twice."""
        held: dict[tuple[str, str], ModelCalled] = {}
        for entry in self._journal.read(self.run, PLAIN):
            match entry.event:
                case ModelCalled(reply=str()) as call:
                    place = (call.node, call.role)
                    if call.attempt == 0 and place in held:
                        yield held.pop(place)
                    held[place] = call
                case NodeEvaluated(node=node) | NodeExpanded(node=node):
                    for place in [place for place in held if place[0] == node]:
                        yield held.pop(place)
                case _:
                    pass
        yield from held.values()


def _without_calls(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Calls make up most of a record, and no part of the tree."""
    return (entry for entry in entries if not isinstance(entry.event, ModelCalled))
