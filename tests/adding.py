"""One small task, what a model says on the way to its answer, and a judge of its programs that starts no process.

The search is always the same: a plain program that fails, its repair that passes and is doubted, the repair of that which is
accepted. Two strategies stay untried. Each reply is asked for once, so a call that is made twice finds none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from treewright.core.errors import ModelUnavailable
from treewright.core.task import CodeTask
from treewright.models.base import Reply, Request
from treewright.models.estimates import usual_usage
from treewright.sandbox.base import Sandbox
from treewright.sandbox.judging.report import Report, TestResult

TASK = CodeTask(
    "Write a Python function `add(a, b)` that returns the sum of the two numbers a and b.",
    tests=("assert add(2, 3) == 5", "assert add(-4, 1) == -3", "assert add(0, 0) == 0"),
    entry_point="add",
    name="add",
)
TOML = "\n".join(
    [
        'prompt = "Write a Python function `add(a, b)` that returns the sum of the two numbers a and b."',
        'tests = ["assert add(2, 3) == 5", "assert add(-4, 1) == -3", "assert add(0, 0) == 0"]',
        'entry_point = "add"',
    ]
)
ANSWER = "def add(a, b):\n    return b + a\n"


def block(expression: str) -> str:
    """A reply with a program."""
    return f"Here it is:\n```python\ndef add(a, b):\n    return {expression}\n```\n"


#: (what the last message says, the reply), in the order of the calls of an uninterrupted run.
TALK: tuple[tuple[str, str], ...] = (
    ("Think of different strategies", "1. Subtract the second number from the first.\n2. Multiply the two numbers.\n"),
    ("Write a Python function", block("a - b")),
    ("How close are the outputs", "It subtracts where it should add, in every case but one.\n4"),
    ("Reflect on what is wrong", "1. Use plus instead of minus."),
    ("Now write the improved program", block("a + b")),
    ("Would it pass tests it has not seen", "The order of the numbers looks wrong to me.\nFalse"),
    ("Reflect on what is wrong", "1. Put the second number first."),
    ("Now write the improved program", block("b + a")),
    ("Would it pass tests it has not seen", "It is right for all numbers.\nTrue"),
)


def rows(*, latency_s: float = 0.0, talk: Sequence[tuple[str, str]] = TALK) -> list[dict[str, Any]]:
    """The talk as rows of a script."""
    return [{"when": when, "reply": reply, "latency_s": latency_s} for when, reply in talk]


def write_script(path: Path, script: Iterable[dict[str, Any]]) -> str:
    """Write the rows, and give the name of the model that speaks them."""
    path.write_text("".join(json.dumps(row) + "\n" for row in script), encoding="utf-8")
    return f"scripted:{path}"


@dataclass(slots=True, eq=False)
class Teller:
    """A model that gives its replies in their order, whatever it is asked, and counts; then it is gone.

    Args:
        replies: what it has to say; an exception is raised instead.
        asked: all requests, in their order.
    """

    replies: Sequence[str | Exception] = tuple(reply for _, reply in TALK)
    asked: list[Request] = field(default_factory=list)
    name: str = "teller"

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        if len(self.asked) > len(self.replies):
            raise ModelUnavailable("teller has nothing more to say")
        said = self.replies[len(self.asked) - 1]
        if isinstance(said, Exception):
            raise said
        return Reply(said, usual_usage(request, said))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


async def judged(sandbox: Sandbox, program: str, task: CodeTask) -> Report:
    """What the visible tests show, for programs of our own: run here and now."""
    results = []
    for test in task.tests:
        names: dict[str, Any] = {}
        try:
            exec(program, names)
            exec(test, names)
        except AssertionError:
            results.append(TestResult(test, "fail", actual="something else"))
        else:
            results.append(TestResult(test, "pass"))
    return Report(tuple(results), level="none")
