"""What a program in the sandbox can call (`bridge`): functions it finds among its globals, carried out on this side."""

from __future__ import annotations

import keyword
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function.

    Args:
        name: a Python identifier.
        wire: its name in a call, which may be any text.
        required: it has to be given.
        default: one value, plain JSON, in a tuple; empty when none is known, and the argument is then left out of the call.
        annotation: its type in words of Python, for people and models.
    """

    name: str
    wire: str
    required: bool = True
    default: tuple[Any, ...] = ()
    annotation: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the program finds among its globals.

    Args:
        name: a Python identifier.
        parameters: required ones first.
        doc: its docstring.

    Raises:
        ValueError: a name is no identifier, two parameters have the same, or a required one follows one that is not.
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    doc: str = ""

    def __post_init__(self) -> None:
        for name in (self.name, *(parameter.name for parameter in self.parameters)):
            if not name.isidentifier() or keyword.iskeyword(name):
                raise ValueError(f"{name!r} is no name of a Python function or parameter")
        names = [parameter.name for parameter in self.parameters]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{self.name}: two parameters are called {name}")
        required = [parameter.required for parameter in self.parameters]
        if required != sorted(required, reverse=True):
            raise ValueError(f"{self.name}: required parameters come first")


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call gave: plain JSON."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that failed; the program sees a `ToolError` with this message."""

    message: str


#: Calls a tool on behalf of the program: (name of the function, {wire name: value}) -> what it gave.
Call = Callable[[str, dict[str, Any]], Awaitable[Returned | Failed]]
