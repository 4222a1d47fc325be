"""Names of the programming languages that tasks may be in: what a user writes, and what a model calls a block of code."""

from __future__ import annotations

from treewright.core.errors import UserError

#: The name in full -> others for it.
NAMES = {
    "python": ("py", "python3"),
    "c": (),
    "c++": ("cpp", "cxx", "cc"),
    "javascript": ("js", "node", "nodejs"),
    "java": (),
    "rust": ("rs",),
    "go": ("golang",),
}


def full_name(language: str) -> str:
    """The name in full of a language, whatever its case and whichever of its names is given.

    Raises:
        UserError: no task can be in it.

    >>> full_name("CPP")
    'c++'
    """
    for name, others in NAMES.items():
        if language.lower() in (name, *others):
            return name
    raise UserError(f"language is {language!r}, which is not known: use one of {', '.join(NAMES)}")


def names_of(language: str) -> frozenset[str]:
    """All names of a language, in lower case; of one that is not known, the one it is called by."""
    found = (frozenset((name, *others)) for name, others in NAMES.items() if language.lower() in (name, *others))
    return next(found, frozenset((language.lower(),)))
