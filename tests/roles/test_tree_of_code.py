"""What the Programmer and the Voter are told, and how their replies are read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taped import Taped
from treewright.models.base import Caller
from treewright.roles.asking import Asker, Unreadable
from treewright.roles.prompts import Prompt
from treewright.roles.tree_of_code import (
    BRIEF_CHARS,
    PROGRAM_CHARS,
    RESULT_CHARS,
    THOUGHT_CHARS,
    History,
    Programmer,
    Tried,
    Voter,
    Written,
    cut,
    read_groups,
    read_written,
)

REPLY = "Add them.\n<execute>\nfinal_answer(1 + 2)\n</execute>"
PROMPTS = (Prompt("a", "Think about A."), Prompt("b", "Think about B."))
TRIED = (Tried("idea one", "program_one()", "result one"), Tried("idea two", "program_two()", "result two"))


def programmer(*models: Taped, history: History = "full") -> Programmer:
    return Programmer(tuple(Asker(model, 5) for model in models), PROMPTS, "add(a: int, b: int) -> int", history=history)


def write(
    who: Programmer, earlier: Sequence[Tried] = (), *, model: int = 0, prompt: int = 0, node: str = "0.1"
) -> Written | None:
    return asyncio.run(who.write("What is 1 + 2?", node, model, prompt, earlier))


@pytest.mark.parametrize(
    ("reply", "thought", "program"),
    [
        (REPLY, "Add them.", "final_answer(1 + 2)"),
        ("<EXECUTE>x = 1</EXECUTE>", "", "x = 1"),
        ("First <execute>x = 1</execute> then <execute>x = 2</execute>", "First", "x = 1"),
        ("<execute>\nx = 1\nif x:\n    y()\n", "", "x = 1\nif x:\n    y()"),
        ("<execute>\n    x = 1\n    y = 2\n</execute>", "", "x = 1\ny = 2"),
        ("<execute>\n```python\nx = 1\n```\n</execute>", "", "x = 1\n"),
        ("<execute>\nx = '''```\ncode\n```'''\n</execute>", "", "x = '''```\ncode\n```'''"),
        ("So:\n```python\nx = 1\n```\nDone.", "So:", "x = 1\n"),
        ("<thought>Add.</thought>\n<execute>x</execute>", "Add.", "x"),
        (
            "<think>Draft: <execute>bad()</execute> no.</think>Now.<execute>good()</execute>",
            "Draft: <execute>bad()</execute> no.Now.",
            "good()",
        ),
        (
            "<think>```python\nbad(1, 2, 3)\n```</think>Now.\n```python\ngood()\n```",
            "```python\nbad(1, 2, 3)\n```Now.",
            "good()\n",
        ),
        ("<think>All of it is in here.\n<execute>x = 1</execute></think>", "All of it is in here.", "x = 1"),
        ("hidden start</think>\n<execute>x = 1</execute>", "hidden start", "x = 1"),
        ("<execute>print('</think>')</execute>", "", "print('</think>')"),
    ],
)
def test_a_reply_is_read_as_thoughts_and_a_program(reply: str, thought: str, program: str) -> None:
    assert read_written(reply) == Written(thought, program)


@pytest.mark.parametrize(
    "reply", ["", "I cannot.", "<execute></execute>", "<execute>\n \n</execute> later", "<execute>", "```python\n```"]
)
def test_a_reply_without_a_program_is_unreadable(reply: str) -> None:
    with pytest.raises(Unreadable):
        read_written(reply)


@given(st.text())
def test_any_reply_is_read_or_unreadable(text: str) -> None:
    with suppress(Unreadable):
        assert read_written(text).program.strip()


def test_a_reply_of_much_white_space_is_read_at_once() -> None:
    assert read_written("<execute>" + " \n" * 100_000 + "x = 1").program == "x = 1"


def test_a_first_attempt_sees_prompt_tools_and_question_and_nothing_of_an_attempt() -> None:
    model = Taped(REPLY)
    assert write(programmer(model), prompt=1) == Written("Add them.", "final_answer(1 + 2)")
    system, user = model.requests[0].messages
    assert system.text.startswith("Think about B.")
    assert "<execute>" in system.text
    assert "final_answer" in system.text
    assert user.text == "Tools:\n\nadd(a: int, b: int) -> int\n\nQuestion:\nWhat is 1 + 2?"
    assert model.requests[0].temperature == 0.7
    assert model.requests[0].caller == Caller("0.1", "programmer", 0)


def test_the_model_that_is_drawn_is_asked() -> None:
    first, second = Taped(REPLY), Taped(REPLY)
    write(programmer(first, second), model=1)
    assert (len(first.requests), len(second.requests)) == (0, 1)


def test_a_later_attempt_sees_all_of_its_ancestors_oldest_first() -> None:
    model = Taped(REPLY)
    write(programmer(model), TRIED)
    shown = model.requests[0].messages[1].text
    places = [shown.index(text) for tried in TRIED for text in (tried.thought, tried.program, tried.result)]
    assert places == sorted(places)
    assert "None of the attempts above worked" in shown[places[-1] :]
    assert model.requests[0].caller.role == "programmer.reflect"


def test_a_summary_shows_the_parent_whole_and_the_others_in_a_few_lines() -> None:
    model = Taped(REPLY)
    write(programmer(model, history="summary"), (Tried("i" * 1000, "old_program()", "r" * 1000), *TRIED))
    shown = model.requests[0].messages[1].text
    assert "old_program" not in shown
    assert "program_one" not in shown
    assert "program_two()" in shown
    assert "result one" in shown
    assert "i" * BRIEF_CHARS not in shown
    assert "r" * BRIEF_CHARS not in shown


def test_long_attempts_are_cut() -> None:
    model = Taped(REPLY)
    write(programmer(model), [Tried("T" * 99_999, "P" * 99_999, "R" * 99_999)])
    shown = model.requests[0].messages[1].text
    for letter, most in (("T", THOUGHT_CHARS), ("P", PROGRAM_CHARS), ("R", RESULT_CHARS)):
        assert most - 20 < shown.count(letter) < most + 5


def test_an_attempt_without_thoughts_or_program_leaves_their_heads_out() -> None:
    model = Taped(REPLY)
    write(programmer(model), [Tried("", "", "no program")])
    shown = model.requests[0].messages[1].text
    assert "Thoughts:" not in shown
    assert "Program:" not in shown
    assert "Result:\nno program" in shown


def test_drafts_in_think_tags_reach_the_reader_and_one_repair_is_asked() -> None:
    model = Taped("I would rather not.", f"<think>hm</think>{REPLY}")
    assert write(programmer(model)) == Written("hmAdd them.", "final_answer(1 + 2)")
    assert "<execute>" in model.requests[1].messages[-1].text
    assert write(programmer(Taped("no", "no"))) is None


def test_nodes_draw_other_seeds() -> None:
    model = Taped(REPLY, REPLY)
    write(programmer(model), node="0.1")
    write(programmer(model), node="0.2")
    assert len({request.seed for request in model.requests}) == 2


@given(st.text(), st.integers(20, 60))
def test_a_cut_text_has_the_length_and_both_ends(text: str, most: int) -> None:
    short = cut(text, most)
    assert len(short) == min(len(text), most)
    assert short == text or (text.startswith(short.split(" [...] ")[0]) and text.endswith(short[-5:]))


@pytest.mark.parametrize(
    ("reply", "groups"),
    [
        ("1: 1\n2: 1\n3: 3", (0, 0, 2)),
        ("1 = 1, 2 = 2, 3 = 2", (0, 1, 1)),
        ("1. Answer 1\n2) answer 2\n3 - 1", (0, 1, 0)),
        ("3: 2\n2: 1\n1: 1", (0, 0, 0)),
        ("I think\n1: 1\n2: 2\n3: 3\n4: 9 is no answer", (0, 1, 2)),
    ],
)
def test_groups_are_read(reply: str, groups: tuple[int, ...]) -> None:
    assert read_groups(reply, 3) == groups


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "all the same",
        "1: 1\n2: 1",
        "1: 2\n2: 1\n3: 3",
        "1: 0\n2: 2\n3: 3",
        f"1: {'9' * 5000}\n2: 1\n3: 1",
        f"{'9' * 5000}: 1",
    ],
)
def test_groups_that_are_not_told_whole_are_unreadable(reply: str) -> None:
    with pytest.raises(Unreadable):
        read_groups(reply, 3)


def test_the_voter_sees_question_and_answers_and_only_groups_them() -> None:
    model = Taped("1: 1\n2: 1")
    assert asyncio.run(Voter(Asker(model)).groups("Who?", "0", ["Ann", "It was Ann." + "x" * 9000])) == (0, 0)
    assert "Question:\nWho?" in model.asked
    assert "Answer 1:\nAnn" in model.asked
    assert "Answer 2:\nIt was Ann." in model.asked
    assert len(model.asked) < 6000
    assert (model.requests[0].temperature, model.requests[0].caller.role) == (0.0, "voter.groups")
    assert asyncio.run(Voter(Asker(Taped("no", "no"))).groups("Who?", "0", ["a", "b"])) is None


def test_the_voter_words_the_answer_that_won() -> None:
    model = Taped("<think>Ann</think> It was Ann.\n")
    assert asyncio.run(Voter(Asker(model)).words("Who?", "0", '["Ann"]')) == "It was Ann."
    assert '["Ann"]' in model.asked
    assert asyncio.run(Voter(Asker(Taped(" ", ""))).words("Who?", "0", "Ann")) is None
