"""Where journals lie."""

from contextlib import closing
from pathlib import Path

import pytest

from treewright.core.errors import JournalError
from treewright.core.events import RunStarted
from treewright.journal.places import default_path, expanded, open_journal


def test_the_environment_names_the_journal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", f" {tmp_path}/mine.db ")
    assert default_path() == tmp_path / "mine.db"


@pytest.mark.parametrize("value", ["", "  "])
def test_without_it_the_journal_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str) -> None:
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", value)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "treewright" / "journal.db"


def test_the_tilde_is_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", "~/mine.db")
    assert default_path() == tmp_path / "mine.db"
    with closing(open_journal(Path("~/other.db"))):
        assert (tmp_path / "other.db").exists()


def test_nobodys_home_is_one_sentence() -> None:
    with pytest.raises(JournalError, match="no such home"):
        expanded(Path("~nobody-of-that-name/x.db"))


def test_it_opens_what_is_there_and_makes_what_is_not_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "j.db"
    with closing(open_journal(path)) as journal:
        journal.append("a", RunStarted({}))
    with closing(open_journal(path, must_exist=True)) as journal:
        assert [line.run for line in journal.runs()] == ["a"]


def test_what_must_be_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="there is no journal at"):
        open_journal(tmp_path / "none.db", must_exist=True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="is a folder: name a file in it"):
        open_journal(tmp_path)
