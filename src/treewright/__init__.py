"""Treewright: execution-guided tree search with language models.

>>> from treewright import CodeTask, solve
>>> task = CodeTask("Add two numbers.", tests=["assert add(1, 2) == 3"], entry_point="add")
>>> solution = solve(task)                                       # doctest: +SKIP
>>> print(solution.verified, solution.answer)                    # doctest: +SKIP

Importing this does nothing and loads almost nothing; what is heavy comes with the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treewright.core.budget import Limits, Spend
from treewright.core.errors import (
    JournalError,
    ModelUnavailable,
    SandboxUnavailable,
    TreewrightError,
    UserError,
)
from treewright.core.task import CodeTask, Example, ToolTask

if TYPE_CHECKING:
    from treewright.answering import ToolAnswer, answer, answer_async
    from treewright.runs import Run, resume, start
    from treewright.solving import solve, solve_async
    from treewright.spec import RunSpec, Solution, ToolChoices
    from treewright.tools.decorator import tool

__version__ = "0.1.0"

__all__ = [
    "CodeTask",
    "Example",
    "JournalError",
    "Limits",
    "ModelUnavailable",
    "Run",
    "RunSpec",
    "SandboxUnavailable",
    "Solution",
    "Spend",
    "ToolAnswer",
    "ToolChoices",
    "ToolTask",
    "TreewrightError",
    "UserError",
    "answer",
    "answer_async",
    "resume",
    "solve",
    "solve_async",
    "start",
    "tool",
]

_LAZY = {
    "Run": "treewright.runs",
    "RunSpec": "treewright.spec",
    "Solution": "treewright.spec",
    "ToolAnswer": "treewright.answering",
    "ToolChoices": "treewright.spec",
    "answer": "treewright.answering",
    "answer_async": "treewright.answering",
    "tool": "treewright.tools.decorator",
    "resume": "treewright.runs",
    "solve": "treewright.solving",
    "solve_async": "treewright.solving",
    "start": "treewright.runs",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'treewright' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)
