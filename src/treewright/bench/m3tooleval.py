"""M3ToolEval (Wang et al., ICML 2024): 82 questions over five sets of six tools.

A folder holds `m3tooleval/m3tooleval_82.json` and `m3tooleval/web_pages.jsonl`. Tasks marked `graded_elsewhere` have no
expected answer there: they are run and left ungraded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treewright.bench.graders import Grade, graded_m3
from treewright.bench.items import Item
from treewright.bench.m3tooleval_tools import toolbox_of
from treewright.bench.reading import Json, read_bytes, read_json, text_in
from treewright.core.errors import UserError

TASKS = Path("m3tooleval/m3tooleval_82.json")
PAGES = Path("m3tooleval/web_pages.jsonl")


@dataclass(frozen=True, slots=True)
class Call:
    """A recorded call that leads to the expected answer.

    Args:
        tool: its published name.
        arguments: in the order of its signature.
        result: plain JSON.
    """

    tool: str
    arguments: Sequence[Any]
    result: Any


@dataclass(frozen=True, slots=True)
class Gold:
    """What only a grader, or the scripted reference, may know of a task."""

    expected: Any
    calls: Sequence[Call]


@dataclass(frozen=True, slots=True)
class M3ToolEval:
    """The benchmark.

    Args:
        items: in the order of the file.
        gold: by the name of the item, of those that can be graded here.
    """

    items: tuple[Item, ...]
    gold: Mapping[str, Gold]


def load_m3tooleval(data: Path) -> M3ToolEval:
    """Read the benchmark from a folder of data.

    Raises:
        UserError: a file is missing or is not of the form above.
    """
    path = data / TASKS
    whole = read_json(path)
    pages = _pages(data / PAGES)
    try:
        boxes = {
            domain: toolbox_of(domain, tools, whole.get("tables", {}), pages) for domain, tools in whole["toolsets"].items()
        }
        gold = {text_in(row, "task_id"): _gold(row) for row in whole["tasks"] if not row.get("graded_elsewhere")}
        items = tuple(
            Item(name := text_in(row, "task_id"), domain := text_in(row, "domain"), text_in(row, "instruction").strip(),
                 boxes[domain], _grader(gold[name].expected) if name in gold else None)
            for row in whole["tasks"]
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError, SyntaxError, ValueError) as error:
        raise UserError(f"{path} is not M3ToolEval as it is published: {error!r}") from error
    return M3ToolEval(items, gold)


def _grader(expected: Any) -> Callable[[str], Grade]:
    return lambda answer: graded_m3(answer, expected)


def _gold(row: Json) -> Gold:
    expected = row["expected_output"]
    if row.get("expected_type") == "tuple":
        expected = tuple(expected)
    return Gold(expected, tuple(Call(call["tool"], call["args"], call["result"]) for call in row["reference_calls"]))


def _pages(path: Path) -> dict[str, str]:
    try:
        rows = [json.loads(line) for line in read_bytes(path).decode().splitlines() if line.strip()]
        return {text_in(row, "name"): text_in(row, "content") for row in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is not lines of JSON with name and content: {error}") from error
