"""The four roles of CodeTree (Li et al., NAACL 2025, section 3): Thinker, Solver, Debugger, Critic.

Each task of a role is one prompt, one reader and one method. The wording is our own; what goes in and what comes out is the
paper's. A method answers None when the model's reply could not be read twice: no opinion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treewright.core.languages import names_of
from treewright.models.base import Message
from treewright.roles.asking import Ask, Asker
from treewright.roles.reading import read_decision, read_list, read_program, read_score

if TYPE_CHECKING:
    from treewright.core.task import CodeTask
    from treewright.sandbox.harness import Report, TestResult

#: Longest feedback text in a prompt, in characters (the official script cuts there too).
FEEDBACK_CHARS = 2500
TESTS_CHARS = 2000
CODE_TOKENS, TALK_TOKENS = 4096, 2048

_CODE_FORM = "Reply with the whole program in one fenced block that starts with ```{language} and ends with ```."
_LIST_FORM = "Reply with a numbered list, one item a line: 1. ... 2. ... Nothing else."
_SCORE_FORM = "The last line of your reply must be one integer from 0 to 5 and nothing else."
_DECISION_FORM = "The last line of your reply must be the single word True or the single word False."

_THINKER = "You are an experienced programmer who plans solutions. You describe approaches in words and write no code."
_CRITIC = "You are a strict reviewer of programs. You judge only what you are shown."


@dataclass(frozen=True, slots=True)
class Attempt:
    """A program that was run, as the roles talk about it.

    Args:
        idea: the strategy or the reflection it was written for; "" for none.
        program: its text.
        report: what the visible tests showed.
        review: what the Critic wrote about it; "" for nothing.
    """

    idea: str
    program: str
    report: Report
    review: str = ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A Critic's reply: `value` is what it decided, None for no opinion; `review` is its text."""

    value: int | None
    review: str = ""


def statement(task: CodeTask) -> str:
    """The problem as every role sees it: the prompt, then what the tests call and some of them, if the prompt lacks them."""
    parts = [task.prompt.strip()]
    if task.kind == "program":
        names = names_of(task.language)
        form = "" if "python" in names else f" in {task.language}, in one file" + " with class Main" * ("java" in names)
        parts.append(
            f"Write a whole program{form}: it reads its input from standard input and prints its answer to standard output."
        )
        numbered = enumerate(task.examples, 1)  # reports name them by their number
        fresh = [(n, e) for n, e in numbered if e.output.strip() and not _quotes(task.prompt, e.input, e.output)]
        shown = [f"Example {n}\nInput:\n{e.input.strip()}\nOutput:\n{e.output.strip()}" for n, e in fresh]
        heading = "Examples:"
    else:
        if task.entry_point and not re.search(rf"\b{re.escape(task.entry_point)}\b", task.prompt):
            parts.append(f"Name it `{task.entry_point}`.")
        shown = [t for t in dict.fromkeys(map(str.strip, task.tests)) if t not in task.prompt]
        heading = "It must pass tests such as:"
    if task.setup.strip() and task.setup.strip() not in task.prompt:
        parts.append(f"This code stands before your program:\n```{task.language}\n{task.setup.strip()}\n```")
    kept = _within(shown, TESTS_CHARS)
    if kept:
        parts.append(f"{heading}\n" + "\n".join(kept))
    return "\n\n".join(parts)


def _quotes(prompt: str, *texts: str) -> bool:
    """Whether the prompt has each text as lines of its own, whatever their indentation."""
    has, *wanted = ("\n".join(["", *map(str.strip, text.strip().splitlines()), ""]) for text in (prompt, *texts))
    return all(text in has for text in wanted)


def feedback(report: Report) -> str:
    """What the visible tests showed: failed tests with what the program gave, then passed ones. At most 2,500 characters."""
    if report.error:
        return f"The program does not run:\n{_cut(report.error, FEEDBACK_CHARS - 100)}"
    if not report.total:
        return "There are no tests; the program loads without an error."
    passed = [r.test.strip() for r in report.results if r.verdict == "pass"]
    failed = [_failure(r) for r in report.results if r.verdict != "pass"]
    lines = [f"Passed {report.passed} of {report.total} tests."]
    if failed:
        lines += ["Failed:", *_within(failed, FEEDBACK_CHARS - 400)]
    if passed:
        lines += ["Passed:", *_within(passed, max(200, FEEDBACK_CHARS - 100 - sum(map(len, lines))))]
    return "\n".join(lines)[:FEEDBACK_CHARS]


