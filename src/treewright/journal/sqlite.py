"""The journal in an SQLite file: tables of runs, events and texts, write-ahead log, committed event by event.

Durable against a killed process. With `synchronous=NORMAL` a power cut may lose the last commits, never the file.
Readers never block the writer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewright.core.errors import JournalError
from treewright.core.events import Event, RunEnded, RunStarted
from treewright.journal.base import PLAIN, Entry, RunLine, Shapes
from treewright.journal.claims import Claims
from treewright.journal.codec import decode, encode, read_text

if TYPE_CHECKING:
    import sqlalchemy as sa

#: Version of the format. A file with a higher one was written by a newer treewright.
SCHEMA = 1
#: What SQLite's `application_id` says of our files: "Tree" in ASCII.
APPLICATION = 0x54726565
#: Seconds to wait for another process that is making or writing the file.
PATIENCE_S = 5.0


class SQLiteJournal:
    """A journal in one file, with "-lock" beside it for who writes which run.

    Args:
        path: the file; it and its folder are made if they are not there.
        must_exist: refuse to make a new file (for reading what is there).
        clock: seconds since 1970.

    Raises:
        JournalError: the file cannot be used: not a journal, from a newer version, in a folder that cannot be written.
    """

    def __init__(self, path: Path, *, must_exist: bool = False, clock: Callable[[], float] = time.time) -> None:
        from treewright.journal.tables import connect, tables

        self._path = path
        self._clock = clock
        self._seen: dict[str, int] = {}  # run -> number of its last event that was read or written here
        self._held: dict[str, int] = {}  # run -> its number, for runs that nobody else may write now
        self._claims = Claims(path.with_name(f"{path.name}-lock"))
        self._tables = tables()
        self._engine = connect(path)
        with self._faults():
            if path.is_dir():
                raise JournalError(f"{path} is a folder: name a file in it with --journal FILE")
            if must_exist and not path.exists():
                raise JournalError(f"there is no journal at {path}: run something first, or name one with --journal FILE")
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._engine.connect()
            try:
                self._prepare()
            except BaseException:
                self.close()
                raise
            self._file = self._identity()

    def _prepare(self) -> None:
        """Make the tables of a new file.

        Raises:
            JournalError: the file is no journal, or one from a newer version.
        """
        if not self._recognized():
            self._connection.exec_driver_sql("begin immediate")
            if not self._recognized():  # two processes may begin at once
                self._tables.create_all(self._connection)
                self._connection.exec_driver_sql(f"pragma application_id = {APPLICATION}")
                self._connection.exec_driver_sql(f"pragma user_version = {SCHEMA}")
            self._connection.commit()
        self._write_ahead()

    def _recognized(self) -> bool:
        """Whether the file is a journal that can be read; False when it is empty. Leaves any other file as it is."""
        ask = self._connection.exec_driver_sql
        ours = ask("pragma application_id").scalar_one() == APPLICATION
        version = ask("pragma user_version").scalar_one()
        used = ask("select count(*) from sqlite_master").scalar_one()
        self._connection.commit()
        if used and not ours:
            raise JournalError(f"{self._path} is a database, but not a treewright journal: name another with --journal FILE")
        if version > SCHEMA:
            raise JournalError(
                f"the journal {self._path} was written by a newer treewright (schema {version}, this one reads up to "
                f"{SCHEMA}): upgrade treewright, or name another file with --journal FILE"
            )
        return bool(used)

    def append(self, run: str, event: Event) -> None:
        """Write one event; it is committed when this returns. See `Journal.append`."""
        row = encode(event)
        with self._faults():
            if self._identity() != self._file:
                raise JournalError(
                    f"the journal {self._path} was moved or replaced during the run: nothing more is written to it"
                )
            number = self._hold(run)
            seq = self._seen.get(run, 0) + 1
            values = {
                "run": number, "seq": seq, "at": round(self._clock(), 3), "kind": row.kind, "body": row.body,
                "executions": row.executions, "calls": row.calls, "tokens": row.tokens, "dollars": row.dollars,
            }  # fmt: skip
            with self._connection.begin():
                for digest, body in row.texts.items():
                    self._connection.execute(self._tables.text, {"hash": digest, "body": body})
                self._connection.execute(self._tables.event, values)
            self._seen[run] = seq
            if isinstance(event, RunEnded):
                self._claims.give_back(self._lock_of(self._held.pop(run)))

    def _hold(self, run: str) -> int:
        """The run's number, once nobody else can write it."""
        if run not in self._held:
            with self._connection.begin():
                self._connection.execute(self._tables.new_run, {"id": run})
                number = int(self._connection.execute(self._tables.number, {"of": run}).scalar_one())
            if not self._claims.take(self._lock_of(number)):
                raise JournalError(f"another process is at work on run {run}: let it end, or stop it, and then resume")
            self._held[run] = number
        return self._held[run]

    def read(self, run: str, shapes: Shapes = PLAIN) -> Iterator[Entry]:
        """All events of a run, in order. See `Journal.read`."""
        with self._faults(), self._engine.connect() as reader:
            text = _texts(reader, self._tables.text_of)
            seq = 0
            for row in reader.execute(self._tables.events_of, {"of": run}):
                seq += 1
                try:
                    if row.seq != seq:
                        raise ValueError("it is missing")
                    event = decode(row.kind, row.body, text, shapes)
                except ValueError as error:
                    raise JournalError(f"event {seq} of run {run} in {self._path} cannot be read: {error}") from error
                yield Entry(seq, row.at, event)
            if run not in self._held:
                self._seen[run] = seq

    def runs(self) -> list[RunLine]:
        """All runs, newest first. See `Journal.runs`."""
        with self._faults(), self._engine.connect() as reader:
            text = _texts(reader, self._tables.text_of)
            starts = {r.run: _readable("run_started", r.body, text) for r in reader.execute(self._tables.starts)}
            ends = {r.run: _readable("run_ended", r.body, text) for r in reader.execute(self._tables.ends)}
            lines = []
            for row in reader.execute(self._tables.sums):
                start, end = starts.get(row.number), ends.get(row.number)
                spec = start.spec if isinstance(start, RunStarted) else {}
                ended = end if isinstance(end, RunEnded) else None
                running = row.id in self._held or self._claims.held_elsewhere(self._lock_of(row.number))
                costs = (row.executions, row.calls, row.tokens, row.dollars)
                lines.append(RunLine(row.id, row.started, row.updated, spec, ended, running, *costs))
        return sorted(lines, key=lambda line: (line.started, line.run), reverse=True)

    def close(self) -> None:
        """Close the file and let go of its runs. Can be called twice."""
        self._connection.close()
        self._engine.dispose()
        self._claims.close()
        self._held.clear()

    def _identity(self) -> tuple[int, int] | None:
        """Which file stands at the path now."""
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            return None
        return stat.st_dev, stat.st_ino

    def _lock_of(self, number: int) -> int:
        """The lock of a run. A file that was put in the place of another has other locks than that."""
        inode = self._file[1] if self._file else 0
        return (inode % (1 << 30) << 32) + number

    def _write_ahead(self) -> None:
        """Set the mode in which readers do not block the writer; it stays with the file."""
        from sqlalchemy.exc import OperationalError

        patient_until = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._connection.exec_driver_sql("pragma journal_mode = wal")
                self._connection.commit()
                return
            except OperationalError:  # subtle: for this change alone SQLite does not wait by itself
                self._connection.rollback()
                if time.monotonic() > patient_until:
                    raise
                time.sleep(0.01)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn the database's errors into one sentence each."""
        from sqlalchemy.exc import DBAPIError, IntegrityError

        try:
            yield
        except IntegrityError as error:
            raise JournalError(f"the run goes on elsewhere in {self._path}: wait until it has ended, then resume it") from error
        except DBAPIError as error:
            raise JournalError(_sentence(self._path, str(error.orig))) from error
        except OSError as error:
            raise JournalError(_unwritable(self._path, error.strerror or str(error))) from error


