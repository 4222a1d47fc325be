"""Sessions of a benchmark's toolbox are apart, and what a tool says or raises is data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from treewright.bench.local_tools import LocalToolbox
from treewright.tools.base import Card, Result

CARDS = (Card("push", "Add a number."), Card("half", "Half of it."))


def functions() -> Mapping[str, Callable[..., Any]]:
    kept: list[int] = []

    def push(number: int) -> tuple[int, ...]:
        kept.append(number)
        return tuple(kept)

    def half(number: float) -> float:
        if number < 0:
            raise ValueError("it is negative")
        return 1 / number / 2

    return {"push": push, "half": half}


async def calls(*wanted: tuple[str, dict[str, Any]]) -> list[Result]:
    async with LocalToolbox(CARDS, functions) as toolbox, toolbox.session() as first, toolbox.session() as second:
        assert toolbox.cards == CARDS
        await second.call("push", {"number": 99})
        return [await first.call(name, given) for name, given in wanted]


def test_a_session_has_its_own_state_and_results_are_plain_json() -> None:
    one, two = asyncio.run(calls(("push", {"number": 1}), ("push", {"number": 2})))
    assert (one.value, two.value) == ([1], [1, 2])


@pytest.mark.parametrize(
    ("name", "given", "failure", "message"),
    [
        ("pull", {}, "invalid", "there is no tool 'pull'"),
        ("push", {}, "invalid", "push: missing a required argument: 'number'"),
        ("push", {"number": 1, "x": 2}, "invalid", "push: got an unexpected keyword argument 'x'"),
        ("half", {"number": -1}, "raised", "half: it is negative"),
        ("half", {"number": 0}, "raised", "half: division by zero"),
        ("half", {"number": "a"}, "raised", "half: '<' not supported between instances of 'str' and 'int'"),
    ],
)
def test_what_goes_wrong_is_a_result(name: str, given: dict[str, Any], failure: str, message: str) -> None:
    (result,) = asyncio.run(calls((name, given)))
    assert (result.failure, result.message, result.value) == (failure, message, None)
