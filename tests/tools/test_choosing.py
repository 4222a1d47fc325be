from __future__ import annotations

import asyncio

from treewright.tools.base import Effect
from treewright.tools.choosing import Chosen
from treewright.tools.functions import from_functions


def find_book(title: str) -> str:
    """Find a book."""
    return title


def find_film(title: str) -> str:
    """Find a film."""
    return title


def send(text: str) -> str:
    """Send it."""
    return text


TOOLS = (find_book, find_film, send)


def effects(chosen: Chosen) -> dict[str, Effect]:
    return {card.name: card.effect for card in chosen.cards}


def test_without_a_word_every_tool_is_as_it_was() -> None:
    assert effects(Chosen(from_functions(TOOLS))) == dict.fromkeys(("find_book", "find_film", "send"), "idempotent")


def test_only_the_tools_that_fit_are_offered() -> None:
    assert [*effects(Chosen(from_functions(TOOLS), only=["find_*"]))] == ["find_book", "find_film"]


def test_effects_are_set_by_pattern_and_pure_goes_first() -> None:
    chosen = Chosen(from_functions(TOOLS), pure=["find_b*"], idempotent=["find_*"])
    assert effects(chosen) == {"find_book": "pure", "find_film": "idempotent", "send": "idempotent"}


def test_a_pattern_that_fits_nothing_is_named() -> None:
    assert Chosen(from_functions(TOOLS), only=["find_*"], pure=["get_*"]).unused == ("get_*",)


def test_chosen_tools_can_be_called() -> None:
    async def call() -> object:
        async with from_functions(TOOLS) as tools, Chosen(tools, only=["send"]).session() as session:
            return (await session.call("send", {"text": "hi"})).value

    assert asyncio.run(call()) == "hi"
