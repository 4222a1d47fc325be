"""A scripted model that knows the recorded calls of the graded tasks and writes them down as one whole program.

It proves the way from a model's reply over sandbox, tools and vote to a grade: every step of it has to work for the program to
give what is expected. It is no measure of anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from treewright.bench.m3tooleval import Call, Gold, M3ToolEval
from treewright.core.errors import ModelUnavailable
from treewright.models.base import Reply, Request
from treewright.models.estimates import usual_usage
from treewright.tools.base import Card
from treewright.tools.cards import python_parameters
from treewright.tools.names import tool_name

_QUOTED = re.compile(r"'([^']+)'")


class Reference:
    """A `Model` that answers a graded task with the program of its recorded calls.

    Asked for anything but a program (to word an answer, to compare answers), it has nothing to say.

    Args:
        benchmark: with its gold.
    """

    def __init__(self, benchmark: M3ToolEval) -> None:
        self._programs = {
            item.query: program(item.query, benchmark.gold[item.name], item.toolbox.cards)
            for item in benchmark.items
            if item.name in benchmark.gold
        }

    @property
    def name(self) -> str:
        """Always "reference"."""
        return "reference"

    async def __aenter__(self) -> Self:
        """Nothing to prepare."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Nothing to close."""

    async def complete(self, request: Request) -> Reply:
        """Reply with the program of the question that is asked.

        Raises:
            ModelUnavailable: it knows no such question, or is asked for something else than a program.
        """
        role = request.caller.role
        if role.startswith("voter"):
            return Reply("", usual_usage(request, ""))
        if not role.startswith(("programmer", "codeact")):
            raise ModelUnavailable(f"the model reference writes whole programs only: choose another model for {role}")
        asked = "\n".join(message.text for message in request.messages)
        known = [query for query in self._programs if query in asked]
        if not known:
            raise ModelUnavailable("the model reference knows the graded tasks only: choose another model for the others")
        thought = "<thought>The recorded calls, one after the other.</thought>"
        text = f"{thought}\n<execute>\n{self._programs[max(known, key=len)]}</execute>"
        return Reply(text, usual_usage(request, text))


def program(query: str, gold: Gold, cards: Sequence[Card]) -> str:
    """The recorded calls as a program; results are handed on where a later call takes them."""
    by_name = {card.name: card for card in cards}
    lines: list[str] = []
    known: dict[str, str] = {}
    for number, call in enumerate(gold.calls, 1):
        card = by_name[tool_name(call.tool)]
        lines.append(f"r{number} = {card.name}({_arguments(call, card, known)})")
        known[_key(call.result)] = f"r{number}"
    return "\n".join([*lines, f"final_answer({_answer(query, gold)})"]) + "\n"


def _arguments(call: Call, card: Card, known: Mapping[str, str]) -> str:
    written = [known.get(_key(argument), repr(argument)) for argument in call.arguments]
    variadic = [parameter.wire for parameter in python_parameters(card)] == ["args"]
    return f"[{', '.join(written)}]" if variadic else ", ".join(written)


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _answer(query: str, gold: Gold) -> str:
    """How the expected answer follows from the results: the first of the usual ways that gives it, else the last result.

    The recorded calls end with the last tool; what is done with the results after it (the larger one, a list of them, a
    length) is not recorded and found here.
    """
    expected = _key(gold.expected)
    return next((text for text, value in _ways(query, gold.calls) if _key(value) == expected), f"r{len(gold.calls)}")


#: An expression over the results r1, r2, ... and what it comes to.
_Way = tuple[str, Any]


def _ways(query: str, calls: Sequence[Call]) -> Iterator[_Way]:
    """None of them contains an expected answer that is not in the question or among the results."""
    numbered = [(f"r{number}", call) for number, call in enumerate(calls, 1)]
    yield from ((name, call.result) for name, call in reversed(numbered))
    for tool in dict.fromkeys(call.tool for call in reversed(calls)):
        yield from _of_many([(name, call.result) for name, call in numbered if call.tool == tool])
    used = {_key(argument) for call in calls for argument in call.arguments}
    words = [word for word in _QUOTED.findall(query) if _key(word) not in used]
    yield from _of_last(words, *numbered[-1])
    if all(isinstance(call.result, bool) for call in calls):
        valid = [call.arguments[0] for call in calls if call.result]
        listed = ", ".join(f"*[{call.arguments[0]!r}] * {name}" for name, call in numbered)
        yield f"max([{listed}, ''], key=len)", max([*valid, ""], key=len)


def _of_many(results: Sequence[_Way]) -> Iterator[_Way]:
    names, values = [name for name, _ in results], [value for _, value in results]
    yield f"[{', '.join(names)}]", values
    if len(values) > 1 and all(isinstance(value, int | float) for value in values):
        yield f"{names[0]} - {names[1]}", values[0] - values[1]


def _of_last(words: Sequence[str], name: str, call: Call) -> Iterator[_Way]:
    match call.result:
        case [first, *_]:
            yield f"{name}[0]", first
        case str(text):
            yield f"len({name}.split('-'))", len(text.split("-"))
            yield from ((f"{word!r} in {name}", word in text) for word in words)
        case bool(yes):
            yield from ((f"{name} or {word!r}", yes or word) for word in words)
