"""A world that answers as it was recorded: for calls that were made there, and for no others.

A call matches a record of its tool when every argument says the same: texts in any case and spacing, numbers and dates in any
way of writing them, lists in any order. An argument that the recorded user had made up (the wording of a mail, the topic of a
meeting: neither in the question nor in an earlier output) may be anything, for nobody could guess it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treewright.bench.keywords import Step, as_number, leaves, mentions

_DATE = re.compile(r"(\d{4})[-./](\d{1,2})[-./](\d{1,2})(?:[ T](\d{1,2}):(\d\d)(?::(\d\d))?)?")


@dataclass(frozen=True, slots=True)
class _Record:
    given: Mapping[str, Any]
    made_up: frozenset[str]
    gave: Any


class Replay:
    """The recorded calls of several questions.

    Args:
        traces: questions with their calls. Where two records match a call, the first one answers.
    """

    def __init__(self, traces: Iterable[tuple[str, Sequence[Step]]]) -> None:
        self._records: dict[str, list[_Record]] = {}
        for question, steps in traces:
            for place, step in enumerate(steps):
                record = _Record(step.given, _made_up(question, steps[:place], step), step.gave)
                self._records.setdefault(step.tool, []).append(record)

    def answer(self, tool: str, given: Mapping[str, Any]) -> Any:
        """What the tool gave when it was called like this.

        Raises:
            ValueError: it never was.
        """
        for record in self._records.get(tool, ()):
            if all(key in record.made_up or _same(given.get(key), value) for key, value in record.given.items()):
                return record.gave
        raise ValueError("there is no record for these arguments: check them against the question and earlier outputs")


def _made_up(question: str, earlier: Sequence[Step], step: Step) -> frozenset[str]:
    known = {_plain(word) for before in earlier for word in leaves([dict(before.given), before.gave])}

    def invented(value: Any) -> bool:
        if not isinstance(value, str) or as_number(value) is not None or _DATE.fullmatch(value.strip()):
            return False
        return _plain(value) not in known and not mentions(question, value)

    return frozenset(key for key, value in step.given.items() if invented(value))


def _same(given: Any, recorded: Any) -> bool:
    if isinstance(given, list | tuple) and isinstance(recorded, list | tuple):
        return sorted(map(_plain, given)) == sorted(map(_plain, recorded))
    return _plain(given) == _plain(recorded)


def _plain(value: Any) -> str:
    """One form for all ways of writing the same."""
    number = as_number(value)
    if number is not None:
        return f"{number:.6g}"
    text = " ".join(str(value).casefold().split()).rstrip(".")
    date = _DATE.fullmatch(text)
    if date is not None:
        year, month, day, hour, minute, second = (int(part or 0) for part in date.groups())
        return f"{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
    return re.sub(r"\s+", "", text) if re.fullmatch(r"[\d\s()+*/.-]+", text) else text