def _failure(result: TestResult) -> str:
    said = [_cut(result.test.strip(), 700)]
    if result.verdict == "fail":
        if result.expected:
            said.append(f"expected: {_cut(result.expected)}")
        said.append(f"actual: {_cut(result.actual)}")
    else:
        said.append(f"{result.verdict}: {_cut(result.detail or 'no detail', 700)}")
    return "\n    ".join(said)


def _cut(text: str, most: int = 400) -> str:
    end = f" … ({len(text)} characters)"
    return text if len(text) <= most else text[: most - len(end)] + end


def _within(texts: list[str], most: int) -> list[str]:
    """The first texts that fit into `most` characters together, at least one, cut if need be; then how many were left out."""
    kept: list[str] = []
    room = most
    for text in texts:
        if kept and len(text) > room:
            kept.append(f"… and {len(texts) - len(kept)} more")
            break
        kept.append(_cut(text, most))
        room -= len(kept[-1]) + 1
    return kept


def _code(program: str, language: str) -> str:
    return f"```{language}\n{program.strip()}\n```"


@dataclass(frozen=True, slots=True)
class Thinker:
    """Thinks of strategies for a problem, and of reflections on a program that failed (section 3.1).

    Args:
        ask: asks the model.
        temperature: of its replies, >= 0.
    """

    ask: Asker
    temperature: float = 0.0

    async def strategies(
        self, task: CodeTask, node: str, *, most: int, exactly: bool = False, known: Sequence[str] = ()
    ) -> list[str] | None:
        """Up to `most` distinct strategies in words, other than `known`; with `exactly`, the model is asked for that many."""
        count = f"exactly {most}" if exactly else f"as many as are worth trying, at most {most}"
        others = "\n\nThese are known already:\n" + "\n".join(f"- {k}" for k in known) if known else ""
        question = (
            f"Problem:\n{statement(task)}{others}\n\nThink of different strategies to solve it: {count}. "
            "Each is one line that says in words how the program would work. "
            f"Make them differ in algorithm or data structure. {_LIST_FORM}"
        )
        return await self._listed("thinker.strategies", node, question, most)

    async def reflections(
        self, task: CodeTask, node: str, tried: Attempt, *, most: int, exactly: bool = False
    ) -> list[str] | None:
        """Up to `most` repair plans, each complete in itself: how to mend all that is wrong with `tried`."""
        count = f"exactly {most} different plans" if exactly else f"one plan, or several different ones, at most {most}"
        idea = f"Strategy: {tried.idea}\n\n" if tried.idea else ""
        shown = f"Problem:\n{statement(task)}\n\n{idea}Program:\n{_code(tried.program, task.language)}"
        review = f"\n\nReview:\n{_cut(tried.review, FEEDBACK_CHARS)}" if tried.review else ""
        question = (
            f"{shown}\n\nTest results:\n{feedback(tried.report)}{review}\n\nReflect on what is wrong "
            f"with the program and how to mend it: {count}. "
            f"Each plan is one line, says what to change, and covers every fault. {_LIST_FORM}"
        )
        return await self._listed("thinker.reflections", node, question, most)

    async def _listed(self, role: str, node: str, question: str, most: int) -> list[str] | None:
        messages = (Message("system", _THINKER), Message("user", question))
        ask = Ask(role, messages, _LIST_FORM, self.temperature, TALK_TOKENS)
        return await self.ask.ask(ask, node, lambda text: read_list(text, most))


@dataclass(frozen=True, slots=True)
class Solver:
    """Writes a program for one strategy (section 3.2).

    Args:
        ask: asks the model.
        temperature: of its replies, >= 0.
    """

    ask: Asker
    temperature: float = 0.0

    async def program(self, task: CodeTask, node: str, strategy: str, *, temperature: float | None = None) -> str | None:
        """A program that follows `strategy`; with "" simply a program for the problem. `temperature` for this one call."""
        form = _CODE_FORM.format(language=task.language)
        lead = f"\n\nFollow this strategy: {strategy}" if strategy else ""
        system = f"You write correct {task.language} programs. Implement everything; write no tests and no examples. {form}"
        messages = (Message("system", system), Message("user", f"{statement(task)}{lead}"))
        ask = Ask("solver", messages, form, self.temperature if temperature is None else temperature, CODE_TOKENS)
        return await self.ask.ask(ask, node, lambda text: read_program(text, task.entry_point, task.language))


