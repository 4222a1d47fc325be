"""Reading options that are more than one word: budgets, run ids."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from treewright.core.budget import Limits
from treewright.core.errors import UserError

if TYPE_CHECKING:
    from treewright.journal.base import Journal

_NAMES = {
    "executions": "executions",
    "calls": "calls",
    "tool_calls": "tool_calls",
    "tokens": "tokens",
    "usd": "dollars",
    "dollars": "dollars",
    "seconds": "seconds",
}
_WHOLE = frozenset({"executions", "calls", "tool_calls", "tokens"})


def read_budget(words: Iterable[str], *, default: Limits) -> Limits:
    """Limits from what stands behind `--budget`: "20", "tokens=50000", "20,usd=0.50,seconds=60"; any number of them.

    Args:
        words: the values of the option.
        default: limits that hold where the words say nothing.

    Raises:
        UserError: not a number, not above 0, or an unknown name.

    >>> read_budget(["30,usd=0.5"], default=Limits(executions=20))
    Limits(executions=30, calls=None, tool_calls=None, tokens=None, dollars=0.5, seconds=None)
    """
    limits = default
    for part in (part.strip() for word in words for part in word.split(",")):
        if not part:
            continue
        name, equals, number = part.partition("=")
        if not equals:
            name, number = "executions", part
        key = _NAMES.get(name.strip().lower())
        if key is None:
            close = difflib.get_close_matches(name, _NAMES, n=1)
            hint = f", did you mean {close[0]!r}?" if close else ";"
            raise UserError(f"unknown budget {name!r}{hint} known are {', '.join(_NAMES)}")
        changed: dict[str, Any] = {key: _number(key, name, number.strip())}
        limits = replace(limits, **changed)
    return limits


def _number(key: str, name: str, text: str) -> float:
    try:
        value = float(text.replace("_", ""))
    except ValueError:
        raise UserError(f"the budget of {name} is {text!r}: give a number, as in --budget {name}=100") from None
    if not 0 < value < float("inf"):
        raise UserError(f"a budget of {text} {name} allows nothing to run: give a number above 0")
    if key in _WHOLE and value != int(value):
        raise UserError(f"a budget of {text} {name} is not a whole number")
    return int(value) if key in _WHOLE else value


def find_run(journal: Journal, word: str) -> str:
    """The id of the run that `word` means: a whole id, the beginning of just one, or "last" for the newest.

    Raises:
        UserError: no run, or more than one.
    """
    ids = [line.run for line in journal.runs()]
    if word == "last" and ids:
        return ids[0]
    if word in ids:
        return word
    found = [run for run in ids if word and run.startswith(word)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"{len(found)} runs begin with {word!r}, such as {found[0]} and {found[1]}: give more of the id")
    raise UserError(f"no run {word!r} in this journal: `treewright runs` lists them")
