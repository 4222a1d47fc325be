"""Ask a model, read its reply, ask once more if it cannot be read, then have no opinion.

A parser is a function `str -> T` that raises `Unreadable` with a clause saying what is missing; the one repair ask quotes it.
Whatever is sent has been scrubbed, so no role can leak a path, a user or a host.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from treewright.core.scrub import scrub
from treewright.core.tree import node_seed
from treewright.models.base import Caller, Message, Model, Request

T = TypeVar("T")

_THOUGHTS = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHTS_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


class Unreadable(ValueError):
    """A reply does not have the form that was asked for; the message is a clause that says what is missing."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question of one role.

    Args:
        role: who asks and for what, such as "critic.verification".
        messages: the chat, the question last.
        form: the sentence that states the form of the reply; the repair ask repeats it.
        temperature: sampling temperature, >= 0.
        max_tokens: most tokens of the reply, >= 1.
        thoughts: the reasoning in think tags is part of what is read.
    """

    role: str
    messages: tuple[Message, ...]
    form: str
    temperature: float = 0.0
    max_tokens: int = 2048
    thoughts: bool = False


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks one model on behalf of the roles of one run.

    Args:
        model: whom to ask.
        seed: of the run; a call's own seed follows from it, the node and the role.
    """

    model: Model
    seed: int = 0

    async def ask(self, ask: Ask, node: str, parse: Callable[[str], T]) -> T | None:
        """The parsed reply; None when neither the first nor the repair reply could be read ("no opinion").

        Raises:
            ModelUnavailable: no reply can be had.
            BudgetSpent: a call does not fit into the budget any more.
        """
        messages = tuple(Message(m.speaker, scrub(m.text)) for m in ask.messages)
        seed = node_seed(self.seed, node, ask.role)
        for attempt in (0, 1):
            request = Request(messages, ask.temperature, ask.max_tokens, seed, Caller(node, ask.role, attempt))
            reply = (await self.model.complete(request)).text
            said = reply if ask.thoughts else without_thoughts(reply)
            try:
                return parse(said)
            except Unreadable as fault:
                # A reply longer than it was allowed to be is not paid for twice, and most providers refuse an empty turn.
                quoted = scrub(said[: 4 * ask.max_tokens]).strip() or "(nothing)"
                again = f"That reply could not be read: {fault}. {ask.form}"
                messages = (*messages, Message("assistant", quoted), Message("user", again))
        return None


def without_thoughts(text: str) -> str:
    """The reply without the reasoning that some models print in think tags; a tag never closed hides the rest.

    >>> without_thoughts("<think>hm, 3?</think>4")
    '4'
    """
    # Some chat templates open the tag in the prompt, so only its end is in the reply.
    return _THOUGHTS_END.split(_THOUGHTS.sub("", text))[-1]
