"""A scripted model that keeps what it was asked."""

from __future__ import annotations

from treewright.models.base import Reply, Request
from treewright.models.scripted import Scripted


class Taped:
    """Replies with `replies`, in turn."""

    name = "taped"

    def __init__(self, *replies: str) -> None:
        self._model = Scripted(replies)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        return await self._model.complete(request)

    @property
    def asked(self) -> str:
        """All of the last request."""
        return "\n\n".join(message.text for message in self.requests[-1].messages)
