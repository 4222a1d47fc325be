"""CodeTree without a language model: who says what at which node stands in a plot, and so does what each program passes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import virtual_time
from tree_checks import apply
from treewright.core.budget import Budget, Limits
from treewright.core.events import Event, NodeEvaluated
from treewright.core.search import Answer, search
from treewright.core.task import CodeTask
from treewright.models.base import Reply, Request
from treewright.sandbox.harness import Report, TestResult
from treewright.strategies.codetree import TOP, CodeTree
from treewright.strategies.codetree_presets import codetree
from treewright.strategies.codetree_settings import CodeNode, CodeSearch

TASK = CodeTask("Write f.", tests=("assert f(1) == 1", "assert f(2) == 2", "assert f(3) == 3"), entry_point="f")
UNTESTED = CodeTask("Write f.", entry_point="f")
NOISE = "I am not sure what you want."

#: How many tests it has: a program that passes as many passes everything.
ALL = 3

Make = Callable[..., CodeTree]
official: Make = partial(codetree, preset="official")
paper: Make = partial(codetree, preset="paper")


def numbered(*items: str) -> str:
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))


def program(node: str) -> str:
    """What the Solver or the Debugger writes at a node, if the plot does not say otherwise."""
    return f"def f(x):\n    return {node!r}\n"


def fenced(code: str) -> str:
    return f"```python\n{code}```"


@dataclass(slots=True, eq=False)
class Plot:
    """A model, and the tests, of one task.

    Args:
        strategies: how many the Thinker names; "1. strategy 0 ...".
        passed: node -> how many of the tests its program passes; others pass none.
        reflections: node -> how many the Thinker names there; `usual` elsewhere.
        usual: reflections on any other node.
        scores: node -> the Critic's score of its outputs; `score` elsewhere.
        score: of any other node.
        fits: node -> the Critic's score of how the strategy is carried out; 3 elsewhere.
        right: nodes whose program the Critic verifies.
        programs: node -> its program, where that matters.
        replies: (role, node) -> the replies there, one ask after the other and the last one again, instead of the above.
        reports: node -> what its tests showed, where that is neither a pass nor a wrong answer.
        task: what is to be solved.
        latency: (role or "test", node) -> seconds.
        requests: all that was asked.
        tested: all programs that were tested, with their nodes.
    """

    strategies: int = 2
    passed: Mapping[str, int] = field(default_factory=dict)
    reflections: Mapping[str, int] = field(default_factory=dict)
    usual: int = 1
    scores: Mapping[str, int] = field(default_factory=dict)
    score: int = 3
    fits: Mapping[str, int] = field(default_factory=dict)
    right: Sequence[str] = ()
    programs: Mapping[str, str] = field(default_factory=dict)
    replies: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    reports: Mapping[str, Report] = field(default_factory=dict)
    task: CodeTask = TASK
    latency: Callable[[str, str], float] = lambda _role, _node: 0.0
    requests: list[Request] = field(default_factory=list)
    tested: list[tuple[str, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "plot"

    async def complete(self, request: Request) -> Reply:
        role, node = request.caller.role, request.caller.node
        earlier = sum((r.caller.role, r.caller.node) == (role, node) for r in self.requests)
        self.requests.append(request)
        await asyncio.sleep(self.latency(role, node))
        return Reply(self._line(role, node, earlier))

    def _line(self, role: str, node: str, earlier: int) -> str:
        if (lines := self.replies.get((role, node))) is not None:
            return lines[min(earlier, len(lines) - 1)]
        match role:
            case "thinker.strategies":
                return numbered(*(f"strategy {k}" for k in range(self.strategies)))
            case "thinker.reflections":
                return numbered(*(f"mend {node} in way {k}" for k in range(self.reflections.get(node, self.usual))))
            case "solver" | "debugger":
                return f"Here:\n{fenced(self.programs.get(node, program(node)))}"
            case "critic.outputs":
                return f"Outputs of {node} looked at.\n{self.scores.get(node, self.score)}"
            case "critic.strategy":
                return f"Strategy of {node} looked at.\n{self.fits.get(node, 3)}"
            case "critic.verification":
                return f"All of {node} looked at.\n{node in self.right}"
        raise AssertionError(f"nobody plays {role}")

    async def test(self, node: str, code: str) -> Report:
        self.tested.append((node, code))
        await asyncio.sleep(self.latency("test", node))
        return self.reports.get(node) or report(self.passed.get(node, 0), self.task)

    @property
    def calls(self) -> list[str]:
        """Who was asked, and where: "solver 0.1"; a repair ask ends in "again"."""
        asked = [request.caller for request in self.requests]
        return [f"{who.role} {who.node}{' again' if who.attempt else ''}" for who in asked]

    def asked(self, role: str, node: str) -> str:
        """All the text of the first ask of a role at a node."""
        return next(said(r) for r in self.requests if (r.caller.role, r.caller.node) == (role, node))

    def has_asked(self, role: str) -> list[str]:
        """The nodes a role was asked at."""
        return [r.caller.node for r in self.requests if r.caller.role == role and r.caller.attempt == 0]


def said(request: Request) -> str:
    return "\n".join(message.text for message in request.messages)


def report(passed: int, task: CodeTask = TASK) -> Report:
    """The first `passed` tests pass, the others give a wrong answer."""
    return Report(
        tuple(
            TestResult(text, "pass") if place < passed else TestResult(text, "fail", expected=f"right {place}", actual="wrong")
            for place, text in enumerate(task.tests)
        )
    )


@dataclass(slots=True, eq=False)
class Run:
    """What a search left behind."""

    plot: Plot
    strategy: CodeTree
    tree: CodeSearch
    events: list[Event]
    answer: Answer
    reason: str

    @property
    def executed(self) -> list[str]:
        """Nodes in the order in which they were executed in this sitting."""
        return [event.node for event in self.events if isinstance(event, NodeEvaluated)]

    def node(self, name: str) -> CodeNode:
        return self.tree.nodes[name]

    def value(self, name: str) -> float:
        """The official script's value of a node: its score on a scale from 0 to 1 + 5/15."""
        return self.node(name).score * TOP

    def fate(self, name: str) -> str:
        """The verdict on a node: "expand", "keep", "prune" or "accept"."""
        evaluation = self.node(name).evaluation
        return "pending" if evaluation is None else evaluation.verdict.value


def play(
    make: Make,
    plot: Plot,
    *,
    executions: int | None = 20,
    parallel: int = 1,
    known: Sequence[Event] = (),
    **settings: object,
) -> Run:
    """Search `plot.task` with `make(task, model, test, **settings)`, after the moves that are known already."""
    tree: CodeSearch = CodeSearch()
    for event in known:
        apply(tree, event)
    spent = sum(isinstance(event, NodeEvaluated) for event in known)
    left = None if executions is None else executions - spent
    strategy = make(plot.task, plot, plot.test, **settings)
    events: list[Event] = []
    found = virtual_time.run(
        search(strategy, budget=Budget(Limits(executions=left)), parallel=parallel, emit=events.append, tree=tree)
    )
    return Run(plot, strategy, tree, events, found.answer, found.reason)
