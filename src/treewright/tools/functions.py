"""Tools from Python functions and classes.

A function's hints and docstring make its card. Functions that block run in threads, asynchronous ones in the event loop. The
public methods of a class are tools with a state: each session makes its own instance at their first call, with no arguments;
an instance that is given is copied instead. An instance that is a context manager is entered, and left when the session ends.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self

from treewright.core.errors import UserError
from treewright.tools.base import Card, Effect, Session
from treewright.tools.decorator import Settings, settings_of, tool
from treewright.tools.function_session import FunctionSession
from treewright.tools.function_tool import FunctionTool, function_tool
from treewright.tools.handling import Handling
from treewright.tools.names import tool_name
from treewright.tools.threads import Threads

__all__ = ["FunctionToolbox", "from_functions", "tool"]


def from_functions(functions: Iterable[object], source: str = "tools.py") -> FunctionToolbox:
    """Tools from functions, classes and instances.

    Args:
        functions: decorated with `tool` or not. Of two with one name the second gets a number (`search_2`).
        source: what the cards say about where they come from.

    Raises:
        UserError: something else is among them, a parameter has no type hint, a hint has no form in JSON, or an instance
            cannot be copied.
    """
    tools: dict[str, FunctionTool] = {}
    for item in functions:
        for wanted, make in _found(item, source):
            name = tool_name(wanted, tools)
            tools[name] = make(name)
    return FunctionToolbox(tools)


class FunctionToolbox:
    """A `Toolbox` of functions. Leaving its context ends its threads; one in which a function hangs is left behind.

    Args:
        tools: by name.
    """

    def __init__(self, tools: Mapping[str, FunctionTool]) -> None:
        self._tools = dict(tools)
        self._threads = Threads()

    @property
    def cards(self) -> tuple[Card, ...]:
        """In the order in which the functions were given."""
        return tuple(tool.card for tool in self._tools.values())

    @property
    def handling(self) -> Mapping[str, Handling]:
        """What `tool` was told about undoing and time."""
        return {name: Handling(one.settings.undo is not None, one.settings.timeout_s) for name, one in self._tools.items()}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._threads.close()

    def session(self, node: str = "") -> AbstractAsyncContextManager[Session]:
        """A session, in which each class has an instance of its own."""
        return self._session()

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[Session]:
        async with FunctionSession(self._tools, self._threads) as session:
            yield session


def _found(item: object, source: str) -> Iterator[tuple[str, Callable[[str], FunctionTool]]]:
    """The tools in one thing that was given: wanted name, and what makes the tool under its final name."""
    if inspect.isroutine(item):
        settings = settings_of(item) or Settings()
        yield settings.name or item.__name__, partial(_make, item, source, settings)
    elif isinstance(item, type):
        yield from _methods(_uninitialised(item, source), item, source, settings_of(item))
    elif callable(item) or isinstance(item, str | bytes | int | float | list | dict | tuple | None):
        raise UserError(f"{source}: {item!r:.80} is no function, class or instance: give a function with type hints")
    else:
        yield from _methods(item, _copier(item, source), source, settings_of(type(item)))


def _methods(
    instance: object, owner: Callable[[], Any], source: str, of_class: Settings | None
) -> Iterator[tuple[str, Callable[[str], FunctionTool]]]:
    """Public methods, inherited ones first, each in the order of its class."""
    names = dict.fromkeys(name for kind in reversed(type(instance).__mro__[:-1]) for name in vars(kind))
    for name in names:
        if name.startswith("_") or not inspect.isroutine(inspect.getattr_static(type(instance), name)):
            continue
        method = getattr(instance, name)
        settings = settings_of(method) or Settings()
        effect = of_class.effect if of_class is not None else None
        _check_undo(instance, settings.undo, source)
        yield settings.name or name, partial(_make, method, source, settings, effect=effect, owner=owner)


def _make(
    function: Callable[..., Any],
    source: str,
    settings: Settings,
    name: str,
    *,
    effect: Effect | None = None,
    owner: Callable[[], Any] | None = None,
) -> FunctionTool:
    return function_tool(function, name, source, settings, effect=effect, owner=owner)


def _check_undo(instance: object, undo: object, source: str) -> None:
    if isinstance(undo, str) and not callable(getattr(instance, undo, None)):
        raise UserError(f"{source}: {type(instance).__name__} has no method {undo!r}, which is named as an undo")


def _uninitialised(kind: type, source: str) -> object:
    """An instance that only its methods' signatures are read from."""
    try:
        return object.__new__(kind)
    except TypeError as error:
        raise UserError(f"{source}: {kind.__name__} cannot be read as tools ({error}): give a plain class") from error


def _copier(instance: object, source: str) -> Callable[[], object]:
    """Makes copies of an instance, each independent of the others."""
    kind = type(instance).__name__
    try:
        original = copy.deepcopy(instance)  # the caller goes on with the instance; ours stays as it is now
    except Exception as error:
        raise UserError(
            f"{source}: the {kind} that was given cannot be copied ({type(error).__name__}), so no program could have its own: "
            f"give the class {kind} itself"
        ) from error
    return partial(copy.deepcopy, original)
