"""`Guarded`: keeps what goes into tools and what comes out of them within bounds, whoever wrote them.

going in      arguments are held against the card's schema and coerced where that is clear (`arguments`)
under way     a call takes a bounded time
coming out    plain JSON of bounded size, without secrets of this machine
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from treewright.core.secrets import without_secrets
from treewright.tools.arguments import Arguments, BadSchemaError
from treewright.tools.base import Card, Result, Session, Toolbox
from treewright.tools.cards import signature
from treewright.tools.handling import Handling, handling_of, undo
from treewright.tools.plain import NotJsonError, encoded, listed, mapped, said

#: Seconds a call may take, if nothing else is said.
USUAL_S = 60.0
#: Bytes of JSON that a result may have.
LARGEST_RESULT = 256 * 1024


class Guarded:
    """A toolbox whose calls are checked and bounded. A tool whose schema cannot be used is left out.

    Args:
        toolbox: open.
        timeout_s: seconds a call may take, for a tool that says nothing of its own.
        largest_result: bytes of JSON that a result may have.

    Attributes:
        left_out: (name, why) of the tools left out.
    """

    def __init__(self, toolbox: Toolbox, *, timeout_s: float = USUAL_S, largest_result: int = LARGEST_RESULT) -> None:
        self._toolbox = toolbox
        self._bounds = {card.name: handling_of(toolbox).get(card.name, Handling()).timeout_s for card in toolbox.cards}
        self._usual_s = timeout_s
        self._largest = largest_result
        self._arguments: dict[str, Arguments] = {}
        left_out: list[tuple[str, str]] = []
        for card in toolbox.cards:
            try:
                self._arguments[card.name] = Arguments(card)
            except BadSchemaError as error:
                left_out.append((card.name, str(error)))
        self.left_out = tuple(left_out)

    @property
    def cards(self) -> tuple[Card, ...]:
        """The toolbox's, without those left out."""
        return tuple(card for card in self._toolbox.cards if card.name in self._arguments)

    @property
    def handling(self) -> Mapping[str, Handling]:
        """The toolbox's."""
        return handling_of(self._toolbox)

    def session(self, node: str = "") -> AbstractAsyncContextManager[Session]:
        """A session of the toolbox, guarded."""
        return self._session(node)

    @asynccontextmanager
    async def _session(self, node: str) -> AsyncIterator[Session]:
        async with self._toolbox.session(node) as session:
            yield _GuardedSession(self, session)

    def checked(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any] | Result:
        """The arguments as the tool takes them; or what is wrong with the name or with them ("invalid")."""
        arguments_of = self._arguments.get(name)
        if arguments_of is None:
            near = get_close_matches(name, self._arguments, 3, 0.5)
            instead = f"did you mean {' or '.join(near)}?" if near else f"there are {listed(self._arguments) or 'none'}"
            return Result(failure="invalid", message=f"there is no tool {name[:100]!r}: {instead}")
        try:
            encoded(dict(arguments))
        except NotJsonError as error:
            return Result(failure="invalid", message=said(f"the arguments are no JSON: {error}"))
        checked = arguments_of.checked(arguments)
        return Result(failure="invalid", message=checked) if isinstance(checked, str) else checked

    async def bounded(self, name: str, call: Awaitable[Result]) -> Result:
        """What a call comes to, within the bounds."""
        own_s = self._bounds[name]
        seconds = self._usual_s if own_s is None else own_s
        try:
            async with asyncio.timeout(seconds) as scope:
                result = await call
        except TimeoutError:
            if not scope.expired():
                raise
            return Result(failure="timeout", message=f"{name} took more than {seconds:g} s")
        return self._sized(name, result)

    def _sized(self, name: str, result: Result) -> Result:
        if result.failure is not None:
            return replace(result, value=None, message=said(result.message))
        try:
            text = encoded(result.value)
        except NotJsonError as error:
            return Result(failure="not_json", message=said(f"the result of {name} is no JSON: {error}"))
        if len(text) > self._largest:
            return Result(failure="too_large", message=self._too_large(name, len(text)))
        value = json.loads(text)  # anew: plain for certain, and nobody else's
        if without_secrets(text.decode()) != text.decode():
            value = mapped(value, without_secrets)
        return Result(value)

    def _too_large(self, name: str, size: int) -> str:
        card = next(card for card in self._toolbox.cards if card.name == name)
        return (
            f"the result of {name} has {size:,} bytes of JSON, more than {self._largest:,}: ask for less at a time "
            f"(a narrower query, a limit, a page), as far as its parameters allow: {signature(card)}"
        )


@dataclass(frozen=True, slots=True)
class _GuardedSession:
    guarded: Guarded
    session: Session

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        checked = self.guarded.checked(name, arguments)
        if isinstance(checked, Result):
            return checked
        return await self.guarded.bounded(name, self.session.call(name, checked))

    async def undo(self, name: str, arguments: Mapping[str, Any], value: Any) -> Result:
        checked = self.guarded.checked(name, arguments)
        if isinstance(checked, Result):
            return checked
        return await self.guarded.bounded(name, undo(self.session, name, checked, value))
