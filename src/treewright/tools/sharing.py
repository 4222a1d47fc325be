"""Results of pure tools, shared over a whole search: one call for all who ask the same, also while it is under way."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from treewright.core.errors import TreewrightError
from treewright.tools.base import Failure, Result
from treewright.tools.plain import NotJsonError, encoded

Ask = Callable[[], Awaitable[Result]]

#: Failures that may be gone at the next try, so they are not kept.
PASSING: frozenset[Failure] = frozenset({"timeout", "unavailable"})
_MOST_BYTES = 64 * 1024 * 1024


@dataclass(slots=True, eq=False)
class _UnderWay:
    task: asyncio.Task[Result | TreewrightError]
    waiting: int = 0


class Shared:
    """Answers by key, kept and under way.

    A call belongs to nobody who waits for it: when one of them is cancelled the others get their answer; when all are, it is
    cancelled.

    Args:
        group: where calls run; they end before it does.
        most_bytes: of kept answers; those used longest ago make room.
    """

    def __init__(self, group: asyncio.TaskGroup, most_bytes: int = _MOST_BYTES) -> None:
        self._group = group
        self._most = most_bytes
        self._size = 0
        self._kept: OrderedDict[str, tuple[bytes, Result]] = OrderedDict()
        self._under_way: dict[str, _UnderWay] = {}

    async def ask(self, key: str, call: Ask) -> Result:
        """The answer for `key`, by `call` if nobody asked before. Every caller gets a value of its own.

        Raises:
            TreewrightError: the call raised it (the budget is spent). That is not kept.
        """
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            text, result = kept
            return result if result.failure is not None else Result(json.loads(text))
        under_way = self._under_way.get(key)
        if under_way is None:
            task = self._group.create_task(self._answer(key, call))
            under_way = self._under_way[key] = _UnderWay(task)
        under_way.waiting += 1
        try:
            answer = await asyncio.shield(under_way.task)
        finally:
            under_way.waiting -= 1
            if not under_way.waiting and not under_way.task.done():
                if self._under_way.get(key) is under_way:  # who asks from now on does not want a call that is being cancelled
                    del self._under_way[key]
                under_way.task.cancel()
        if isinstance(answer, TreewrightError):
            raise answer
        return answer if answer.failure is not None else Result(json.loads(encoded(answer.value)))

    def close(self) -> None:
        """Cancel what is under way."""
        for under_way in self._under_way.values():
            under_way.task.cancel()

    async def _answer(self, key: str, call: Ask) -> Result | TreewrightError:
        """What the call gives. An error of ours is given too: raised here, it would end every other call of the search."""
        mine = self._under_way[key]
        try:
            result = await call()
            encoded(result.value)
        except NotJsonError as error:
            result = Result(failure="not_json", message=f"the result is no JSON: {error}")
        except TreewrightError as error:
            return error
        finally:
            if self._under_way.get(key) is mine:
                del self._under_way[key]
        if result.failure not in PASSING:
            self._keep(key, result)
        return result

    def _keep(self, key: str, result: Result) -> None:
        text = encoded(result.value)
        size = len(text) + len(key) + len(result.message)
        if size > self._most:
            return
        self._kept[key] = text, Result(None, result.failure, result.message)
        self._size += size
        while self._size > self._most:
            old, (gone, was) = self._kept.popitem(last=False)
            self._size -= len(gone) + len(old) + len(was.message)
