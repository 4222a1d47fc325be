"""The roles of Tree-of-Code (Ni et al., ACL Findings 2025): the Programmer, who writes whole programs, and the Voter.

The wording is our own; what goes in and what comes out is the paper's (sections 3.1 to 3.4, A.1, A.2).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Literal

from treewright.models.base import Message
from treewright.roles.asking import Ask, Asker, Unreadable
from treewright.roles.prompts import Prompt
from treewright.roles.reading import read_program

PROGRAM_TOKENS, TALK_TOKENS = 4096, 1024
#: Longest texts of one earlier attempt in a prompt, in characters.
THOUGHT_CHARS, RESULT_CHARS, PROGRAM_CHARS = 2000, 2500, 8000
BRIEF_CHARS = 300
ANSWER_CHARS = 4000

History = Literal["full", "summary"]

_FORM = (
    "First think step by step in plain words. Then write the whole program between <execute> and </execute>. The tools are "
    "there as functions: call them by name, and do not import or define them. End the program with final_answer(value), where "
    "value is the answer in the shortest form that says it all."
)
_AGAIN = (
    "None of the attempts above worked. Say what went wrong, which cases or results were not expected, and what to do "
    "otherwise. Then write a new whole program; it keeps nothing of the attempts but what you write again."
)
_EXECUTE = re.compile(r"<execute>(.*?)(?:</execute>|\Z)", re.DOTALL | re.IGNORECASE)
_TAGS = re.compile(r"</?(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_LIKE = re.compile(r"(?<!\d)(\d{1,6})\s*[:=.)-]+\s*(?:[Aa]nswer\s*)?(\d{1,6})(?!\d)")
_THOUGHTS_END = re.compile(r".*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Written:
    """A model's program, and the thoughts before it ("" when there were none)."""

    thought: str
    program: str


@dataclass(frozen=True, slots=True)
class Tried:
    """An earlier attempt, as a later one is shown it: what was thought, the program, and what running it gave."""

    thought: str
    program: str
    result: str


def read_written(text: str) -> Written:
    r"""Thoughts and program of a reply: the first execute block after what is in think tags, else the longest block of code.

    Raises:
        Unreadable: there is no program in it.

    >>> read_written("Add them.\n<execute>\nfinal_answer(1 + 2)\n</execute>")
    Written(thought='Add them.', program='final_answer(1 + 2)')
    """
    spoken = thoughts_end(text)  # a draft among the thoughts is no program, unless there is no other
    block = _EXECUTE.search(text, spoken) or _EXECUTE.search(text)
    if block is None:
        program = read_program(text[spoken:] if "```" in text[spoken:] else text)
        thought = text[:spoken] + text[spoken:].partition("```")[0]
    else:
        program = dedent(block[1].strip("\r\n")).strip()
        program = read_program(program) if program.startswith("```") else program
        thought = text[: block.start()]
    if not program.strip():
        raise Unreadable("the program between <execute> and </execute> is empty")
    return Written(_TAGS.sub("", thought).strip(), program)


def thoughts_end(text: str) -> int:
    """Where the reasoning in think tags is over: behind the last end of one, 0 if there is none."""
    over = _THOUGHTS_END.match(text)
    return over.end() if over else 0


@dataclass(frozen=True, slots=True)
class Programmer:
    """Writes one whole program for a question (sections 3.2.1, 3.3).

    Args:
        asks: one asker for each model of the pool.
        prompts: the prompt pool.
        tools: what a model reads of the tools.
        temperature: of its replies, >= 0; the diversity of programs rests on it.
        history: how much of the ancestors a child is shown: all, or the parent in full and a few lines of the others.
    """

    asks: tuple[Asker, ...]
    prompts: tuple[Prompt, ...]
    tools: str
    temperature: float = 0.7
    history: History = "full"

    async def write(self, query: str, node: str, model: int, prompt: int, earlier: Sequence[Tried]) -> Written | None:
        """A program for `query`.

        Args:
            query: the question.
            node: who asks.
            model: which of `asks`.
            prompt: which of `prompts`.
            earlier: the attempts on the path from the root, oldest first; none for a first attempt.
        """
        told = f"Tools:\n\n{self.tools}\n\nQuestion:\n{query}"
        if earlier:
            told = f"{told}\n\n{self._shown(earlier)}\n\n{_AGAIN}"
        messages = (Message("system", f"{self.prompts[prompt].text}\n\n{_FORM}"), Message("user", told))
        role = "programmer.reflect" if earlier else "programmer"
        ask = Ask(role, messages, _FORM, self.temperature, PROGRAM_TOKENS, thoughts=True)
        return await self.asks[model].ask(ask, node, read_written)

    def _shown(self, earlier: Sequence[Tried]) -> str:
        brief = len(earlier) - 1 if self.history == "summary" else 0
        return "\n\n".join(_attempt(number, tried, brief=number <= brief) for number, tried in enumerate(earlier, 1))