def _texts(reader: sa.Connection, statement: Any) -> Callable[[bytes], str]:
    cache: dict[bytes, str] = {}

    def text(digest: bytes) -> str:
        if digest not in cache:
            cache[digest] = read_text(digest, reader.execute(statement, {"of": digest}).scalar_one_or_none())
        return cache[digest]

    return text


def _readable(kind: str, body: bytes, text: Callable[[bytes], str]) -> Event | None:
    """The event, None when it is damaged: one bad run must not hide the others."""
    try:
        return decode(kind, body, text, PLAIN)
    except ValueError:
        return None


def _sentence(path: Path, cause: str) -> str:
    if "readonly" in cause or "unable to open" in cause:
        return _unwritable(path, cause)
    if "full" in cause or "disk I/O error" in cause:
        return f"the journal {path} cannot be written ({cause}): free some space on its disk and resume the run"
    if "not a database" in cause or "malformed" in cause:
        return f"{path} is not a treewright journal, or is damaged ({cause}): name another with --journal FILE"
    if "locked" in cause:
        return f"the journal {path} is held by another program ({cause}): let that end and resume the run"
    return f"the journal {path} failed: {cause}"


def _unwritable(path: Path, cause: str) -> str:
    return f"the journal {path} cannot be written ({cause}): name a file in a folder you may write with --journal FILE"
