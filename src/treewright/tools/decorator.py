"""The `tool` decorator: what a function cannot say by its hints and docstring. It changes nothing about the function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, overload

from treewright.core.errors import UserError
from treewright.tools.base import Effect

T = TypeVar("T", bound=Callable[..., Any])

_ATTRIBUTE = "__treewright_tool__"


@dataclass(frozen=True, slots=True)
class Settings:
    """What `tool` was told.

    Args:
        effect: what a call does to the world; None where nothing was said.
        undo: takes a call back; in a class also the name of a method.
        name: of the tool, if it is not the function's own.
        timeout_s: seconds a call may take, if not the usual.
    """

    effect: Effect | None = None
    undo: Callable[..., Any] | str | None = None
    name: str = ""
    timeout_s: float | None = None


@overload
def tool(function: T, /) -> T: ...
@overload
def tool(
    *,
    effect: Effect | None = None,
    undo: Callable[..., Any] | str | None = None,
    name: str = "",
    timeout_s: float | None = None,
) -> Callable[[T], T]: ...
def tool(
    function: T | None = None,
    /,
    *,
    effect: Effect | None = None,
    undo: Callable[..., Any] | str | None = None,
    name: str = "",
    timeout_s: float | None = None,
) -> T | Callable[[T], T]:
    """Make a function, or every public method of a class, a tool. It can be called as before.

    Tools of a class keep a state: each program works with an instance of its own.

    Args:
        function: what is decorated, when there are no settings.
        effect: "pure" (changes nothing; results are shared), "idempotent" (a second call adds nothing to the first: the
            default) or "commit" (not taken back: at most once, after the search). Of a class: of methods that say nothing.
        undo: for a commit tool, a function that takes a call back. It gets the same arguments, and what the call returned as
            `result` if it has a parameter of that name. Then programs call the tool for real, and all is undone after each.
        name: of the tool; the function's own when left out.
        timeout_s: seconds a call may take, instead of the usual.

    Raises:
        UserError: there is no such effect, `undo` is given for another effect than "commit", or the time is not above 0.
    """
    if effect is not None and effect not in get_args(Effect):
        raise UserError(f"effect={effect!r}: a tool is one of {', '.join(get_args(Effect))}")
    if undo is not None and effect != "commit":
        raise UserError('undo is for tools that are not taken back otherwise: give effect="commit" as well, or leave undo out')
    if timeout_s is not None and not timeout_s > 0:
        raise UserError(f"timeout_s is {timeout_s}: give a number of seconds above 0")
    settings = Settings(effect, undo, name, timeout_s)

    def decorate(decorated: T) -> T:
        setattr(decorated, _ATTRIBUTE, settings)
        return decorated

    return decorate if function is None else decorate(function)


def settings_of(function: object) -> Settings | None:
    """What `tool` was told about a function or class itself; None when it is not decorated. A subclass does not inherit it."""
    found = vars(function).get(_ATTRIBUTE) if isinstance(function, type) else getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, Settings) else None
