"""Asking the user whether a tool may be called whose effect is not taken back."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treewright.tools.base import Card
    from treewright.tools.committing import Allow

_SHOWN = 2000


def ask_user() -> Allow | None:
    """Asks on the terminal; None where there is none, so that nothing is called without consent."""
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    async def allow(card: Card, arguments: Mapping[str, Any]) -> bool:
        from treewright.cli.printing import visible

        text = visible(json.dumps(arguments, ensure_ascii=False, indent=2))
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… and {len(text) - _SHOWN} characters more"
        # subtle: a whole line and no brackets, for a display may stand around standard error that takes no others.
        sys.stderr.write(f"\n{card.name} is not taken back once it is called. With these arguments:\n{shown}\ncall it? (y/N)\n")
        sys.stderr.flush()
        # Blocks on purpose: the search is over, and nothing must be drawn over the question.
        with _interruptible():
            return sys.stdin.readline().strip().lower() in ("y", "yes")

    return allow


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the block: the event loop, which takes it otherwise, stands still in it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
