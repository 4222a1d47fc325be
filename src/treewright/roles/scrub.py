"""Scrub: what goes to a model carries no path, user or host name of this machine, and no package location.

Tracebacks and error messages of programs are full of them: they cost tokens, help nobody, and tell a third party about the
machine. The names that matter (the file name, the line, the package) stay.
"""

from __future__ import annotations

import getpass
import re
import socket
from functools import cache

_FOLDER = r"(?:/[\w.+@~-]+)+"
#: /usr/lib/python3.11/site-packages/numpy/core/x.py -> numpy/core/x.py
_PACKAGES = re.compile(rf"{_FOLDER}/(?:site|dist)-packages/")
#: /usr/lib/python3.11/json/decoder.py -> json/decoder.py
_STDLIB = re.compile(rf"{_FOLDER}/python3(?:\.\d+)?(?:/lib-dynload)?/")
#: an absolute path below a folder where machines keep people's and programs' files -> its last part
_ABSOLUTE = re.compile(
    r"(?<![\w/:.<])/(?:home|root|Users|tmp|var|opt|usr|work|workspace|mnt|srv|private|data|run|proc|etc|nix|app)"
    r"(?:/[^\s/:'\"`<>|,;()\[\]{}]+)*/([^\s/:'\"`<>|,;()\[\]{}]+)"
)
_HOME = re.compile(r"(?<![\w/])/(?:home|Users)/[\w.-]+|(?<![\w/])/root\b")
_WINDOWS = re.compile(r"\b[A-Za-z]:\\(?:[^\s\\:*?\"<>|]+\\)+([^\s\\:*?\"<>|]+)")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,16}\b")
#: Names too common to be private: replacing them would garble the text.
_COMMON = frozenset(
    {"root", "user", "admin", "nobody", "runner", "localhost", "python", "test", "app", "main", "ubuntu", "debian"}
)


@cache
def _names() -> re.Pattern[str] | None:
    """This machine's user and host names, as whole words; None when they are too common to tell anything."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # no entry for this uid
        user = ""
    host = socket.gethostname()
    names = {n for n in (user, host, host.partition(".")[0]) if len(n) > 3 and n.lower() not in _COMMON}
    if not names:
        return None
    return re.compile(r"\b(?:" + "|".join(sorted(map(re.escape, names), key=len, reverse=True)) + r")\b")


def scrub(text: str) -> str:
    """`text` without this machine's paths, names and addresses.

    >>> scrub('File "/home/ann/.venv/lib/python3.11/site-packages/numpy/x.py", line 3')
    'File "numpy/x.py", line 3'
    >>> scrub("No such file: '/tmp/tw-81/data.csv'")
    "No such file: 'data.csv'"
    >>> scrub("a / b / c and 3/4 and https://example.org/usr/lib/x")
    'a / b / c and 3/4 and https://example.org/usr/lib/x'
    """
    text = _PACKAGES.sub("", text)
    text = _STDLIB.sub("", text)
    text = _ABSOLUTE.sub(r"\1", text)
    text = _HOME.sub("~", text)
    text = _WINDOWS.sub(r"\1", text)
    text = _ADDRESS.sub("0x…", text)
    names = _names()
    return names.sub("someone", text) if names else text
