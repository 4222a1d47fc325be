"""A made-up machine with a telling user, host and folders, so that what leaks can be seen wherever the tests run."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from treewright.core import scrub as scrubbing

#: What must never be sent.
SECRETS = ("mirabelle", "quetsche", "/home/", "/scratch/", "site-packages", "/tmp/", "/usr/", "0x7f3c55d0aa10")
#: Texts as they turn up in prompts, tests, tracebacks, reviews and replies, full of what must not be sent.
LEAKS = (
    'File "/home/mirabelle/orchard/.venv/lib/python3.12/site-packages/numpy/core/x.py", line 3, in dot',
    'File "/scratch/jobs/77/program.py", line 2, in f',
    "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/tw-81/mirabelle/data.csv'",
    "quetsche:/home/mirabelle/orchard$ python /usr/lib/python3.12/json/decoder.py",
    "mirabelle@quetsche.lan said: <function f at 0x7f3c55d0aa10>",
    "see file:///home/mirabelle/notes.txt and PATH=/usr/bin:/home/mirabelle/bin",
)


@contextmanager
def lived_in_by(user: str, host: str, home: str = "", cwd: str = "/nowhere") -> Iterator[None]:
    """Scrub as on the machine of that user and host."""
    caches = (scrubbing._names, scrubbing._private, scrubbing._folders, scrubbing._paths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(getpass, "getuser", lambda: user)
        patch.setattr(socket, "gethostname", lambda: host)
        patch.setattr(Path, "home", lambda: Path(home or f"/home/{user}"))
        patch.setattr(Path, "cwd", lambda: Path(cwd))
        for cached in caches:
            cached.cache_clear()
        yield
    for cached in caches:
        cached.cache_clear()
