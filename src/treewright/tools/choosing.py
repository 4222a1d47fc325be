"""`Chosen`: what the user says, by patterns of names, of tools that others made: which to offer, and what calling them does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from fnmatch import fnmatchcase

from treewright.tools.base import Card, Session, Toolbox
from treewright.tools.handling import Handling, handling_of


class Chosen:
    """A toolbox with some of its tools, and some effects set by hand.

    Args:
        toolbox: open.
        only: patterns ("search_*") of the tools to offer; all without any.
        pure: patterns of tools that change nothing.
        idempotent: patterns of tools whose second call adds nothing; `pure` goes first.

    Attributes:
        unused: patterns that fit no tool, for a warning.
    """

    def __init__(
        self, toolbox: Toolbox, *, only: Sequence[str] = (), pure: Sequence[str] = (), idempotent: Sequence[str] = ()
    ) -> None:
        self._toolbox = toolbox
        names = [card.name for card in toolbox.cards]
        self.unused = tuple(p for p in (*only, *pure, *idempotent) if not any(fnmatchcase(name, p) for name in names))
        offered = [card for card in toolbox.cards if not only or _fits(card.name, only)]
        self._cards = tuple(_with_effect(card, pure, idempotent) for card in offered)

    @property
    def cards(self) -> tuple[Card, ...]:
        """The chosen ones."""
        return self._cards

    @property
    def handling(self) -> Mapping[str, Handling]:
        """The toolbox's."""
        return handling_of(self._toolbox)

    def session(self, node: str = "") -> AbstractAsyncContextManager[Session]:
        """A session of the toolbox."""
        return self._toolbox.session(node)


def _with_effect(card: Card, pure: Sequence[str], idempotent: Sequence[str]) -> Card:
    if _fits(card.name, pure):
        return replace(card, effect="pure")
    return replace(card, effect="idempotent") if _fits(card.name, idempotent) else card


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
