"""Kept answers make room for newer ones."""

from __future__ import annotations

import asyncio

from treewright.tools.base import Result
from treewright.tools.sharing import Shared


def test_answers_used_longest_ago_make_room_and_one_too_large_is_not_kept() -> None:
    made: list[str] = []

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            shared = Shared(group, most_bytes=100)

            async def ask(key: str, size: int = 40) -> None:
                async def call() -> Result:
                    made.append(key)
                    return Result("x" * size)

                assert (await shared.ask(key, call)).value == "x" * size

            await ask("a")
            await ask("b")
            await ask("a")
            await ask("c")  # b goes
            await ask("a")
            await ask("b")
            await ask("large", 200)
            await ask("b")
            await ask("large", 200)

    asyncio.run(run())
    assert made == ["a", "b", "c", "b", "large", "large"]
