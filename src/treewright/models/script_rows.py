"""The rows of a scripted model, and reading them from a JSON Lines file: errors say which line is wrong and why."""

from __future__ import annotations

import difflib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from treewright.core.errors import UserError

Fail = Literal["429", "500", "cut", "hang"]


@dataclass(frozen=True, slots=True)
class Row:
    """One scripted answer.

    Args:
        reply: the text to answer with; may be empty. None only with `fail`.
        when: regular expression that must be found in the last message; None matches all.
        latency_s: seconds until the answer or the failure, >= 0.
        fail: fail instead of answering.
        retry_after: seconds that a "429" asks the caller to wait.
    """

    reply: str | None = None
    when: str | None = None
    latency_s: float = 0.0
    fail: Fail | None = None
    retry_after: float | None = None


_FAILS: dict[str, Fail] = {"429": "429", "500": "500", "cut": "cut", "hang": "hang"}
_KEYS = ("when", "reply", "latency_s", "fail", "retry_after")


def read_rows(path: Path) -> list[Row]:
    """All rows of the file, in order; empty lines are skipped.

    Raises:
        UserError: if the file is missing, unreadable, not UTF-8 or has no row, or a line is not a row; names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"the script {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"the script {path} is not UTF-8 text, so it is no JSON Lines file") from error
    rows: list[Row] = []
    # subtle: not splitlines(), which also breaks at characters such as U+2028 that JSON allows inside a text.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                rows.append(_row(line))
            except ValueError as error:
                raise UserError(f"{path}, line {number}: {error}") from error
    if not rows:
        raise UserError(f'the script {path} has no rows; write one a line, such as {{"reply": "hello"}}')
    return rows


def _row(line: str) -> Row:
    try:
        fields: object = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg} at column {error.colno})") from error
    except RecursionError as error:
        raise ValueError("not a row: JSON nested too deeply") from error
    if not isinstance(fields, dict):
        raise ValueError('a row is an object such as {"reply": "hello"}')
    for key in fields:
        if key not in _KEYS:
            close = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"a row may have {', '.join(_KEYS)}"
            raise ValueError(f"unknown key {key!r}; {hint}")
    row = Row(
        reply=_text(fields, "reply"),
        when=_pattern(fields),
        latency_s=_seconds(fields, "latency_s") or 0.0,
        fail=_fail(fields),
        retry_after=_seconds(fields, "retry_after"),
    )
    if row.reply is None and row.fail is None:
        raise ValueError('a row needs a "reply" or a "fail"')
    return row


def _text(fields: dict[str, object], key: str) -> str | None:
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key!r} must be a text")
    return value


def _pattern(fields: dict[str, object]) -> str | None:
    when = _text(fields, "when")
    if when is not None:
        try:
            re.compile(when)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"'when' is no regular expression ({error})") from error
    return when


def _seconds(fields: dict[str, object], key: str) -> float | None:
    value = fields.get(key)
    if value is None:
        return None
    # subtle: in Python True is a number.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{key!r} must be a number of seconds, 0 or more")
    return float(value)


def _fail(fields: dict[str, object]) -> Fail | None:
    value = fields.get("fail")
    if value is None:
        return None
    fail = _FAILS.get(str(value))
    if fail is None:
        raise ValueError(f"'fail' is {value!r}; it may be {', '.join(_FAILS)}")
    return fail
