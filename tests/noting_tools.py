"""A toolbox whose calls are noted and not made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from treewright.tools.base import Card, Result, Session
from treewright.tools.planning import Planned


@dataclass
class NotingSession:
    """Notes each call."""

    planned: list[Planned] = field(default_factory=list)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        self.planned.append(Planned(len(self.planned) + 1, name, arguments))
        return Result({"planned": True})


class NotingToolbox:
    """Offers `book`, which is not taken back."""

    cards = (Card("book", "Books.", {"type": "object", "properties": {"n": {"type": "integer"}}}, effect="commit"),)

    @asynccontextmanager
    async def session(self, node: str = "") -> AsyncIterator[Session]:
        yield NotingSession()
