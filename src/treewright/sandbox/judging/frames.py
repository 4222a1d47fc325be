"""Our side of descriptor 3, inside a job: frames of text after four bytes of length.

Part of the programs sent into the sandbox. `posix`, since importing `os` takes a tenth of the whole start.
"""

from __future__ import annotations

import posix

_DESCRIPTOR = 3
_CHUNK = 1 << 16

_ahead = bytearray()  # what has arrived and was not asked for yet


def send_frame(text: str) -> None:
    """Write one frame, whole."""
    frame = text.encode()
    frame = len(frame).to_bytes(4, "big") + frame
    while frame:
        frame = frame[posix.write(_DESCRIPTOR, frame) :]


def receive_frame() -> str:
    """Read one frame. When the host is gone there is nothing left to do, and the process ends.

    An exception on the way (a signal handler of the program's) loses nothing: a frame is taken out whole or not at all.
    """
    _fill(4)
    end = 4 + int.from_bytes(_ahead[:4], "big")
    _fill(end)
    text = _ahead[4:end].decode()
    del _ahead[:end]
    return text


def _fill(size: int) -> None:
    while len(_ahead) < size:
        piece = posix.read(_DESCRIPTOR, _CHUNK)
        if not piece:
            posix._exit(0)
        _ahead.extend(piece)