@dataclass(frozen=True, slots=True)
class Debugger:
    """Writes a new program from one that failed and a reflection on it (section 3.3).

    Args:
        ask: asks the model.
        sees_review: whether it is shown the Critic's review beside the test results (the paper: yes; the official script: no).
        temperature: of its replies, >= 0.
    """

    ask: Asker
    sees_review: bool = True
    temperature: float = 0.0

    async def program(self, task: CodeTask, node: str, tried: Attempt, reflection: str) -> str | None:
        """A whole new program that carries out `reflection` on `tried`."""
        form = _CODE_FORM.format(language=task.language)
        system = f"You mend {task.language} programs. Implement everything; write no tests and no examples. {form}"
        results = f"Test results:\n{feedback(tried.report)}"
        if self.sees_review and tried.review:
            results += f"\n\nReview:\n{_cut(tried.review, FEEDBACK_CHARS)}"
        messages = (
            Message("system", system),
            Message("user", statement(task)),
            Message("assistant", _code(tried.program, task.language)),
            Message("user", results),
            Message("assistant", f"To mend it: {reflection}"),
            Message("user", f"Now write the improved program. {form}"),
        )
        ask = Ask("debugger", messages, form, self.temperature, CODE_TOKENS)
        return await self.ask.ask(ask, node, lambda text: read_program(text, task.entry_point, task.language))


@dataclass(frozen=True, slots=True)
class Critic:
    """Scores programs and verifies those that pass every visible test (section 3.4, eq. 7).

    Args:
        ask: asks the model.
        temperature: of its replies, >= 0.
    """

    ask: Asker
    temperature: float = 0.0

    async def score_outputs(self, task: CodeTask, node: str, tried: Attempt) -> Opinion:
        """How close the outputs are to the expected ones, 0 (error or time-out) to 5 (all match)."""
        scale = (
            "0: it ends with an error or a time-out. 1: no pattern can be seen. 2: wrong for part of the cases. 3: off in one "
            "clear, systematic way. 4: only edge cases are missing. 5: every output matches."
        )
        question = (
            f"{self._shown(task, tried)}\n\nHow close are the outputs to the expected ones? Say in a few sentences what is "
            f"wrong, then give a score. {scale} {_SCORE_FORM}"
        )
        return await self._judged("critic.outputs", node, question, _SCORE_FORM, read_score)

    async def score_strategy(self, task: CodeTask, node: str, tried: Attempt) -> Opinion:
        """How well the program carries out its strategy, and how well the strategy suits the problem, 0 to 5."""
        strategy = tried.idea or "(none was given)"
        question = (
            f"{self._shown(task, tried)}\n\nStrategy it was written for: {strategy}\n\nDoes the program carry out the "
            "strategy, and does the strategy suit the problem? Say so in a few sentences, then give a score: 0 not at all, 5 "
            f"completely. {_SCORE_FORM}"
        )
        return await self._judged("critic.strategy", node, question, _SCORE_FORM, read_score)

    async def verify(self, task: CodeTask, node: str, tried: Attempt) -> Opinion:
        """Whether a program that passes the visible tests would pass unseen ones: 1 yes, 0 no."""
        question = (
            f"{self._shown(task, tried)}\n\nThe program passes every test it was shown. Would it pass tests it has not seen? "
            "Check four things: does it solve the general problem and not just these tests; are bounds and limits right; are "
            "edge cases handled (empty, one, negative, repeated, very large); is it fast enough, polynomial at worst? Answer "
            f"in a few sentences, then decide: True if it is right, False if you see a fault. {_DECISION_FORM}"
        )
        return await self._judged("critic.verification", node, question, _DECISION_FORM, read_decision)

    async def _judged(self, role: str, node: str, question: str, form: str, read: Callable[[str], int]) -> Opinion:
        messages = (Message("system", _CRITIC), Message("user", question))
        ask = Ask(role, messages, form, self.temperature, TALK_TOKENS)
        found = await self.ask.ask(ask, node, lambda text: (int(read(text)), text))
        return Opinion(*found) if found else Opinion(None)

    @staticmethod
    def _shown(task: CodeTask, tried: Attempt) -> str:
        program = _code(tried.program, task.language)
        return f"Problem:\n{statement(task)}\n\nProgram:\n{program}\n\nTest results:\n{feedback(tried.report)}"
