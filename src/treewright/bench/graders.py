"""Graders: whether the one answer that a method gave is the expected one. What is expected stays in `bench`.

M3ToolEval is graded twice. `says` takes a number for right within 0.005, for five of the tasks ask for two decimals and expect
more; `original` is the rule of the benchmark's own harness, its oddities included. The harness asks again when an answer is
wrong; here each method gives one. API-Bank is graded by keywords, as Tree-of-Code does (section 4.1): see `keywords`.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TOLERANCE = 0.005
_LONGEST = 20_000
_LEAD_IN = re.compile(r"^(?:the )?(?:final )?(?:answer|result|output)(?: is)?\s*[:=]?\s+", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Grade:
    """Whether an answer is right.

    Args:
        correct: by the rule with a tolerance, or by keywords.
        original: by the rule of the benchmark's own harness; None where it has none for one answer.
    """

    correct: bool
    original: bool | None = None


Grader = Callable[[str], Grade]


def graded_m3(answer: str, expected: Any) -> Grade:
    """The grade of an answer to a task of M3ToolEval."""
    return Grade(says(answer, expected), any(original(form, expected) for form in _python_forms(answer)))


def says(answer: str, expected: Any) -> bool:
    """Whether the answer says what is expected.

    Numbers may differ by `TOLERANCE`, and may be written with separators, a currency or a unit, or be the only number of a
    sentence. Lists are compared one by one, in order. A text is compared without outer quotes, a lead-in ("The answer is"), a
    full stop, and with spaces for any white space; upper and lower case do count, for decoded messages depend on it.
    """
    if len(answer) > _LONGEST:
        return False
    text = _LEAD_IN.sub("", answer.strip()).strip()
    return any(_equal(value, expected) for value in _readings(text))


def original(answer: str, expected: Any) -> bool:
    """The rule of the benchmark's harness, for an answer as text.

    Equal after both became numbers if they can, else equal as Python writes them. subtle: the harness makes an `int` of the
    expected float, so 161 passes for 161.25; and what should compare lists one by one is never reached.
    """
    if not isinstance(expected, list | tuple | dict) and (answer == expected or _whole(answer) == _whole(expected)):
        return True
    if str(expected) == answer:
        return True
    if isinstance(expected, list | tuple | dict):
        return False
    try:
        return str(ast.literal_eval(answer)) == str(expected)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def _whole(value: Any) -> Any:
    for convert in (int, float):
        try:
            return convert(value)
        except (ValueError, OverflowError):
            continue
    return value


def _python_forms(answer: str) -> list[str]:
    """The answer, and what Python would have printed where a program gave no text or number: our record is JSON."""
    try:
        value = json.loads(answer) if len(answer) <= _LONGEST else None
    except (ValueError, RecursionError):
        value = None
    match value:
        case list():
            return [answer, str(value), str(tuple(value))]
        case dict() | bool():
            return [answer, str(value)]
        case _:
            return [answer]


def _readings(text: str) -> list[Any]:
    """What the text can be read as: itself, a value, a list without its brackets, the only number in it."""
    found: list[Any] = [text]
    for written in (text.rstrip("."), f"[{text.rstrip('.')}]"):
        for read in (json.loads, ast.literal_eval):
            try:
                found.append(read(written))
            except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                continue
    numbers = _NUMBER.findall(text)
    if len(numbers) == 1:
        found.append(float(numbers[0].replace(",", "")))
    return found


def _equal(value: Any, expected: Any) -> bool:
    match expected:
        case bool():
            return value is expected or (isinstance(value, str) and _plain(value).casefold() == str(expected).casefold())
        case int() | float():
            return _near(value, expected)
        case list() | tuple():
            same = isinstance(value, list | tuple) and len(value) == len(expected)
            return same and all(map(_equal, value, expected))
        case dict():
            same = isinstance(value, dict) and {str(key) for key in value} == {str(key) for key in expected}
            return same and all(_equal({str(k): v for k, v in value.items()}[str(key)], expected[key]) for key in expected)
        case _:
            return isinstance(value, str | int | float) and _plain(str(value)) == _plain(str(expected))


def _near(value: Any, expected: float) -> bool:
    if isinstance(value, str):
        try:
            value = float(value.strip().strip("$€£ ").replace(",", ""))
        except ValueError:
            return False
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        # subtle: a difference of 0.005 is allowed, and 1.005 - 1 is a little less or more than that.
        return math.isfinite(value) and abs(value - expected) <= TOLERANCE + 1e-9
    except OverflowError:
        return False


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".").strip().strip("\"'`").strip().rstrip(".")
