"""A model that reads its replies from a list or a file: for tests, examples, and runs that must not vary or cost.

A file (`--model scripted:FILE`) is JSON Lines, one row a line, empty lines skipped:

    {"when": "Write the program", "reply": "def add(a, b): ...", "latency_s": 0.2}
    {"fail": "429", "retry_after": 2}

Each call takes the first unused row that matches, and uses it up. `when` is a regular expression that is searched for in
the last message; a row without it matches every call. `fail` raises what a provider would: "429" a rate limit, "500" a
server error, "cut" a reply that broke off, "hang" no answer until the time-out. A row with both fails.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from treewright.core.errors import ModelUnavailable
from treewright.models.base import Finish, ModelError, Reply, Request
from treewright.models.estimates import usual_usage
from treewright.models.script_rows import Fail, Row, read_rows


class Scripted:
    """A `Model` that answers from rows. Calls from several tasks or threads never get the same row.

    Usage is counted as four characters a token (`estimates.usual_usage`), so a run costs the same everywhere. A reply longer
    than `max_tokens` is cut to four characters a token and ends as "length".

    Args:
        rows: the rows, first ones first; a plain text is a row that matches every call.
        name: name of the model.
        timeout_s: seconds after which a "hang" ends as a time-out.

    Raises:
        re.error: if a `when` is no regular expression. (`scripted_file` checks them line by line.)
    """

    def __init__(
        self,
        rows: Iterable[Row | str],
        *,
        name: str = "scripted",
        timeout_s: float = 60.0,
    ) -> None:
        self._rows = [Row(reply=row) if isinstance(row, str) else row for row in rows]
        self._name = name
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._used: set[int] = set()
        # Rows with the same `when` stand in one queue: a call tries each distinct pattern once, however long the script is.
        self._queues: dict[re.Pattern[str] | None, deque[int]] = {}
        for index, row in enumerate(self._rows):
            pattern = None if row.when is None else re.compile(row.when)
            self._queues.setdefault(pattern, deque()).append(index)

    @property
    def name(self) -> str:
        """As the user wrote it: "scripted:FILE"."""
        return self._name

    @property
    def used(self) -> int:
        """Rows that are used up."""
        return len(self._used)

    async def __aenter__(self) -> Self:
        """Nothing to prepare."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Nothing to close."""

    async def complete(self, request: Request) -> Reply:
        """Answer with the first unused row that matches the last message.

        Raises:
            ModelError: if that row says so.
            ModelUnavailable: if no unused row matches.
        """
        text = request.messages[-1].text if request.messages else ""
        row = self._take(text)
        if row is None:
            raise ModelUnavailable(self._exhausted(text))
        if row.latency_s:
            await asyncio.sleep(row.latency_s)
        if row.fail is not None:
            await self._fail(row.fail, row.retry_after)
        return _reply(request, row.reply or "")

    def use_up(self, replies: Iterable[str]) -> None:
        """Use up, for each text, the first unused row that would have replied it: a run that goes on takes up where it was.

        Texts that no unused row has are passed over.
        """
        waiting: dict[str, deque[int]] = {}
        with self._lock:
            for index, row in enumerate(self._rows):
                if index not in self._used and row.fail is None and row.reply is not None:
                    waiting.setdefault(row.reply, deque()).append(index)
            for text in replies:
                if waiting.get(text):
                    self._used.add(waiting[text].popleft())

    def _take(self, text: str) -> Row | None:
        with self._lock:
            best: int | None = None
            for when, queue in self._queues.items():
                while queue and queue[0] in self._used:
                    queue.popleft()
                first = queue[0] if queue else None
                if first is not None and (best is None or first < best) and (when is None or when.search(text)):
                    best = first
            if best is None:
                return None
            self._used.add(best)
            return self._rows[best]

    async def _fail(self, fail: Fail, retry_after: float | None) -> None:
        match fail:
            case "429":
                raise ModelError("rate", f"{self._name} limits the rate of calls", retry_after=retry_after)
            case "500":
                raise ModelError("server", f"{self._name} answered with a server error (status 500)")
            case "cut":
                raise ModelError("garbled", f"{self._name} sent a reply that breaks off")
            case "hang":
                await asyncio.sleep(self._timeout_s)
                raise ModelError("timeout", f"{self._name} did not answer within {self._timeout_s:g} s")

    def _exhausted(self, text: str) -> str:
        line = (text.strip().splitlines() or [""])[0][:120]
        return (
            f"{self._name} has no reply left for this call: {self.used} of {len(self._rows)} rows are used and none of the "
            f"others matches the last message ({line!r}); add a row."
        )


def _reply(request: Request, text: str) -> Reply:
    finish: Finish = "stop"
    if len(text) > 4 * request.max_tokens:
        text, finish = text[: 4 * request.max_tokens], "length"
    return Reply(text, usual_usage(request, text), finish)


def scripted_file(path: Path, *, name: str | None = None, timeout_s: float = 60.0) -> Scripted:
    """The scripted model of a JSON Lines file, read and checked at once.

    Args:
        path: the file.
        name: name of the model; "scripted:PATH" if None.
        timeout_s: seconds after which a "hang" ends as a time-out.

    Raises:
        UserError: if the file cannot be read or a line is no row; it names file and line.
    """
    return Scripted(read_rows(path), name=name or f"scripted:{path}", timeout_s=timeout_s)
