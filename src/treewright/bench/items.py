"""What a benchmark consists of: items to solve, and what came of solving one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from treewright.bench.graders import Grader
from treewright.tools.base import Toolbox


@dataclass(frozen=True, slots=True)
class Item:
    """One task of a benchmark.

    Args:
        name: unique in its benchmark.
        domain: the group that figures are also given for.
        query: the question, all that a method may see beside the tools.
        toolbox: the tools.
        grade: judges the one answer; None when the expected answer is not known here.
    """

    name: str
    domain: str
    query: str
    toolbox: Toolbox
    grade: Grader | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method made of an item.

    Args:
        answer: the answer; "" for none.
        verified: the method itself stands by it.
        ended: why it ended, in a word.
        layers: deepest layer that was grown, or turns; the benchmark's unit of turns.
        programs: programs that were run.
        words: words that the models wrote.
        tokens: input and output tokens.
        calls: calls of models.
        tool_calls: calls of tools.
        seconds: wall time.
        run: id in the journal.
    """

    answer: str
    verified: bool = False
    ended: str = ""
    layers: int = 0
    programs: int = 0
    words: int = 0
    tokens: int = 0
    calls: int = 0
    tool_calls: int = 0
    seconds: float = 0.0
    run: str = ""


#: Solves an item with this seed. It must give the method nothing of the item but query and toolbox.
Solve = Callable[[Item, int], Awaitable[Outcome]]
