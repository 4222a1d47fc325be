"""A session of Python functions: calls them in threads or in the event loop, each class on one instance of its own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from difflib import get_close_matches
from functools import partial
from types import TracebackType
from typing import Any, Self

from treewright.tools.base import Result
from treewright.tools.function_tool import Bound, FunctionTool, as_result, attempted, raised
from treewright.tools.threads import Threads

#: Seconds that leaving an instance may take when the session ends.
_LEAVING_S = 10.0

_Chosen = Callable[[object], Callable[..., Any]]


class FunctionSession:
    """A `Session` of functions; a context.

    Args:
        tools: by name.
        threads: where functions that block run.
    """

    def __init__(self, tools: Mapping[str, FunctionTool], threads: Threads) -> None:
        self._tools = tools
        self._threads = threads
        self._instances: dict[Callable[[], object], _Instance] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        for instance in reversed(self._instances.values()):
            await instance.leave()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """Call a function."""
        tool = self._tools.get(name)
        if tool is None:
            near = get_close_matches(name, self._tools, 1)
            return Result(failure="invalid", message=f"there is no tool {name!r}" + (f": {near[0]}?" if near else ""))
        bound = tool.bind(arguments)
        return bound if isinstance(bound, Result) else await self._in_time(tool, tool.on, bound)

    async def undo(self, name: str, arguments: Mapping[str, Any], value: Any) -> Result:
        """Take a call back with the function that was given for it."""
        tool = self._tools.get(name)
        if tool is None or tool.settings.undo is None:
            return Result(failure="unavailable", message=f"{name} cannot be undone")
        bound = tool.bind(arguments)
        return bound if isinstance(bound, Result) else await self._in_time(tool, partial(_taking_back, tool, value), bound)

    async def _in_time(self, tool: FunctionTool, chosen: _Chosen, bound: Bound) -> Result:
        seconds = tool.settings.timeout_s
        try:
            async with asyncio.timeout(seconds):
                return await self._made(tool, chosen, bound)
        except TimeoutError:  # ours: what functions raise is a Result by now
            return Result(failure="timeout", message=f"{tool.card.name} took more than {seconds:g} s")

    async def _made(self, tool: FunctionTool, chosen: _Chosen, bound: Bound) -> Result:
        if self._threads.exhausted:
            return Result(failure="unavailable", message="too many earlier calls hang: no more are made")
        if tool.owner is None:
            return await _run(partial(chosen(None), *bound.args, **bound.kwargs), self._threads)
        if tool.owner not in self._instances:
            self._instances[tool.owner] = _Instance(tool.owner, self._threads)
        return await self._instances[tool.owner].call(chosen, bound)


class _Instance:
    """An instance of a user's class, made at the first call. It serves one call at a time: such classes expect no more.

    subtle: a thread that nobody waits for any more still works on the instance, so its turn ends when it has really ended.
    """

    def __init__(self, owner: Callable[[], object], threads: Threads) -> None:
        self._owner, self._threads = owner, threads
        self._made: tuple[object, ...] = ()
        self._leave: Callable[[], Any] | None = None
        self._lock = asyncio.Lock()
        self._at_work = 0
        self._left = False

    async def call(self, chosen: _Chosen, bound: Bound) -> Result:
        """Call one of its methods."""
        await self._lock.acquire()
        self._left = False
        try:
            if not self._made and (trouble := await self._make()) is not None:
                return trouble
            return await _run(partial(chosen(self._made[0]), *bound.args, **bound.kwargs), self._threads, self._begin())
        finally:
            self._left = True
            self._pass_on()

    async def leave(self) -> None:
        """Leave its context, if it has one. What goes wrong then is of no consequence to anybody."""
        if self._leave is not None:
            try:
                async with asyncio.timeout(_LEAVING_S), self._lock:
                    await _run(self._leave, self._threads)
            except TimeoutError:
                pass  # it hangs: it is left behind like any call that does

    async def _make(self) -> Result | None:
        """Make it and enter it; what went wrong, if something did."""
        result, made = await self._threads.run(partial(_new, self._owner), self._begin())
        if result.failure is not None:
            return result
        (instance,) = made
        for enter, leave in (("__aenter__", "__aexit__"), ("__enter__", "__exit__")):
            if hasattr(type(instance), enter) and hasattr(type(instance), leave):
                entered = await _run(partial(_ignored, getattr(instance, enter)), self._threads, self._begin())
                if entered.failure is not None:
                    return Result(failure="unavailable", message=entered.message)
                self._leave = partial(_ignored, getattr(instance, leave), None, None, None)
                break
        self._made = (instance,)
        return None

    def _begin(self) -> Callable[[], None]:
        self._at_work += 1
        return self._end

    def _end(self) -> None:
        self._at_work -= 1
        self._pass_on()

    def _pass_on(self) -> None:
        if self._left and not self._at_work and self._lock.locked():
            self._left = False
            self._lock.release()


async def _run(call: Callable[[], Any], threads: Threads, ended: Callable[[], None] = lambda: None) -> Result:
    """Carry out a call, in a thread unless it is asynchronous. `ended` is called when it has really ended."""
    function = call.func if isinstance(call, partial) else call
    if inspect.iscoroutinefunction(function):
        try:
            return await _awaited(call())
        finally:
            ended()
    outcome = await threads.run(partial(attempted, call), ended)
    return outcome if isinstance(outcome, Result) else await _awaited(outcome)


async def _awaited(awaitable: Awaitable[Any]) -> Result:
    try:
        return as_result(await awaitable)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return raised(error)  # the function's own doing: nobody cancelled this call
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a user's function raises is data
        return raised(error)


def _new(owner: Callable[[], object]) -> tuple[Result, tuple[object, ...]]:
    try:
        return Result(), (owner(),)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the constructor is the user's
        return Result(failure="unavailable", message=raised(error).message), ()


def _ignored(enter: Callable[..., Any], *arguments: Any) -> Any:
    """Enter or leave a context; what that gives is the instance, which is no JSON and of no interest."""
    entered = enter(*arguments)
    return _waited(entered) if inspect.isawaitable(entered) else None


async def _waited(awaitable: Awaitable[Any]) -> None:
    await awaitable


def _taking_back(tool: FunctionTool, value: Any, instance: object) -> Callable[..., Any]:
    """The function that takes a call back, given what the call had returned if it wants to know."""
    function = tool.undo_on(instance)
    assert function is not None
    wants_result = "result" in inspect.signature(function).parameters
    return partial(function, result=value) if wants_result and "result" not in tool.card.parameters["properties"] else function
