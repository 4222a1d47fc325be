"""Asking the user whether a tool may be called whose effect is not taken back."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treewright.committing import Allow
    from treewright.tools.base import Card

_SHOWN = 2000


def ask_user() -> Allow | None:
    """Asks on the terminal; None where there is none, so that nothing is called without consent."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    async def allow(card: Card, arguments: Mapping[str, Any]) -> bool:
        from treewright.cli.printing import visible

        shown = visible(json.dumps(arguments, ensure_ascii=False, indent=2))[:_SHOWN]
        sys.stderr.write(f"\n{card.name} is not taken back once it is called. With these arguments:\n{shown}\ncall it? [y/N] ")
        sys.stderr.flush()
        # Blocks on purpose: the search is over, and nothing must be drawn over the question.
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    return allow
