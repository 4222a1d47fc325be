"""The host's judgement of a test that needs nothing but the values of some calls: a `Literal` check.

The calls are sent to the program, the expected value never is. What comes back is plain data; instances of the program's own
classes are `Handle`s, which equal nothing, whatever their classes say of equality.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from treewright.sandbox.judging.expressions import NotPlain, Values, Work, build
from treewright.sandbox.judging.values import Handle, show


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a check holds; what was expected and what came, as text for people; why it could not be worked out, if so."""

    holds: bool
    expected: str
    actual: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Literal:
    """A check that the host can judge.

    Args:
        calls: the texts of the calls to the program, each [name, arguments, keywords], in order of evaluation.
        condition: works out the truth of the assert from the values of the calls.
        expected: works out the side that the call is compared with by `==` or `is`; None if it has another form.
        source: the condition, as written.
    """

    calls: tuple[str, ...]
    condition: Work
    expected: Work | None
    source: str

    def needs_objects(self, values: Values) -> bool:
        """Whether an instance of the program's own classes must be worked with, which only a checker can do."""
        return self.expected is None and any(isinstance(value, Handle) for value in values)

    def judge(self, values: Values) -> Judgement:
        """The judgement, given the value of each of `calls`. An error in working it out is a failed check."""
        actual = ", ".join(map(show, values))
        expected, detail, holds = self.source, "", False
        try:
            if self.expected is not None:
                expected = show(self.expected(values))
            holds = bool(self.condition(values))
        except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            detail = f"{type(error).__name__}: {error}"
        return Judgement(holds, expected, actual, detail)


def literal(test: ast.expr, source: str, *, call: Callable[[ast.Call], str | None], names: Mapping[str, str]) -> Literal:
    """The check that `test` holds.

    Args:
        test: the condition of an assert.
        source: the same as text.
        call: the text of a call to the program; None for a call of something else.
        names: see `build`.

    Raises:
        NotPlain: the host cannot judge it.
    """
    if any(_calls_in(part, call) for node in ast.walk(test) if isinstance(node, ast.BoolOp) for part in node.values[1:]):
        raise NotPlain("a call that Python may leave out")
    calls: list[str] = []

    def pick(node: ast.Call) -> Work | None:
        text = call(node)
        if text is None:
            return None
        calls.append(text)
        at = len(calls) - 1
        return lambda values: values[at]

    condition = build(test, calls=pick, names=names)
    return Literal(tuple(calls), condition, _expected(test, call, names), source)


def _calls_in(node: ast.AST, call: Callable[[ast.Call], str | None]) -> bool:
    return any(isinstance(part, ast.Call) and call(part) is not None for part in ast.walk(node))


def _expected(test: ast.expr, call: Callable[[ast.Call], str | None], names: Mapping[str, str]) -> Work | None:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is)):
        return None
    sides = [test.left, test.comparators[0]]
    ours = [isinstance(side, ast.Call) and call(side) is not None for side in sides]
    if not any(ours):
        return None
    other = sides[ours.index(True) - 1]
    return None if _calls_in(other, call) else build(other, calls=lambda _: None, names=names)
