"""API-Bank level 3 (Li et al., EMNLP 2023): questions that need several calls, answered from recorded traces.

A folder holds `apibank/level-3.json.gz`, rows of requirement, response and the recorded calls. As in Tree-of-Code (section 4.1)
the APIs are plain functions and their cards show an output; the search for tools (ToolSearcher) falls away, for all of them
are on the cards. What decides is in `keywords`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treewright.bench.apibank_replay import Replay
from treewright.bench.calculator import calculate
from treewright.bench.graders import Grade, Grader
from treewright.bench.items import Item
from treewright.bench.keywords import Step, keywords, mentions
from treewright.bench.local_tools import Function, LocalToolbox
from treewright.bench.reading import Json, read_json, text_in
from treewright.core.errors import UserError
from treewright.tools.base import Card

TASKS = Path("apibank/level-3.json.gz")
SEARCHER = "ToolSearcher"
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}
_LONGEST_EXAMPLE = 400


@dataclass(frozen=True, slots=True)
class Task:
    """A row of the file.

    Args:
        question: its requirement.
        reply: its recorded reply; gold.
        steps: its recorded calls but for the search for tools; gold.
    """

    question: str
    reply: str
    steps: tuple[Step, ...]


def load_apibank(data: Path) -> tuple[Item, ...]:
    """Read level 3 from a folder of data.

    Raises:
        UserError: the file is missing or is not of the form above.
    """
    path = data / TASKS
    rows = read_json(path)
    try:
        tasks = [_task(row) for row in rows]
        definitions = _definitions(rows)
        return tuple(_item(number, tasks, definitions) for number in range(len(tasks)))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{path} is not API-Bank level 3 as it is published: {error!r}") from error


def keyword_grader(words: Sequence[str]) -> Grader:
    """Right is an answer that mentions all of these."""
    return lambda answer: Grade(all(mentions(answer, word) for word in words))


def _task(row: Json) -> Task:
    calls = [call for call in row["apis"] if call["api_name"] != SEARCHER]
    steps = tuple(Step(text_in(call, "api_name"), dict(call["input"]), call["output"]["output"]) for call in calls)
    return Task(text_in(row, "requirement").strip(), text_in(row, "response"), steps)


def _definitions(rows: Sequence[Json]) -> dict[str, Json]:
    """What the recorded searches found, by the name of the tool."""
    found = [call["output"]["output"] for row in rows for call in row["apis"] if call["api_name"] == SEARCHER]
    return {one["name"]: one for one in found if isinstance(one, dict) and "name" in one}


def _item(number: int, tasks: Sequence[Task], definitions: Mapping[str, Json]) -> Item:
    own = tasks[number]
    others = [task for task in tasks if task is not own]
    words = keywords(own.question, own.steps, own.reply)
    cards = [_card(one, [step for task in others for step in task.steps]) for one in definitions.values()]
    # The task's own records come first: should two tasks' worlds differ, it lives in its own.
    replay = Replay([(task.question, task.steps) for task in (own, *others)])

    def functions() -> dict[str, Function]:
        tools = {card.name: _answering(replay, card) for card in cards}
        return tools | ({"Calculator": _calculator} if "Calculator" in tools else {})

    grader = keyword_grader(words) if words else None
    return Item(f"level-3/{number:02}", "level-3", own.question, LocalToolbox(cards, functions), grader)


def _calculator(formula: str) -> float:
    """The one tool that needs no record. As recorded, it gives a bare number, whatever its definition says."""
    return float(calculate(formula))


def _answering(replay: Replay, card: Card) -> Function:
    """Takes each parameter of the card by its name, and no other."""
    names = list(card.parameters["properties"])

    def function(**given: Any) -> Any:
        if set(given) != set(names):
            raise TypeError(f"it takes {', '.join(names)}, all of them and nothing else")
        return replay.answer(card.name, given)

    return function


def _card(definition: Json, recorded: Sequence[Step]) -> Card:
    """A card whose example is from another task: a task's own outputs are what it has to find out."""
    name = text_in(definition, "name")
    computed = [Step("Calculator", {"formula": "(1 + 2) * 3"}, _calculator("(1 + 2) * 3"))]
    example = next((step for step in (*computed, *recorded) if step.tool == name), None)
    gives = ", ".join(
        f"{key} ({value['type']}): {value['description']}" for key, value in definition["output_parameters"].items()
    )
    lines = [text_in(definition, "description"), f"Returns {gives}"]
    if example is not None:
        given, gave = (json.dumps(value, ensure_ascii=False)[:_LONGEST_EXAMPLE] for value in (example.given, example.gave))
        lines.append(f"Example: for {given} it returned {gave}")
    properties = {key: _schema(value) for key, value in definition["input_parameters"].items()}
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return Card(name, "\n".join(lines), parameters, effect="pure", source="apibank")


def _schema(parameter: Json) -> dict[str, Any]:
    kind, _, inner = parameter["type"].partition("(")
    schema: dict[str, Any] = {"type": _TYPES[kind], "description": parameter["description"]}
    if inner:
        schema["items"] = {"type": _TYPES[inner.rstrip(")")]}
    return schema
