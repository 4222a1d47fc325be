"""Names of tools and their parameters, made into Python identifiers that do no harm among a program's globals."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable

#: What a program finds among its globals besides the tools.
RESERVED = frozenset({"final_answer", "ToolError"})
_LONGEST = 64
_BUILTINS = frozenset(dir(builtins))


def parameter_names(wires: Iterable[str]) -> tuple[str, ...]:
    """An identifier for each property name, all of them different, in the same order.

    A name that is an identifier already stays; "class" becomes class_, "user-id" user_id, or user_id_2 beside a user_id.
    """
    wanted = list(wires)
    fine = {wire for wire in wanted if _as_identifier(wire, "arg") == wire}
    taken = set(fine)
    return tuple(wire if wire in fine else _claimed(_as_identifier(wire, "arg"), taken) for wire in wanted)


def tool_name(wanted: str, taken: Collection[str] = ()) -> str:
    """An identifier for a tool that is not in `taken`, shadows no builtin and is no name that Python itself gives a meaning.

    "get-user" becomes get_user, "print" print_, "__init__" init.
    """
    name = _as_identifier(wanted.strip("_"), "tool")
    if name in _BUILTINS or name in RESERVED:
        name += "_"
    return _claimed(name, set(taken))


def _as_identifier(text: str, otherwise: str) -> str:
    # subtle: Python reads identifiers in NFKC, so two names that differ before it would be one.
    name = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", text))[:_LONGEST]
    if not name.strip("_"):
        return otherwise
    if not name.isidentifier():  # a digit in front, or a sign that may only follow
        name = f"_{name}" if f"_{name}".isidentifier() else re.sub(r"[^A-Za-z0-9_]", "_", f"_{name}")
    return f"{name}_" if keyword.iskeyword(name) else name


def _claimed(name: str, taken: set[str]) -> str:
    """`name`, or the first of name_2, name_3, ... that is not taken; taken from now on."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free)
    return free
