"""What a toolbox may know about its tools that is no model's business: how a call is taken back, how long it may take.

Both are optional parts beside the `Toolbox` port. A wrapper hands them on; a toolbox without them is simply asked nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from treewright.tools.base import Result, Session, Toolbox


@dataclass(frozen=True, slots=True)
class Handling:
    """How calls of one tool are handled.

    Args:
        undo: a call can be taken back.
        timeout_s: seconds a call may take; None for the usual.
    """

    undo: bool = False
    timeout_s: float | None = None


@runtime_checkable
class Handled(Protocol):
    """A toolbox that says how its tools are handled."""

    @property
    def handling(self) -> Mapping[str, Handling]:
        """By name; tools of which nothing is said are missing."""
        ...


@runtime_checkable
class Undoing(Protocol):
    """A session that takes calls back."""

    async def undo(self, name: str, arguments: Mapping[str, Any], value: Any) -> Result:
        """Take back a call that was made with `arguments` and gave `value`."""
        ...


def handling_of(toolbox: Toolbox) -> Mapping[str, Handling]:
    """What the toolbox says about the handling of its tools."""
    return toolbox.handling if isinstance(toolbox, Handled) else {}


async def undo(session: Session, name: str, arguments: Mapping[str, Any], value: Any) -> Result:
    """Take a call back, if the session can; a `Result` that says so if it cannot."""
    if isinstance(session, Undoing):
        return await session.undo(name, arguments, value)
    return Result(failure="unavailable", message=f"{name} cannot be undone")
