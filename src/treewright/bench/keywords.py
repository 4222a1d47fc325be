"""What an answer has to mention: keywords from a recorded trace of calls and the recorded reply.

Tree-of-Code (section 4.1) takes an answer of API-Bank level 3 for right when "expected keywords" appear in it, and does not
list them. Ours are the news of the trace that the recorded reply mentions:

1. The last call is looked at first: the values of its output that the reply mentions. What the question says, and what an
   earlier call gave or took, is no news. Calls of the same tool right before it count with it.
2. Where there are none (a call that only did something), the values that it was given and that an earlier call had found.
3. Where there are none, the same for the call before, and so on.
4. Where the reply mentions nothing of the trace, the news of the last call that has any.

"success" and "failed" are never keywords. A keyword appears in a text as a whole word, in any case; a number in any way of
writing it, a share also in percent; a time also without its date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

_STATUS = frozenset({"success", "failed", "true", "false", "none", ""})
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?![\w.]*\d)(?P<percent>\s*%|\s+percent)?")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d (\d\d):(\d\d):\d\d")


@dataclass(frozen=True, slots=True)
class Step:
    """A recorded call.

    Args:
        tool: its name.
        given: its arguments.
        gave: its output, plain JSON.
    """

    tool: str
    given: Mapping[str, Any]
    gave: Any


def keywords(question: str, steps: Sequence[Step], reply: str) -> tuple[str, ...]:
    """The keywords of a task; empty when the trace says nothing new."""

    def mentioned(word: str) -> bool:
        return mentions(reply, word)

    return _news(question, steps, mentioned) or _news(question, steps, lambda _: True)


def mentions(text: str, word: str) -> bool:
    """Whether `word` appears in `text`."""
    number = as_number(word)
    if number is not None:
        return any(abs(said - number) < 1e-9 for said in _numbers(text))
    moment = _MOMENT.fullmatch(word)
    if moment is not None:
        hour, minute = int(moment[1]), moment[2]
        half = f"{(hour - 1) % 12 + 1}:{minute} {'AM' if hour < 12 else 'PM'}"
        return any(_has(text, form) for form in (word, f"{hour:02}:{minute}", half, half.replace(" ", "")))
    return _has(text, word)


def as_number(value: Any) -> float | None:
    """The number that a value is or writes down; None when it is none. True is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def leaves(value: Any) -> Iterable[str]:
    """All texts and numbers in plain JSON, as texts."""
    match value:
        case dict():
            for item in value.values():
                yield from leaves(item)
        case list() | tuple():
            for item in value:
                yield from leaves(item)
        case _:
            yield str(value)


def _news(question: str, steps: Sequence[Step], wanted: Callable[[str], bool]) -> tuple[str, ...]:
    runs = [list(run) for _, run in groupby(steps, key=lambda step: step.tool)]
    for place in range(len(runs) - 1, -1, -1):
        before = [word for run in runs[:place] for step in run for word in leaves([dict(step.given), step.gave])]
        found = [w for step in runs[place] for w in leaves(step.gave) if not _among(w, leaves(dict(step.given)))]
        earlier = [word for run in runs[:place] for step in run for word in leaves(step.gave)]
        taken = [word for step in runs[place] for word in leaves(dict(step.given)) if _among(word, earlier)]
        for words in ([word for word in found if not _among(word, before)], taken):
            kept = [w for w in words if w.casefold() not in _STATUS and not mentions(question, w) and wanted(w)]
            if kept:
                return tuple(dict.fromkeys(kept))
    return ()


def _among(word: str, words: Iterable[str]) -> bool:
    number = as_number(word)
    return any(other == word if number is None else as_number(other) == number for other in words)


def _numbers(text: str) -> Iterable[float]:
    for found in _NUMBER.finditer(text):
        number = float(found[0].removesuffix(found["percent"] or "").replace(",", ""))
        yield number
        if found["percent"]:
            yield number / 100


def _has(text: str, word: str) -> bool:
    pattern = r"\s+".join(map(re.escape, word.split()))
    return re.search(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE) is not None
