"""Votes over answers: texts made comparable, and the one that most say. Deterministic; no model is asked.

Tree-of-Code, section 3.4, leaves both the comparison and ties to a language model. Here the count is exact, and ties go to the
answer that was given first.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_MONEY = re.compile(r"^[$€£¥]\s?|\s?[$€£¥%]$|(?<=\d),(?=\d{3}(?:\D|$))")
_LEAD_IN = re.compile(r"^(?:the )?(?:final )?(?:answer|result|output)(?: is)?(?:\s*[:=]\s*|\s+)", re.IGNORECASE)
_MAX_PARSED = 20_000
_ROUNDS = 20


def normal_form(text: str) -> str:
    """A form in which answers that say the same are equal, as far as rules can tell.

    Case, spaces and outer quotes do not count, nor a lead-in ("The answer is ..."), a full stop, the order of a list, or how a
    number is written; numbers are rounded to two decimals.

    >>> normal_form("The answer is 1,234.50."), normal_form("1234.5")
    ('1234.5', '1234.5')
    >>> normal_form("['b', 'A']") == normal_form('["a", "b"]')
    True
    """
    for _ in range(_ROUNDS):  # a quoted number in a sentence takes two
        before, text = text, _simpler(text)
        if text == before:
            break
    return text


def _simpler(text: str) -> str:
    plain = _LEAD_IN.sub("", text.strip()).strip().rstrip(".").strip()
    try:
        return _canonical(_parsed(plain))
    except RecursionError:  # lists in lists without end
        return _words(plain)


def _parsed(text: str) -> object:
    """The value that the text writes down, or the text."""
    if len(text) > _MAX_PARSED:
        return text
    readers: tuple[Callable[[str], object], ...] = (_int, _float, json.loads, _literal)
    for read in readers:
        try:
            value = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        if not isinstance(value, complex | bytes):  # which no answer means: "1+2j" stays what it says
            return value
    return text


def _int(text: str) -> int:
    return int(_MONEY.sub("", text))


def _float(text: str) -> float:
    value = float(_MONEY.sub("", text))
    if math.isinf(value) and any(map(str.isdigit, text)):
        raise ValueError("too large to be compared as a number")
    return value


def _literal(text: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes in the text
        return ast.literal_eval(text)


def _canonical(value: object) -> str:
    match value:
        case None | bool():
            return str(value).lower()
        case int() | float():
            return _number(value)
        case list() | tuple() | set() | frozenset():
            return "[" + ", ".join(sorted(map(_canonical, value))) + "]"
        case dict():
            return "{" + ", ".join(sorted(f"{_canonical(key)}: {_canonical(item)}" for key, item in value.items())) + "}"
        case _:
            text = _words(str(value))
            inner = _parsed(text)
            return text if isinstance(inner, str) else _canonical(inner)


def _words(text: str) -> str:
    return " ".join(text.casefold().split()).strip("\"'`")


def _number(value: float) -> str:
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


@dataclass(frozen=True, slots=True)
class Vote:
    """How a vote went.

    Args:
        winner: place of the answer that won, the first among its like.
        votes: how many said the same.
        cast: how many were counted.
    """

    winner: int
    votes: int
    cast: int


def majority(answers: Sequence[str], *, rank: Callable[[int], object] | None = None, like: Sequence[int] | None = None) -> Vote:
    """The answer that most agree on.

    Args:
        answers: what was answered, one or more.
        rank: sort key of the answer at a place, for ties and for who speaks for a group: least first. Default: the place.
        like: group of each answer, when somebody has told which say the same; default: by `normal_form`.

    Raises:
        ValueError: there is no answer.
    """
    if not answers:
        raise ValueError("nobody has answered")
    groups: dict[object, list[int]] = {}
    for place, answer in enumerate(answers):
        groups.setdefault(like[place] if like is not None else normal_form(answer), []).append(place)
    key: Callable[[int], object] = rank or (lambda place: place)
    ordered = [sorted(group, key=key) for group in groups.values()]  # type: ignore[arg-type]  # keys of one caller compare
    best = min(ordered, key=lambda group: (-len(group), key(group[0])))
    return Vote(best[0], len(best), len(answers))
