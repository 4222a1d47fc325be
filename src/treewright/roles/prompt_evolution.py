"""The role that writes variants of a prompt (Tree-of-Code, appendix A.2.2): the same task, another way of thinking about it.

It is shown the prompt alone, never the tasks that variants are scored on, so it cannot write their answers into a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from treewright.models.base import Message
from treewright.roles.asking import Ask, Asker, Unreadable
from treewright.roles.prompts import Prompt

#: A variant longer than this, in characters, costs more in every call than it can bring.
MOST_CHARS = 6000
VARIANT_TOKENS = 1024
_FORM = "Put each prompt between <prompt> and </prompt>, whole, with nothing left out."
_WRITER = (
    "You write prompts for a language model that answers questions by writing one whole Python program which calls tools. "
    "The tools, the question and the form of the reply are added behind the prompt, so it says nothing of them."
)
_BLOCK = re.compile(r"<prompt>(.*?)</prompt>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptWriter:
    """Writes variants of a prompt.

    Args:
        ask: asks the model.
        temperature: of its replies, >= 0; variants are to differ.
    """

    ask: Asker
    temperature: float = 0.9

    async def variants(self, parent: Prompt, count: int, node: str, known: Sequence[str] = ()) -> tuple[str, ...] | None:
        """Up to `count` variants as they were written; None when the reply could not be read.

        Args:
            parent: what they are variants of.
            count: how many, >= 1.
            node: who asks: another one gets another seed.
            known: prompts that are there already; the newest of them are shown.
        """
        others = [text for text in known if text != parent.text][-3:]
        shown = "\n\n".join(f"<prompt>\n{text}\n</prompt>" for text in others)
        also = f"\n\nThese are there already; go other ways:\n\n{shown}" if others else ""
        question = (
            f"This is a prompt:\n\n<prompt>\n{parent.text}\n</prompt>{also}\n\n"
            f"Write {count} variant{'s' * (count != 1)} of it. Keep its core: what it asks for, and every rule that a program "
            "has to keep. Change the way of thinking it asks for, each variant in a direction of its own that has nothing to "
            "do with the others: where to begin, what to look at first, what to be careful about, how to build the program. "
            f"Write them as plainly as the prompt is. {_FORM}"
        )
        messages = (Message("system", _WRITER), Message("user", question))
        ask = Ask("prompts.variants", messages, _FORM, self.temperature, VARIANT_TOKENS * count)
        return await self.ask.ask(ask, node, lambda text: read_variants(text, count))


def read_variants(text: str, most: int) -> tuple[str, ...]:
    r"""The prompts of a reply, at most `most`. One that was cut off is none.

    Raises:
        Unreadable: there is none.

    >>> read_variants("<prompt>\nThink.\n</prompt> and <prompt>Look", 2)
    ('Think.',)
    """
    found = tuple(block.strip() for block in _BLOCK.findall(text))
    if not found:
        raise Unreadable("there is no prompt between <prompt> and </prompt>")
    return found[:most]


def refusal(text: str, known: Collection[str]) -> str:
    """Why a variant is not worth a try, as a clause; "" when it is.

    Args:
        text: the variant.
        known: digests (`digest`) of all that were tried before.
    """
    if not text.strip():
        return "it is empty"
    if len(text) > MOST_CHARS:
        return f"it is longer than {MOST_CHARS} characters"
    return "it is known already" if digest(text) in known else ""


def digest(text: str) -> str:
    """Equal for texts that differ in spaces and case at most: 12 hexadecimal digits."""
    return blake2b(" ".join(text.casefold().split()).encode(), digest_size=6).hexdigest()
