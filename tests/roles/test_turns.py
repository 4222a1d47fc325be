"""CodeAct's and ReAct's turns: what is asked, and how a reply is read."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taped import Taped
from treewright.roles.asking import Asker, Unreadable
from treewright.roles.tree_of_code import Tried, Written
from treewright.roles.turns import OBSERVATION_CHARS, codeact, react, read_call

CALL = '{"tool": "find", "arguments": {"x": 1}}'


@pytest.mark.parametrize(
    ("reply", "thought", "call"),
    [
        ('{"thought": "look", "tool": "find", "arguments": {"x": 1}}', "look", CALL),
        (f"```json\n{CALL}\n```", "", CALL),
        ('{"note": 1} then ' + CALL + ' and {"tool": "other"}', "", CALL),
        ('{"tool": "now"}', "", '{"tool": "now", "arguments": {}}'),
        (
            '{ broken {"tool": "größe", "arguments": {"a": {"b": ["{"]}}}',
            "",
            '{"tool": "größe", "arguments": {"a": {"b": ["{"]}}}',
        ),
        ('<think>maybe {"tool": "draft"} or so</think>' + CALL, "", CALL),
        (f"<think>{CALL}</think>", "", CALL),
    ],
)
def test_the_first_call_of_a_reply_is_read(reply: str, thought: str, call: str) -> None:
    assert read_call(reply) == Written(thought, call)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "find(x=1)",
        "[1]",
        '{"tool": ""}',
        '{"tool": 3}',
        '{"tool": "find", "arguments": [1]}',
        '{"x": {"tool": "inside"}}',
        '{"a":' * 3000,
    ],
)
def test_a_reply_without_a_call_is_unreadable(reply: str) -> None:
    with pytest.raises(Unreadable, match="no JSON object with a tool and its arguments"):
        read_call(reply)


@given(st.text(alphabet='{}[]":, atol\\n1') | st.text())
def test_any_reply_is_read_or_unreadable(text: str) -> None:
    try:
        call = json.loads(read_call(text).program)
    except Unreadable:
        return
    assert set(call) == {"tool", "arguments"}


TRIED = (Tried("look", "print(1)", "1"), Tried("", "print(2)", "2" * 9000))


def test_codeact_sees_its_turns_as_a_chat_with_observations_cut() -> None:
    model = Taped("So.\n<execute>final_answer(1)</execute>")
    assert asyncio.run(codeact(Asker(model), "add(a, b)").act("What?", "0.1", TRIED)) == Written("So.", "final_answer(1)")
    system, question, said, seen, said_too, seen_too = model.requests[0].messages
    assert "add(a, b)" in system.text
    assert "<execute>" in system.text
    assert [message.speaker for message in model.requests[0].messages[1:]] == ["user", "assistant", "user", "assistant", "user"]
    assert (question.text, said.text, seen.text) == ("What?", "look\n<execute>\nprint(1)\n</execute>", "Observation:\n1")
    assert said_too.text == "<execute>\nprint(2)\n</execute>"
    assert len(seen_too.text) == OBSERVATION_CHARS + len("Observation:\n")
    assert (model.requests[0].temperature, model.requests[0].caller.role) == (0.0, "codeact")


def test_react_sees_its_turns_as_the_json_it_wrote() -> None:
    model = Taped(CALL)
    earlier = (Tried("look", CALL, "found"), Tried("", "", "That was no call."))
    assert asyncio.run(react(Asker(model), "find(x)").act("What?", "0.1", earlier)) == Written("", CALL)
    said = [message.text for message in model.requests[0].messages if message.speaker == "assistant"]
    assert json.loads(said[0]) == {"thought": "look", "tool": "find", "arguments": {"x": 1}}
    assert said[1] == "(nothing)"
    assert "final_answer" in model.requests[0].messages[0].text
    assert model.requests[0].caller.role == "react"


def test_a_turn_that_cannot_be_read_twice_is_none() -> None:
    assert asyncio.run(react(Asker(Taped("no", "no")), "").act("What?", "0", ())) is None
