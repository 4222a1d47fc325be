"""Who writes which run: a lock for each, which the kernel takes back when its process ends, however it ends.

A run's lock is the byte at its number in a file beside the journal; the file stays empty. The locks are those of Linux that
belong to the open file, not to the process, so two journals in one process exclude each other too.
"""

from __future__ import annotations

import fcntl
import os
import struct
from errno import EACCES, EAGAIN
from pathlib import Path

_FLOCK = "hhqqi"  # struct flock: type, whence, start, length, process


class Claims:
    """The locks of one journal, as far as this process holds them.

    Args:
        path: the file; made when the first lock is taken.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def take(self, number: int) -> bool:
        """Take the lock of a run; False when somebody else holds it.

        Raises:
            OSError: the file cannot be made or locked.
        """
        if self._file < 0:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _lock(fcntl.F_WRLCK, number))
        except OSError as error:
            if error.errno in (EACCES, EAGAIN):
                return False
            raise
        return True

    def give_back(self, number: int) -> None:
        """Let others have the lock of a run that was taken."""
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _lock(fcntl.F_UNLCK, number))

    def held_elsewhere(self, number: int) -> bool:
        """Whether somebody else holds the lock of a run. False also when that cannot be told."""
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _lock(fcntl.F_WRLCK, number))
        except OSError:
            return False
        finally:
            os.close(file)
        kind: int = struct.unpack_from("h", found)[0]
        return kind != fcntl.F_UNLCK

    def close(self) -> None:
        """Give all locks back. Can be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _lock(kind: int, number: int) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, number, 1, 0)
