"""The journal in a file: which files it takes, what happens when the file goes bad under it, and how large it grows."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from conformance.journal_suite import ENDED, STARTED, called, evaluated, kept
from treewright.core.errors import JournalError
from treewright.core.events import BudgetChanged, RunStarted
from treewright.journal.sqlite import APPLICATION, SCHEMA, SQLiteJournal

WRITER = """
import sys
from pathlib import Path
from conformance.journal_suite import STARTED, called
from treewright.core.errors import JournalError
from treewright.journal.sqlite import SQLiteJournal

path, run, events = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
journal = SQLiteJournal(path)
journal.append(run, STARTED)
for number in range(1, events + 1):
    journal.append(run, called(number, reply="a text that all of the writers share, long enough to be packed. " * 60))
print("wrote", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@contextmanager
def writers(path: Path, runs: list[str], events: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that each wait for a line, write a run, and wait for another line."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # what pytest put there included
    command = [sys.executable, "-c", WRITER, str(path)]
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen([*command, run, str(events)], stdin=pipe, stdout=pipe, text=True, env=environment) for run in runs
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def told(process: subprocess.Popen[str], line: str = "go\n") -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def refusal(path: Path, *, must_exist: bool = False) -> str:
    """The one sentence with which a file is refused."""
    with pytest.raises(JournalError) as caught:
        SQLiteJournal(path, must_exist=must_exist)
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    assert caught.value.exit_status == 2
    return text


def database(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def a_journal(path: Path, run: str = "a") -> Path:
    """A journal with one run of four events; nobody holds it."""
    with closing(SQLiteJournal(path)) as journal:
        for event in (STARTED, called(1, reply="a reply that is too long for a line " * 9), evaluated("0.0"), ENDED):
            journal.append(run, event)
    return path


def test_processes_that_begin_at_once_share_one_file(path: Path) -> None:
    runs = [f"run-{number}" for number in range(4)]
    with writers(path, runs, events=25) as processes:
        for process in processes:
            told(process)
        assert [heard(process) for process in processes] == ["wrote"] * 4
        with closing(SQLiteJournal(path)) as journal:
            assert sorted(line.run for line in journal.runs() if line.running) == runs
            for run in runs:
                assert [type(event).__name__ for event in kept(journal, run)] == ["RunStarted"] + ["ModelCalled"] * 25
            with pytest.raises(JournalError, match="another process is at work on run run-2"):
                journal.append("run-2", called(26))
        os.kill(processes[2].pid, signal.SIGKILL)
        processes[2].wait()
        with closing(SQLiteJournal(path)) as journal:
            assert sorted(line.run for line in journal.runs() if not line.running) == ["run-2"]
            assert len(kept(journal, "run-2")) == 26
            journal.append("run-2", ENDED)  # what was left behind can be taken up


def test_many_threads_can_make_one_file_at_once(tmp_path: Path) -> None:
    for attempt in range(5):
        path, troubles = tmp_path / f"{attempt}.db", list[str]()
        barrier = threading.Barrier(6)

        def make(path: Path = path, barrier: threading.Barrier = barrier, troubles: list[str] = troubles) -> None:
            barrier.wait()
            try:
                with closing(SQLiteJournal(path)) as journal:
                    journal.append(str(threading.get_ident()), STARTED)
            except JournalError as error:
                troubles.append(str(error))

        threads = [threading.Thread(target=make) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert troubles == []
        with closing(SQLiteJournal(path)) as journal:
            assert len(journal.runs()) == 6


@pytest.mark.parametrize("where", ["/proc/journal.db", "below a file", "a name too long"])
def test_a_place_that_cannot_be_written_is_refused(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    places = {"below a file": tmp_path / "file" / "x" / "j.db", "a name too long": tmp_path / ("x" * 300)}
    said = refusal(places.get(where, Path(where)))
    assert "name a" in said
    assert "--journal FILE" in said


READ_ONLY = """
mount -t tmpfs tmpfs "$1" && cp "$2" "$1/old.db" && mount -o remount,ro "$1" || exit 77
exec "$0" -c "$3" "$1"
"""
OPEN = """
import sys
from pathlib import Path
from treewright.core.errors import JournalError
from treewright.journal.sqlite import SQLiteJournal

for name in ("new.db", "below/new.db", "old.db"):
    try:
        SQLiteJournal(Path(sys.argv[1]) / name)
    except JournalError as error:
        print(error)
"""


def test_a_read_only_folder_is_refused(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mounted"
    folder.mkdir()
    command = ["unshare", "-m", "sh", "-c", READ_ONLY, sys.executable, str(folder), str(a_journal(path)), OPEN]
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare to mount a folder read-only")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode in (1, 77):
        pytest.skip(f"this user may mount nothing: {done.stderr.strip()}")
    said = done.stdout.splitlines()
    assert done.stderr == ""
    assert len(said) == 3
    for line, name in zip(said, ("new.db", "below/new.db", "old.db"), strict=True):
        assert line.startswith(f"the journal {folder}/{name} cannot be written (")
        assert line.endswith("name a file in a folder you may write with --journal FILE")


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_text("prompt = 'a task, not a journal'\n" * 100)
    before = path.read_bytes()
    assert "is not a treewright journal" in refusal(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 99])
def test_the_database_of_another_program_is_refused_and_left_alone(path: Path, version: int) -> None:
    database(path, "create table event(run, seq)", f"pragma user_version = {version}")
    before = path.read_bytes()
    assert "is a database, but not a treewright journal" in refusal(path)
    assert path.read_bytes() == before


def test_a_journal_from_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    a_journal(path)
    database(path, f"pragma user_version = {SCHEMA + 1}")
    before = path.read_bytes()
    said = refusal(path)
    assert "newer treewright" in said
    assert "upgrade treewright" in said
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_journal(path: Path) -> None:
    path.touch()
    a_journal(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma application_id").fetchone() == (APPLICATION,)
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)


def test_a_maker_that_was_killed_half_way_leaves_nothing_half_made(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        other.execute("create table run(number)")  # never committed
    a_journal(path)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


def fill(journal: SQLiteJournal) -> int:
    """Write until it fails; how many events are in then."""
    written = 0

    def write() -> None:
        nonlocal written
        while written < 10_000:
            journal.append("a", called(written + 1, reply=os.urandom(2000).hex()))
            written += 1

    with pytest.raises(JournalError) as caught:
        write()
    assert "\n" not in str(caught.value)
    assert "free some space" in str(caught.value)
    assert "resume" in str(caught.value)
    return written


@pytest.mark.parametrize("how", ["no room for a page", "no room in the file system"])
def test_a_full_disk_loses_nothing_that_was_written(path: Path, how: str) -> None:
    with closing(SQLiteJournal(path)) as journal:
        journal.append("a", STARTED)
        if how == "no room for a page":
            journal._connection.exec_driver_sql("pragma max_page_count = 40")
            journal._connection.commit()
            written = fill(journal)
            journal._connection.exec_driver_sql("pragma max_page_count = 100000")
            journal._connection.commit()
        else:
            with file_size_limit(300_000):
                written = fill(journal)
        assert written > 10
        with closing(SQLiteJournal(path)) as other:
            assert len(kept(other, "a")) == 1 + written
        journal.append("a", called(written + 1))  # there is room again: the same run goes on
        assert len(kept(journal, "a")) == 2 + written


def test_texts_of_an_event_that_was_not_written_are_not_taken_for_stored(path: Path) -> None:
    long = os.urandom(3000).hex()
    with closing(SQLiteJournal(path)) as journal:
        journal.append("a", STARTED)
        pages = journal._connection.exec_driver_sql("pragma page_count").scalar_one()
        journal._connection.exec_driver_sql(f"pragma max_page_count = {pages + 3}")
        journal._connection.commit()
        with pytest.raises(JournalError):
            journal.append("a", called(1, reply=long + os.urandom(50_000).hex()))
        with pytest.raises(JournalError):
            journal.append("a", RunStarted({"first": long, "second": os.urandom(50_000).hex()}))
        journal._connection.exec_driver_sql("pragma max_page_count = 100000")
        journal._connection.commit()
        journal.append("a", called(1, reply=long))
        assert kept(journal, "a") == [STARTED, called(1, reply=long)]


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_journal_that_goes_away_stops_the_run(path: Path, how: str, tmp_path: Path) -> None:
    with closing(SQLiteJournal(path)) as journal:
        journal.append("a", STARTED)
        if how == "moved":
            path.rename(tmp_path / "elsewhere.db")
        else:
            path.unlink()
        if how == "replaced":
            other = SQLiteJournal(path)
            other.append("b", STARTED)  # it is another file: nobody is at work there
            other.close()
        with pytest.raises(JournalError, match="was moved or replaced meanwhile") as caught:
            journal.append("a", called(1))
        assert "\n" not in str(caught.value)


def test_another_program_that_holds_the_file_is_named(path: Path) -> None:
    with closing(SQLiteJournal(path)) as journal:
        journal.append("a", STARTED)
        journal._connection.exec_driver_sql("pragma busy_timeout = 50")
        journal._connection.commit()
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin immediate")
            with pytest.raises(JournalError, match="is held by another program"):
                journal.append("a", called(1))
            other.execute("rollback")
        journal.append("a", called(1))
        assert kept(journal, "a") == [STARTED, called(1)]


DAMAGES: dict[str, tuple[str, str]] = {
    "a body is cut": (
        "update event set body = substr(body, 1, 9) where place % 4294967296 = 2",
        "event 2 of run a .* cut short",
    ),
    "a body is empty": ("update event set body = x'' where place % 4294967296 = 3", "event 3 of run a"),
    "a body is nothing": ("update event set body = 'text' where place % 4294967296 = 2", "event 2 of run a"),
    "an event is missing": ("delete from event where place % 4294967296 = 2", "event 2 of run a .* missing"),
    "the first is missing": ("delete from event where place % 4294967296 = 1", "event 1 of run a .* missing"),
    "a text is cut": ("update text set body = substr(body, 1, 9)", "event 2 of run a .* cut short"),
    "a text is another": ("update text set checksum = checksum + 1", "event 2 of run a .* damaged"),
    "a text is missing": ("delete from text", "event 2 of run a .* missing"),
    "a table is missing": ("drop table text", "no such table"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_one_sentence_and_hides_no_other(path: Path, damage: str) -> None:
    statement, says = DAMAGES[damage]
    a_journal(path, "a")
    database(path, statement)
    with closing(SQLiteJournal(path)) as journal:
        with pytest.raises(JournalError, match=says) as caught:
            kept(journal, "a")
        assert "\n" not in str(caught.value)
        if damage != "a table is missing":
            journal.append("b", STARTED)
            assert {line.run for line in journal.runs()} == {"a", "b"}
            assert kept(journal, "b") == [STARTED]


def test_pages_of_rubbish_are_one_sentence(path: Path) -> None:
    a_journal(path)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\x07" * (path.stat().st_size - 4096))
    with pytest.raises(JournalError, match="is damaged") as caught, closing(SQLiteJournal(path)) as journal:
        kept(journal, "a")
    assert "\n" not in str(caught.value)


def count(path: Path, statement: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(statement).fetchone()[0])


def test_a_text_is_stored_once(path: Path) -> None:
    short, long = "the same question is asked again and again", os.urandom(4000).hex()
    for run in ("a", "b"):
        with closing(SQLiteJournal(path)) as journal:
            for number in range(1, 6):
                journal.append(run, called(number, reply=short))
                journal.append(run, called(number, reply=long))
    assert count(path, "select count(*) from text where length(body) > 2000") == 1, "long ones once for all writers"
    assert count(path, "select count(*) from text where length(body) < 2000") == 2, "short ones once a writer"
    with closing(SQLiteJournal(path)) as journal:
        assert [event.reply for event in kept(journal, "b")] == [short, long] * 5  # type: ignore[union-attr]


def test_rows_cost_little_beside_the_texts(path: Path) -> None:
    def write(calls: int) -> None:
        with closing(SQLiteJournal(path)) as journal:
            journal.append("a", STARTED)
            for number in range(1, calls + 1):
                journal.append("a", BudgetChanged(number, called(number).spent))
                journal.append("a", called(number))

    write(500)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    assert path.stat().st_size / 500 < 200


def test_a_copy_of_the_file_is_a_copy_of_the_journal(path: Path, tmp_path: Path) -> None:
    a_journal(path)
    shutil.copy(path, tmp_path / "copy.db")
    with closing(SQLiteJournal(path)) as journal, closing(SQLiteJournal(tmp_path / "copy.db", must_exist=True)) as copy:
        assert kept(copy, "a") == kept(journal, "a")
        journal.append("a", STARTED)
        copy.append("a", STARTED)  # two files, two writers
