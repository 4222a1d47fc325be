"""What the guest in a candidate's process answers, read by the host. The sender is untrusted: any other shape is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

from treewright.sandbox.judging.values import Malformed, decode

_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Loaded:
    """The program is loaded.

    Args:
        kinds: for each name that was asked for: the name, what it is ("function", "class", "exception", "value", "missing"),
            and for an exception the names of its base classes, with commas.
        defined: names that the program defines.
    """

    kinds: tuple[tuple[str, str, str], ...]
    defined: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """What a request gave."""

    value: object


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception it raised: its class and bases, its message, and the frames in the program's file."""

    kinds: tuple[str, ...]
    message: str
    trace: str

    def __str__(self) -> str:
        head = f"{self.kinds[0]}: {self.message}" if self.message else self.kinds[0]
        return f"{head}\n{self.trace}" if self.trace else head


@dataclass(frozen=True, slots=True)
class Unsent:
    """It gave a value that is too large or too deep to be sent."""

    why: str


Reply = Loaded | Value | Raised | Unsent


def read_reply(text: str) -> Reply:
    """The reply in a frame of the guest.

    Raises:
        Malformed: no guest of ours has written it.
    """
    match decode(text):
        case ["value", value]:
            return Value(value)
        case ["raised", [str(), *_] as kinds, list(), str(message), str(trace)]:
            return Raised(tuple(clean(str(kind)) for kind in kinds), clean(message), clean(trace))
        case ["unsendable", str(why)]:
            return Unsent(clean(why))
        case ["loaded", list(kinds), list(defined)] if all(isinstance(row, list) and len(row) == 3 for row in kinds):
            rows = tuple((str(name), str(kind), str(base)) for name, kind, base in kinds)
            return Loaded(rows, tuple(clean(str(name)) for name in defined))
    raise Malformed("not a reply")


def clean(text: str) -> str:
    """`text` of a program, fit for reports and terminals: control characters and lone surrogates are shown by their codes."""
    return _UNFIT.sub(lambda found: ascii(found[0])[1:-1], text)
