"""`Effects`: what the calls of a whole search do to the world.

pure          one call for all that ask the same in the search, whichever program asks; not for tools with a state
idempotent    called each time it is asked for
commit        never called during the search: the call is noted, and the program gets a stand-in (`planning`)
commit, undo  called for real, and taken back in reverse order when the session ends; noted as well

After the search, `committing.commit` carries out the notes of the session whose program was chosen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from treewright.tools.arguments import Arguments, BadSchemaError
from treewright.tools.base import Card, Result, Session, Toolbox
from treewright.tools.handling import Handling, handling_of, undo
from treewright.tools.plain import NotJsonError, canonical
from treewright.tools.planning import MAYBE_DONE, Planned, holds_stand_in, stand_in
from treewright.tools.sharing import Shared

#: ask      calls that are not taken back are asked about after the search
#: yes      they are made without asking
#: dry_run  they are not made at all, and neither are those that could be undone
Mode = Literal["ask", "yes", "dry_run"]


@dataclass(frozen=True, slots=True)
class Stuck:
    """A call that was made during the search and could not be taken back, or of which that is not known.

    Args:
        node: who called.
        tool: its name.
        arguments: of the call.
        why: in a sentence.
    """

    node: str
    tool: str
    arguments: Mapping[str, Any]
    why: str


class EffectsSession(Session, Protocol):
    """A session that notes what it only plans."""

    @property
    def planned(self) -> tuple[Planned, ...]:
        """The calls noted so far, in order. Still there when the session is over."""
        ...


class Effects:
    """A toolbox for a whole search; a context.

    Args:
        toolbox: open.
        mode: what becomes of commit tools.

    Attributes:
        stuck: calls that could not be taken back; to be told to the user.
    """

    def __init__(self, toolbox: Toolbox, *, mode: Mode) -> None:
        self.toolbox = toolbox
        self.mode: Mode = mode
        self.stuck: tuple[Stuck, ...] = ()
        self._cards = {card.name: card for card in toolbox.cards}
        self._group = asyncio.TaskGroup()
        self._shared = Shared(self._group)

    @property
    def cards(self) -> tuple[Card, ...]:
        """The toolbox's."""
        return self.toolbox.cards

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shared.close()
        if isinstance(error, asyncio.CancelledError):
            await self._group.__aexit__(kind, error, trace)
        else:  # handed to the group, the block's own error would come out in an ExceptionGroup
            await self._group.__aexit__(None, None, None)

    def session(self, node: str = "") -> AbstractAsyncContextManager[EffectsSession]:
        """A session for one program. When it ends, what can be taken back of what it did is taken back."""
        return self._session(node)

    @asynccontextmanager
    async def _session(self, node: str) -> AsyncIterator[EffectsSession]:
        async with self.toolbox.session(node) as inner:
            session = _Session(self, inner, node)
            try:
                yield session
            finally:
                await session.take_back()

    def card(self, name: str) -> Card | None:
        """The tool of that name."""
        return self._cards.get(name)

    def undone(self, name: str) -> bool:
        """Whether calls of this commit tool are made for real, and taken back."""
        return self.mode != "dry_run" and handling_of(self.toolbox).get(name, Handling()).undo

    async def ask_once(self, node: str, name: str, arguments: Mapping[str, Any]) -> Result:
        """The result of a pure tool, shared over the search.

        The call has a session of its own: it may outlive the one that asked first.
        """

        async def call() -> Result:
            async with self.toolbox.session(node) as session:
                return await session.call(name, arguments)

        try:
            key = f"{name} {canonical(arguments)}"
        except NotJsonError as error:
            return Result(failure="invalid", message=f"the arguments are no JSON: {error}")
        return await self._shared.ask(key, call)


class _Session:
    def __init__(self, effects: Effects, inner: Session, node: str) -> None:
        self._effects, self._inner, self._node = effects, inner, node
        self._planned: list[Planned] = []
        self._made: list[tuple[Planned, Any]] = []

    @property
    def planned(self) -> tuple[Planned, ...]:
        return tuple(self._planned)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        card = self._effects.card(name)
        if card is None or card.effect == "idempotent" or (card.effect == "pure" and card.stateful):
            return await self._inner.call(name, arguments)
        if card.effect == "pure":
            return await self._effects.ask_once(self._node, name, arguments)
        if self._effects.undone(name):
            return await self._call_to_undo(name, arguments)
        noted = self._note(card, arguments)
        return noted if isinstance(noted, Result) else Result(stand_in(card))

    def _note(self, card: Card, arguments: Mapping[str, Any]) -> Planned | Result:
        """Note a call; or say what is wrong with it, for the tool will not."""
        try:
            checked = Arguments(card).checked(arguments)
        except BadSchemaError as error:
            return Result(failure="unavailable", message=f"{card.name}: {error}")
        if isinstance(checked, str):
            return Result(failure="invalid", message=checked)
        if holds_stand_in(checked):
            return Result(
                failure="refused",
                message=f"{card.name} was given the result of a call that is only planned: it is not known before that is done",
            )
        self._planned.append(Planned(len(self._planned) + 1, card.name, checked))
        return self._planned[-1]

    async def _call_to_undo(self, name: str, arguments: Mapping[str, Any]) -> Result:
        made = dict(arguments)
        try:
            result = await self._inner.call(name, made)
        except asyncio.CancelledError:
            self._stick(name, made, "the program ended during the call: it may have been done and was not undone")
            raise
        if result.failure is None:
            self._planned.append(Planned(len(self._planned) + 1, name, made))
            self._made.append((self._planned[-1], result.value))
        elif result.failure in MAYBE_DONE:
            self._stick(name, made, f"it may have been done and was not undone: {result.message}")
        return result

    async def take_back(self) -> None:
        """Undo what was done, the last first. Goes on to the end even when it is cancelled meanwhile."""
        undoing = asyncio.ensure_future(self._undo_all())
        cancelled: asyncio.CancelledError | None = None
        while not undoing.done():
            try:
                await asyncio.shield(undoing)
            except asyncio.CancelledError as error:
                cancelled = error
        undoing.result()
        if cancelled is not None:
            raise cancelled

    async def _undo_all(self) -> None:
        while self._made:
            planned, value = self._made.pop()
            result = await undo(self._inner, planned.tool, planned.arguments, value)
            if result.failure is not None:
                self._stick(planned.tool, planned.arguments, f"undoing it failed ({result.failure}): {result.message}")

    def _stick(self, name: str, arguments: Mapping[str, Any], why: str) -> None:
        self._effects.stuck += (Stuck(self._node, name, arguments, why),)