def _attempt(number: int, tried: Tried, *, brief: bool) -> str:
    if brief:
        return f"Attempt {number} failed: {cut(tried.result.strip(), BRIEF_CHARS)}\nIts idea: {cut(tried.thought, BRIEF_CHARS)}"
    thought = f"Thoughts:\n{cut(tried.thought, THOUGHT_CHARS)}\n" if tried.thought else ""
    program = f"Program:\n```python\n{cut(tried.program.strip(), PROGRAM_CHARS)}\n```\n" if tried.program else ""
    return f"Attempt {number}:\n{thought}{program}Result:\n{cut(tried.result.strip(), RESULT_CHARS)}"


def cut(text: str, most: int) -> str:
    """The text, its middle left out when it is longer than `most` characters.

    >>> cut("a" * 30, 20)
    'aaaaaaa [...] aaaaaa'
    """
    if len(text) <= most:
        return text
    mark = " [...] "
    head = (most - len(mark) + 1) // 2
    return f"{text[:head]}{mark}{text[len(text) - (most - len(mark) - head) :]}"


@dataclass(frozen=True, slots=True)
class Voter:
    """Says which answers mean the same, and puts the one that won into words (section 3.4). It never chooses between them.

    Args:
        ask: asks the model.
    """

    ask: Asker

    async def groups(self, query: str, node: str, answers: Sequence[str]) -> tuple[int, ...] | None:
        """For each answer the number of its group; None when the model's reply could not be read.

        Args:
            query: the question.
            node: who asks.
            answers: two or more.
        """
        listed = "\n\n".join(f"Answer {number}:\n{cut(answer, ANSWER_CHARS)}" for number, answer in enumerate(answers, 1))
        form = (
            f"Reply with one line for each of the {len(answers)} answers: its number, a colon, and the number of the first "
            "answer that says the same (its own, if none before it does)."
        )
        question = f"Question:\n{query}\n\n{listed}\n\nWhich answers say the same, whatever their words? {form}"
        messages = (Message("system", "You compare answers. You do not judge which is right."), Message("user", question))
        ask = Ask("voter.groups", messages, form, 0.0, TALK_TOKENS)
        return await self.ask.ask(ask, node, lambda text: read_groups(text, len(answers)))

    async def words(self, query: str, node: str, answer: str) -> str | None:
        """The answer that won, in words that reply to the question; None when the model wrote none."""
        form = "Reply with the answer alone, as short as it can be said in full."
        question = (
            f"Question:\n{query}\n\nA program found this:\n{cut(answer, ANSWER_CHARS)}\n\n"
            f"Say the answer to the question. Add nothing that is not there. {form}"
        )
        messages = (Message("system", "You report what was found, and nothing else."), Message("user", question))
        return await self.ask.ask(Ask("voter.words", messages, form, 0.0, TALK_TOKENS), node, _said)


def read_groups(text: str, count: int) -> tuple[int, ...]:
    r"""The group of each of `count` answers, as numbers of their first members, from 0.

    Raises:
        Unreadable: an answer is not named, or is put with one that does not come before it.

    >>> read_groups("1: 1\n2: 1\n3: 3", 3)
    (0, 0, 2)
    """
    found = {int(own): int(first) for own, first in _LIKE.findall(text)}
    groups: list[int] = []
    for number in range(1, count + 1):
        first = found.get(number, 0)
        if not 1 <= first <= number:
            raise Unreadable(f"it does not say which answer the answer {number} is like")
        groups.append(groups[first - 1] if first < number else number - 1)
    return tuple(groups)


def _said(text: str) -> str:
    if not text.strip():
        raise Unreadable("it is empty")
    return text.strip()
