"""Exercises: questions with tools, and the answers that are expected, for scoring prompts. Never the tasks of a test set.

A JSON Lines file has one a line, a TOML file has [[tasks]], both with the same keys:

    {"query": "...", "tools": ["tools.py"], "answer": "42", "name": "..."}

`tools` may stand once at the top of a TOML file. Files of tools are looked for beside the file that names them.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from treewright.answering import plain_task
from treewright.core.errors import UserError
from treewright.core.task import ToolTask

_KEYS = ("query", "tools", "answer", "name")
_FORM = 'a task is an object such as {"query": "...", "tools": ["tools.py"], "answer": "..."}'


@dataclass(frozen=True, slots=True)
class Exercise:
    """A question, and what is right.

    Args:
        task: the question and its tools.
        answer: the right answer, compared in its normal form; None when it is not known: then a run to its end is right.
    """

    task: ToolTask
    answer: str | None = None

    @property
    def digest(self) -> str:
        """Of question, tools and answer: 12 hexadecimal digits."""
        plain = plain_task(self.task)
        told = json.dumps([plain.query, [str(tool) for tool in plain.tools], self.answer])
        return blake2b(told.encode(), digest_size=6).hexdigest()


def load_exercises(path: Path, *, tools: Sequence[str] = ()) -> tuple[Exercise, ...]:
    """The exercises of a file.

    Args:
        path: a TOML or JSON Lines file.
        tools: for those that name none, as on the command line.

    Raises:
        UserError: it cannot be read, or holds something else; the message says where.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the tasks {path} cannot be read as text: {getattr(error, 'strerror', None) or error}") from error
    rows = _toml(path, text) if path.suffix.lower() == ".toml" else _json_lines(path, text)
    exercises = tuple(_exercise(row, where, path.parent, tools) for where, row in rows)
    if not exercises:
        raise UserError(f"there is no task in {path}: {_FORM}")
    return exercises


def _toml(path: Path, text: str) -> list[tuple[str, Any]]:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is no TOML: {error}") from error
    rows = table.get("tasks", [])
    if not isinstance(rows, list) or table.keys() - {"tasks", "tools"}:
        raise UserError(f"{path} must hold [[tasks]], and may hold tools, and nothing else")
    common = {"tools": table["tools"]} if "tools" in table else {}
    return [(f"{path}, task {n}", common | row if isinstance(row, dict) else row) for n, row in enumerate(rows, 1)]


def _json_lines(path: Path, text: str) -> list[tuple[str, Any]]:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append((f"{path}, line {number}", json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}, line {number} is no JSON: {error}") from error
    return rows


def _exercise(row: object, where: str, folder: Path, tools: Sequence[str]) -> Exercise:
    if not isinstance(row, dict):
        raise UserError(f"{where}: {_FORM}")
    for key in row:
        if key not in _KEYS:
            close = difflib.get_close_matches(str(key), _KEYS, n=1)
            raise UserError(f"{where}: unknown key {key!r}; {f'did you mean {close[0]!r}?' if close else _FORM}")
    query, own, name, answer = (row.get(key) for key in ("query", "tools", "name", "answer"))
    if not isinstance(query, str) or not query.strip():
        raise UserError(f"{where} has no query: say in words what to find out")
    if name is not None and not isinstance(name, str):
        raise UserError(f"{where}: the name must be a text")
    if own is not None and not (isinstance(own, list) and all(isinstance(source, str) for source in own)):
        raise UserError(f'{where}: the tools must be a list of sources, such as ["tools.py"]')
    sources = [_beside(folder, source) for source in own] if own is not None else list(tools)
    if not sources:
        raise UserError(f"{where} has no tools: name a source in it, or with --tools SOURCE")
    shown = name or " ".join(query.split())[:40]
    return Exercise(ToolTask(query, sources, shown), None if answer is None else _text(answer))


def _text(answer: object) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)


def _beside(folder: Path, source: str) -> str:
    """The source with its file looked for in `folder`; a command or an address stays as it is."""
    kind, colon, rest = source.partition(":")
    if kind == "openapi" and "://" not in rest:
        return f"{kind}{colon}{folder / rest}"
    return source if kind.startswith(("mcp", "openapi")) or "://" in source else str(folder / source)
