"""Standard streams that may fail under us: a reader that has gone, a disk that is full."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import IO, TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console


class Screen:
    """Standard error as long as it lasts. When it fails, what is shown goes nowhere, and the run that is shown goes on.

    Args:
        stream: standard error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = stream.encoding
        self.fileno = stream.fileno
        self.isatty = stream.isatty

    def write(self, text: str) -> int:
        """Write, or give up writing."""
        try:
            return self._stream.write(text)
        except OSError:
            silence(self._stream)
            return len(text)

    def flush(self) -> None:
        """Flush, or give up writing."""
        try:
            self._stream.flush()
        except OSError:
            silence(self._stream)


def silence(stream: TextIO) -> None:
    """Send what is still to come nowhere: what failed once must not fail again when Python flushes the stream at its end."""
    with suppress(OSError):  # a stream without a descriptor
        descriptor = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def screen(stream: TextIO) -> Console:
    """The console that progress is shown on.

    Args:
        stream: standard error.
    """
    from rich.console import Console

    # A `Screen` has all of a stream that rich asks for.
    return Console(file=cast("IO[str]", Screen(stream)), highlight=False, soft_wrap=True)
