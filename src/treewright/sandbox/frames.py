"""Our side of descriptor 3, inside a job: frames of text after four bytes of length. Part of the programs sent into the sandbox."""

from __future__ import annotations

import os

_DESCRIPTOR = 3


def send_frame(text: str) -> None:
    """Write one frame, whole."""
    frame = text.encode()
    frame = len(frame).to_bytes(4, "big") + frame
    while frame:
        frame = frame[os.write(_DESCRIPTOR, frame) :]


def receive_frame() -> str:
    """Read one frame. When the host is gone there is nothing left to do, and the process ends."""
    return _read(int.from_bytes(_read(4), "big")).decode()


def _read(size: int) -> bytes:
    pieces = []
    while size:
        piece = os.read(_DESCRIPTOR, size)
        if not piece:
            os._exit(0)
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
