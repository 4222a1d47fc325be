"""The `Journal` suite over every journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.journal_suite import CHECKS, Subject
from treewright.journal.base import Journal
from treewright.journal.sqlite import SQLiteJournal


def sqlite(folder: Path) -> Callable[[Callable[[], float]], Journal]:
    return lambda clock: SQLiteJournal(folder / "journal.db", clock=clock)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("open_in", [pytest.param(sqlite, id="sqlite")])
def test_every_journal(
    open_in: Callable[[Path], Callable[[Callable[[], float]], Journal]], check: Callable[[Subject], None], tmp_path: Path
) -> None:
    check(Subject(open_in(tmp_path)))
