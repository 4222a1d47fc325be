"""What CodeTree's nodes hold, its settings, and the rules of submission."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from treewright.core.tree import Node, Status, Tree
from treewright.sandbox.harness import Report


@dataclass(frozen=True, slots=True)
class CodeAction:
    """What a node tries: at depth 1 a strategy ("" for none: just solve it), deeper a reflection on its parent."""

    idea: str


@dataclass(frozen=True, slots=True)
class CodeOutcome:
    """What a node showed: its program ("" when the model wrote none) and how it did on the visible tests."""

    program: str
    report: Report


CodeNode = Node[CodeAction, CodeOutcome]
CodeSearch = Tree[CodeAction, CodeOutcome]


#: Chooses what to submit without an accepted program, from those that were executed: layer by layer, each in path order.
Fallback = Callable[[list[CodeNode]], CodeNode | None]


def passes(node: CodeNode) -> bool:
    """Whether the node's program passes every visible test."""
    return node.outcome is not None and node.outcome.report.all_passed


def best_scored(executed: list[CodeNode]) -> CodeNode | None:
    """The paper's submission: the best score, earliest first. A program that passes everything outranks any that does not."""
    return max(executed, key=lambda n: (passes(n), n.status is not Status.PRUNED, n.score), default=None)


def first_passing(executed: list[CodeNode]) -> CodeNode | None:
    """The BFS, DFS, list and resample scripts' submission: the first program that passes everything, else none."""
    return next(filter(passes, executed), None)


def last_failing(executed: list[CodeNode]) -> CodeNode | None:
    """The official script's submission: the last program that failed a test, else the first of all.

    A fault of the script, kept for comparison: it throws away programs that pass every visible test.
    """
    return max((n for n in executed if not passes(n)), key=lambda n: n.path, default=executed[0] if executed else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How CodeTree searches. The defaults are the official script's.

    Args:
        width: most strategies, and most reflections of one program (script: `search_width` 10).
        exactly: ask the Thinker for exactly `width` items; off, the model decides how many (section 3.1).
        depth: layers of programs; 1 is strategies only, d allows d - 1 repairs on a path (script: `max_depth` 3).
        verification: the Critic verifies programs that pass every visible test; off, such a program is accepted (Table 4).
        abort: the Critic gives up programs that are no better than their parent; off, every one is refined (Table 4).
        scoring: the Critic scores failing programs; off, the pass rate alone counts (Table 4).
        fidelity: the Critic also scores how well a program carries out its strategy (eq. 7; the script does not).
        analysis: what the Critic writes when it scores a failing program becomes part of its feedback (the paper; the script
            throws it away).
        top_up: ask the Thinker once more when fewer than `width` strategies came (the strategy-list script).
        plain: programs without a strategy tried beside the strategies: one first, the rest last, when nothing else is left.
        plain_temperature: sampling temperature of all of those but the first, >= 0.
        drop_repeats: prune a program that equals one above it, without asking the Critic.
        fallback: which executed program is submitted when none was accepted; None for no answer.
    """

    width: int = 10
    exactly: bool = False
    depth: int = 3
    verification: bool = True
    abort: bool = True
    scoring: bool = True
    fidelity: bool = False
    analysis: bool = False
    top_up: bool = False
    plain: int = 0
    plain_temperature: float = 0.8
    drop_repeats: bool = False
    fallback: Fallback = best_scored
