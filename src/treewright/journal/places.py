"""Where journals lie, and how one is opened by name."""

from __future__ import annotations

import os
from pathlib import Path

from treewright.core.errors import JournalError
from treewright.journal.base import Journal

#: Names the journal when no option does.
JOURNAL_VARIABLE = "TREEWRIGHT_JOURNAL"


def default_path() -> Path:
    """The file named in TREEWRIGHT_JOURNAL, else the user's own journal."""
    named = os.environ.get(JOURNAL_VARIABLE, "").strip()
    if named:
        return expanded(Path(named))
    from platformdirs import user_data_path

    return user_data_path("treewright", appauthor=False) / "journal.db"


def open_journal(path: Path, *, must_exist: bool = False) -> Journal:
    """The journal in the file `path`, made if it is not there.

    Raises:
        JournalError: it cannot be opened, or is not there and must be.
    """
    from treewright.journal.sqlite import SQLiteJournal

    return SQLiteJournal(expanded(path), must_exist=must_exist)


def expanded(path: Path) -> Path:
    """The path with "~" replaced.

    Raises:
        JournalError: nobody knows that home.
    """
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise JournalError(f"the journal {path} cannot be found: there is no such home") from error
