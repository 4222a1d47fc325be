"""Tasks: what a strategy may see. There is no field for a target, so no strategy can be given one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Example:
    """One run of a program that reads standard input: what it is given, and what it must print."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class CodeTask:
    """Write a program that passes the visible tests.

    Args:
        prompt: the problem in words, with a stub or signature if there is one. Not empty.
        tests: visible tests of a function, each one or more Python statements ("assert add(1, 2) == 3").
        examples: visible tests of a whole program (stdin/stdout). Given instead of `tests`.
        entry_point: name of the function or class the tests call; empty when they call several, or for whole programs.
        setup: trusted Python code that stands before both the program and the tests (imports, helpers).
        language: "python" for functions; whole programs may be in any language the sandbox can run.
        time_limit_s: seconds for each visible test.
        name: for reports; not part of the problem.
    """

    prompt: str
    tests: Sequence[str] = ()
    examples: Sequence[Example] = ()
    entry_point: str = ""
    setup: str = ""
    language: str = "python"
    time_limit_s: float = 2.0
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests", tuple(self.tests))
        object.__setattr__(self, "examples", tuple(self.examples))

    @property
    def kind(self) -> Literal["function", "program"]:
        """How it is tested: "program" through standard input and output, else "function"."""
        return "program" if self.examples else "function"

    @property
    def visible(self) -> int:
        """How many visible tests there are, >= 0."""
        return len(self.tests) + len(self.examples)


@dataclass(frozen=True, slots=True)
class ToolTask:
    """Answer a question with tools.

    Args:
        query: the question, or what to do, in words. Not empty.
        tools: the tools: Python functions, and sources as the command line takes them ("tools.py", "mcp.json").
        name: for reports; not part of the question.
    """

    query: str
    tools: Sequence[object] = ()
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", tuple(self.tools))
