"""The roles of the multi-turn baselines, which act, look, and act again.

CodeAct (Wang et al., 2024) writes a block of code a turn and keeps its variables; ReAct (Yao et al., 2023) makes one tool call
a turn, written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from treewright.models.base import Message
from treewright.roles.asking import Ask, Asker, Unreadable
from treewright.roles.tree_of_code import PROGRAM_TOKENS, Tried, Written, cut, read_written, thoughts_end

#: Of an observation that a later turn is shown, in characters (M3ToolEval's protocol).
OBSERVATION_CHARS = 2000
#: The name under which ReAct gives its answer.
ANSWER_TOOL = "final_answer"

_CODE_FORM = (
    "In each turn think in plain words, then write one block of Python between <execute> and </execute>. You are shown what it "
    "prints; variables stay for later turns. When you know the answer, call final_answer(value) in the block."
)
_CALL_FORM = (
    'In each turn reply with one JSON object and nothing else: {"thought": "...", "tool": "NAME", "arguments": {...}}. '
    f'When you know the answer, the tool is "{ANSWER_TOOL}" and the arguments are {{"answer": ...}}.'
)


@dataclass(frozen=True, slots=True)
class Actor:
    """Takes one turn at a time.

    Args:
        ask: asks the model.
        tools: what a model reads of the tools.
        role: for the record, "codeact" or "react".
        system: what it is told first.
        form: of its replies.
        read: reads one.
        temperature: of its replies, >= 0.
    """

    ask: Asker
    tools: str
    role: str
    system: str
    form: str
    read: Callable[[str], Written]
    temperature: float = 0.0

    async def act(self, query: str, node: str, earlier: Sequence[Tried]) -> Written | None:
        """The next turn, after those on the path from the root."""
        messages = [Message("system", f"{self.system}\n{self.form}\n\nTools:\n\n{self.tools}"), Message("user", query)]
        for tried in earlier:
            messages.append(Message("assistant", _as_said(tried, self.role)))
            messages.append(Message("user", f"Observation:\n{cut(tried.result, OBSERVATION_CHARS)}"))
        ask = Ask(self.role, tuple(messages), self.form, self.temperature, PROGRAM_TOKENS, thoughts=True)
        return await self.ask.ask(ask, node, self.read)


def codeact(ask: Asker, tools: str) -> Actor:
    """CodeAct: a block of code a turn."""
    return Actor(ask, tools, "codeact", "You solve tasks by running Python step by step.", _CODE_FORM, read_written)


def react(ask: Asker, tools: str) -> Actor:
    """ReAct: a thought and one tool call a turn."""
    return Actor(ask, tools, "react", "You solve tasks by calling one tool after the other.", _CALL_FORM, read_call)


def _as_said(tried: Tried, role: str) -> str:
    if role == "react":
        return json.dumps({"thought": tried.thought, **json.loads(tried.program)}) if tried.program else "(nothing)"
    return f"{tried.thought}\n<execute>\n{tried.program}\n</execute>".strip()


def read_call(text: str) -> Written:
    r"""Thought and call of a reply, the first after what is in think tags; the call as JSON: "tool" and "arguments".

    Raises:
        Unreadable: no JSON object in it names a tool.

    >>> read_call('Sure: {"thought": "look", "tool": "find", "arguments": {"x": 1}}')
    Written(thought='look', program='{"tool": "find", "arguments": {"x": 1}}')
    """
    spoken = thoughts_end(text)
    for said in (*_objects(text[spoken:]), *_objects(text[:spoken])):
        tool, arguments = said.get("tool"), said.get("arguments", {})
        if isinstance(tool, str) and tool and isinstance(arguments, dict):
            call = json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)
            return Written(str(said.get("thought", "")), call)
    raise Unreadable("it holds no JSON object with a tool and its arguments")


def _objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a text, first to last; what lies inside one is not looked at again."""
    found, at, decoder = [], text.find("{"), json.JSONDecoder()
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return [value for value in found if isinstance(value, dict)]
