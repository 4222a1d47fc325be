"""The record of a benchmark run: a JSON Lines file that is written before and after each item, so that it can go on.

    {"bench": {...}}                         first line: what is measured; a file can be taken up with the same only
    {"begin": name, "seed": 0}               an item is about to be solved
    {"name": name, "seed": 0, ...}           what came of it, one `Row`

A line that was cut off in the middle is no line: its item is solved again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from treewright.bench.items import Outcome
from treewright.core.errors import UserError


@dataclass(frozen=True, slots=True)
class Row:
    """One item solved with one seed, and its grade.

    Args:
        name: of the item.
        domain: of the item.
        seed: that it was solved with.
        correct: see `Grade`; None when the item is graded elsewhere.
        original: see `Grade`.
        outcome: what the method made of it.
    """

    name: str
    domain: str
    seed: int
    correct: bool | None
    original: bool | None
    outcome: Outcome


class Record:
    """A file of rows, or none; a context.

    Args:
        path: the file; None to keep rows in memory only.
        settings: what is measured: benchmark, strategy, model and so on.

    Raises:
        UserError: at entry, when the file cannot be written, is no record, or is one of something else.
    """

    def __init__(self, path: Path | None, settings: Mapping[str, Any]) -> None:
        self._path = path
        self._settings = dict(settings)
        self._file: IO[str] | None = None
        self.rows: list[Row] = []

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                known = self._path.read_bytes() if self._path.exists() else b""
                kept = known[: known.rfind(b"\n") + 1]
                self._read(kept)
                self._file = self._path.open("a", encoding="utf-8")
                os.truncate(self._path, len(kept))
            except OSError as error:
                raise UserError(
                    f"{self._path} cannot be written ({error.strerror}): name a file in a folder that is there"
                ) from error
            if not kept:
                self._write({"bench": self._settings})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def done(self) -> frozenset[tuple[str, int]]:
        """Names and seeds of the items that are solved."""
        return frozenset((row.name, row.seed) for row in self.rows)

    def begin(self, name: str, seed: int) -> None:
        """Note that an item is about to be solved."""
        self._write({"begin": name, "seed": seed})

    def add(self, row: Row) -> None:
        """Keep what came of an item."""
        self.rows.append(row)
        told = asdict(row)
        self._write(told | told.pop("outcome"))

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._file is not None:
            print(json.dumps(line, ensure_ascii=True), file=self._file, flush=True)

    def _read(self, data: bytes) -> None:
        try:
            lines = [json.loads(line) for line in data.decode().splitlines()]
            known = lines[0]["bench"] if lines else self._settings
            self.rows = [_row(line) for line in lines[1:] if "begin" not in line]
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{self._path} is no record of a benchmark: name another file") from error
        differs = [key for key in self._settings if known.get(key) != self._settings[key]]
        if differs:
            key = differs[0]
            raise UserError(f"{self._path} has {key} {known.get(key)!r}, not {self._settings[key]!r}: name another file")


def _row(line: Mapping[str, Any]) -> Row:
    outcome = Outcome(**{field.name: line[field.name] for field in fields(Outcome)})
    return Row(line["name"], line["domain"], line["seed"], line["correct"], line["original"], outcome)
