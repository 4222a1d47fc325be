"""Scrub: what goes to a model carries no path, user or host name of this machine, and no package location.

Tracebacks and error messages of programs are full of them: they cost tokens, help nobody, and tell a third party about the
machine. The names that matter (the file name, the line, the package) stay, and so does what only looks alike: URLs,
divisions, routes, folders that this machine does not have.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

#: A path begins here, and not in the middle of another or of a URL; so the time stays in proportion to the text.
_BEGINS = r"(?<![\w.+@~/<-])"
_PARTS = r"((?:/[^\s/:'\"`<>|,;()\[\]{}]+)*)"
_FILE_URL = re.compile(r"\bfile://(?=/)")
#: /usr/lib/python3.11/site-packages/numpy/core/x.py -> numpy/core/x.py
_PACKAGES = re.compile(rf"{_BEGINS}[\w.+@~-]*(?:/[\w.+@~-]+)+/(?:site|dist)-packages/")
#: /usr/lib/python3.11/json/decoder.py -> json/decoder.py
_STDLIB = re.compile(rf"{_BEGINS}(?:/[\w.+@~-]+)+/python3(?:\.\d+)?(?:/lib-dynload)?/")
#: File "/srv/jobs/7/program.py", line 3 -> File "program.py", line 3, whatever machine wrote it
_TRACEBACK = re.compile(r"(?<=\bFile \")/[^\"\n]*/(?=[^\"/\n]+\")")
_WINDOWS = re.compile(r"\b[A-Z]:\\+Users\\+[^\s\\:*?\"'<>|]+((?:\\+[^\s\\:*?\"'<>|]+)*)")
#: <function f at 0x7f3c55d0> differs from run to run; the 0xFFFFFFFF of a program stays.
_ADDRESS = re.compile(r"(?<=\bat )0x[0-9a-fA-F]{6,16}\b")
#: Folders at the top where machines keep people's and programs' files.
_TOPS = ["tmp", "var", "opt", "usr", "work", "workspace", "mnt", "srv", "private", "data", "run", "proc", "etc", "nix", "app"]
#: Names too common to be private: replacing them would garble the text.
_COMMON = frozenset(
    {"root", "user", "admin", "nobody", "runner", "localhost", "python", "test", "app", "main", "ubuntu", "debian"}
)


@cache
def _names() -> tuple[str, str]:
    """This machine's user and host name; "" for a user without one."""
    user = ""
    with suppress(OSError, KeyError):  # no entry for this uid
        user = getpass.getuser()
    return user, socket.gethostname()


@cache
def _private() -> re.Pattern[str] | None:
    """The names as whole words; None when they are too short or too common to tell anything."""
    user, host = _names()
    names = {n for n in (user, host, host.partition(".")[0]) if len(n) > 3 and n.lower() not in _COMMON}
    if not names:
        return None
    return re.compile(rf"\b(?:{_any_of(names)})\b")


@cache
def _folders() -> dict[str, str]:
    """Folders of this machine, and what stands for each where it is named alone."""
    folders = {f"/{top}": f"/{top}" for top in _TOPS if Path("/", top).is_dir()}
    temporary = Path(os.environ.get("TMPDIR", "/tmp"))
    folders.setdefault(str(temporary), temporary.name)
    with suppress(OSError):  # the folder was removed meanwhile
        folders |= {str(folder): folder.name for folder in (Path.cwd(), Path(__file__).parents[2])}
    if user := _names()[0]:
        folders |= {f"/home/{user}": "~", f"/Users/{user}": "~"}
    with suppress(RuntimeError):  # no home
        folders[str(Path.home())] = "~"
    return {folder: alone for folder, alone in folders.items() if folder.startswith("/") and folder != "/"}


@cache
def _paths() -> re.Pattern[str]:
    return re.compile(rf"{_BEGINS}({_any_of(_folders())})(?![\w.-]){_PARTS}")


def _any_of(texts: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, texts), key=len, reverse=True))


def scrub(text: str) -> str:
    """`text` without this machine's paths, names and addresses.

    >>> scrub('File "/home/ann/.venv/lib/python3.11/site-packages/numpy/x.py", line 3')
    'File "numpy/x.py", line 3'
    >>> scrub("No such file: '/tmp/tw-81/data.csv'")
    "No such file: 'data.csv'"
    >>> scrub("a / b / c and 3/4 and https://example.org/usr/lib/x")
    'a / b / c and 3/4 and https://example.org/usr/lib/x'
    """
    text = _FILE_URL.sub("", text)
    text = _PACKAGES.sub("", text)
    text = _STDLIB.sub("", text)
    text = _TRACEBACK.sub("", text)
    text = _paths().sub(lambda found: found[2].rpartition("/")[2] or _folders()[found[1]], text)
    text = _WINDOWS.sub(lambda found: found[1].rpartition("\\")[2] or "~", text)
    text = _ADDRESS.sub("0x…", text)
    private = _private()
    return private.sub("someone", text) if private else text
