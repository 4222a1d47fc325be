"""The role that writes variants of a prompt: what it is shown, what it reads, what is not worth a try."""

from __future__ import annotations

import asyncio

import pytest

from adding import Teller
from treewright.roles.asking import Asker, Unreadable
from treewright.roles.prompt_evolution import MOST_CHARS, PromptWriter, digest, read_variants, refusal
from treewright.roles.prompts import Prompt

PARENT = Prompt("plan", "Take the question apart.")


def ask(*replies: str, count: int = 2, known: tuple[str, ...] = ()) -> tuple[tuple[str, ...] | None, Teller]:
    teller = Teller(replies)
    return asyncio.run(PromptWriter(Asker(teller, 7)).variants(PARENT, count, "1.x", known)), teller


def test_the_model_is_shown_the_prompt_and_the_newest_others() -> None:
    known = ("Oldest.", "Think backwards.", "Look at units.", "Try small cases.", PARENT.text)
    found, teller = ask("<prompt>\nDraw it.\n</prompt>", known=known)
    assert found == ("Draw it.",)
    (request,) = teller.asked
    told = request.messages[-1].text
    assert all(f"<prompt>\n{text}\n</prompt>" in told for text in known[1:])
    assert told.count(PARENT.text) == 1
    assert "Oldest." not in told
    assert "Write 2 variants" in told
    assert request.temperature > 0.5, "variants are to differ"


def test_an_unreadable_reply_is_asked_about_once_more() -> None:
    found, teller = ask("Here: Draw it.", "<PROMPT>Draw it.</PROMPT>")
    assert found == ("Draw it.",)
    assert "there is no prompt between <prompt> and </prompt>" in teller.asked[1].messages[-1].text
    assert ask("Here: Draw it.", "No.")[0] is None


def test_no_more_are_read_than_were_asked_for_and_none_that_is_cut_off() -> None:
    assert read_variants("<prompt>a</prompt><prompt>b</prompt><prompt>c</prompt>", 2) == ("a", "b")
    assert read_variants("<prompt></prompt><prompt>b</prompt><prompt>cut", 3) == ("", "b")
    with pytest.raises(Unreadable):
        read_variants("<prompt>cut", 1)


def test_empty_long_and_known_variants_are_refused_with_a_reason() -> None:
    known = {digest("Take the  QUESTION apart. ")}
    assert refusal(" \n", known) == "it is empty"
    assert refusal("x" * (MOST_CHARS + 1), known) == f"it is longer than {MOST_CHARS} characters"
    assert refusal(PARENT.text, known) == "it is known already"
    assert refusal("x" * MOST_CHARS, known) == ""
