"""The `Toolbox` suite over functions, and over everything that is wrapped around a toolbox."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from conformance.toolbox_suite import CHECKS, Call, Subject
from scripted_tools import ScriptedTool, ScriptedToolbox
from treewright.core.budget import Budget
from treewright.tools.base import Toolbox
from treewright.tools.combined import Combined, Source
from treewright.tools.decorator import tool
from treewright.tools.effects import Effects
from treewright.tools.functions import FunctionToolbox, from_functions
from treewright.tools.guarded import Guarded
from treewright.tools.metered import Metered


@tool(effect="pure")
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def films(year: int) -> dict[str, list[str]]:
    return {"titles": [f"film of {year}"]}


def divide(a: float, by: float) -> float:
    return a / by


def nap() -> str:
    time.sleep(0.2)
    return "slept"


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def up(self) -> int:
        self.count += 1
        return self.count


FINE = (Call("add", {"a": 2}, 3), Call("add", {"a": 2, "b": 5}, 7), Call("films", {"year": 1984}, {"titles": ["film of 1984"]}))
FAILING = (
    Call("divide", {"a": 1, "by": 0}, failures=("raised",)),
    Call("add", {"a": "two"}, failures=("invalid",)),
    Call("add", {}, failures=("invalid",)),
)


def functions() -> FunctionToolbox:
    return from_functions([add, films, divide, nap, Counter])


@asynccontextmanager
async def combined() -> AsyncIterator[Toolbox]:
    other = ScriptedToolbox([ScriptedTool("other")])
    async with Combined([Source("functions", functions()), Source("other", other)]) as toolbox:
        yield toolbox


@asynccontextmanager
async def guarded() -> AsyncIterator[Toolbox]:
    async with functions() as toolbox:
        yield Guarded(toolbox)


@asynccontextmanager
async def metered() -> AsyncIterator[Toolbox]:
    async with functions() as toolbox:
        yield Metered(toolbox, Budget(), lambda event: None)


@asynccontextmanager
async def everything() -> AsyncIterator[Toolbox]:
    async with combined() as toolbox, Effects(Metered(Guarded(toolbox), Budget(), lambda event: None), mode="ask") as effects:
        yield effects


SCRIPTED = (Call("say", {"x": 1}, {"x": 1}),)
OF_FUNCTIONS = Subject(functions, FINE, FAILING, Call("nap", value="slept"), Call("up"))
SUBJECTS = {
    "functions": OF_FUNCTIONS,
    "combined": replace(OF_FUNCTIONS, open=combined),
    "guarded": replace(OF_FUNCTIONS, open=guarded),
    "metered": replace(OF_FUNCTIONS, open=metered),
    "everything": replace(OF_FUNCTIONS, open=everything),
    "scripted": Subject(lambda: ScriptedToolbox([ScriptedTool("say")]), SCRIPTED),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", SUBJECTS)
def test_toolbox(name: str, check: Callable[[Subject], Awaitable[None]]) -> None:
    async def run() -> None:
        await check(SUBJECTS[name])

    asyncio.run(run())
