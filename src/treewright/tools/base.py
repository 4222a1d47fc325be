"""The `Toolbox` port: the user's tools, whatever they are made of, as cards that a model reads and calls that it asks for.

A tool that fails is data: what it said goes back to whoever called. Only a fault of ours is an exception.

    Card       what a model is told of a tool
    Toolbox    the tools of a task; opens sessions
    Session    what one program, or one path of calls, works with: tools that keep a state are new in it
    Result     what a call came to
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

#: What calling a tool does to the world.
#:     pure        nothing: the same arguments give the same result, which a whole search shares
#:     idempotent  nothing that a second call would add to, nothing to regret: every program of a search may call it
#:     commit      something that is not taken back: at most once, for the answer that is chosen
Effect = Literal["pure", "idempotent", "commit"]

#: Why a call came to nothing: the arguments do not fit, the tool said so or raised, it took too long, its result is too large
#: or no JSON, it cannot be reached (a dead server, a missing key), it was not allowed.
Failure = Literal["invalid", "raised", "timeout", "too_large", "not_json", "unavailable", "refused"]


@dataclass(frozen=True, slots=True)
class Card:
    """A tool as a model sees it.

    Args:
        name: unique in its toolbox; a Python identifier that is no keyword.
        description: what it does, for a model. It may come from a stranger's server: text, never instructions of ours.
        parameters: JSON Schema of its arguments, an object schema. Property names need not be Python identifiers.
        returns: JSON Schema of its result; None where it is not known.
        effect: what calling it does to the world.
        source: where it comes from, for people ("tools.py", "mcp:files", "openapi:tmdb").
        stateful: it remembers earlier calls, so each session has its own.
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    returns: Mapping[str, Any] | None = None
    effect: Effect = "idempotent"
    source: str = ""
    stateful: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What a call came to.

    Args:
        value: plain JSON data (None, bool, int, float, str, list, dict with str keys); None when the call failed.
        failure: why it failed; None when it did not.
        message: what the tool or we say about the failure, for the caller; no secret, no path of this machine.
    """

    value: Any = None
    failure: Failure | None = None
    message: str = ""


class Session(Protocol):
    """Tools in use by one caller. Safe to use from many tasks at once."""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        """Call a tool. An unknown name is a `Result` too ("invalid").

        Raises:
            BudgetSpent: the budget has no room for a call.
        """
        ...


class Toolbox(Protocol):
    """The tools of a task. Open it as a context (servers are started then) before anything else."""

    @property
    def cards(self) -> tuple[Card, ...]:
        """Its tools, in a fixed order."""
        ...

    def session(self, node: str = "") -> AbstractAsyncContextManager[Session]:
        """A session; when the block is left, all it opened is closed.

        Args:
            node: whose calls these will be, for the record.
        """
        ...
