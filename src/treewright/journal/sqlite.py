"""The journal in an SQLite file: tables of runs, events and texts, write-ahead log, committed event by event.

Durable against a killed process. With `synchronous=NORMAL` a power cut may lose the last commits, never the file.
Readers never block the writer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from treewright.core.errors import JournalError
from treewright.core.events import Event, ModelCalled, NodeEvaluated, RunEnded, RunStarted
from treewright.journal.base import PLAIN, Entry, RunLine, Shapes
from treewright.journal.claims import Claims
from treewright.journal.codec import decode, encode
from treewright.journal.texts import Keeper, finder

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
        from treewright.journal.tables import connect, place, tables

        self._path = path
        self._clock = clock
        self._seen: dict[str, int] = {}  # run -> number of its last event that was read or written here
        self._held: dict[str, tuple[int, float]] = {}  # run -> its number and start, for those nobody else may write now
        self._claims = Claims(Path(f"{path}-lock"))
        self._tables, self._place = tables(), place
        self._engine = connect(path)
        with self._faults():
            if path.is_dir():
                raise JournalError(f"{path} is a folder: name a file in it with --journal FILE")
            if must_exist and not path.exists():
                raise JournalError(f"there is no journal at {path}: run something first, or name one with --journal FILE")
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._engine.connect()
            self._texts = Keeper(self._connection, self._tables)
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
        known = self._recognized()
        self._connection.commit()
        if not known:
            with self._writing():
                if not self._recognized():  # two processes may begin at once
                    self._tables.create_all(self._connection)
                    self._connection.exec_driver_sql(f"pragma application_id = {APPLICATION}")
                    self._connection.exec_driver_sql(f"pragma user_version = {SCHEMA}")
        self._write_ahead()

    def _recognized(self) -> bool:
        """Whether the file is a journal that can be read; False when it is empty. Leaves any other file as it is."""
        ask = self._connection.exec_driver_sql
        # subtle: in this order, or a file that another process makes in between would look like that of another program.
        used = ask("select count(*) from sqlite_master").scalar_one()
        ours = ask("pragma application_id").scalar_one() == APPLICATION
        version = ask("pragma user_version").scalar_one()
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
        with self._faults():
            if self._identity() != self._file:
                raise JournalError(f"the journal {self._path} was moved or replaced meanwhile: nothing more is written to it")
            number, started = self._hold(run)
            seq = self._seen.get(run, 0) + 1
            ms = round((self._clock() - started) * 1000)
            execute, tables = self._connection.execute, self._tables
            with self._writing():
                body = encode(event, self._texts.keep)
                execute(tables.new_event, {"place": self._place(number, seq), "ms": ms, "body": body})
                if costs := _costs(event):
                    execute(tables.add_costs, {"of": run, **costs})
            self._seen[run] = seq
            if isinstance(event, RunEnded):
                self._claims.give_back(self._lock_of(self._held.pop(run)[0]))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction that no other writer can get in between."""
        try:
            with self._connection.begin():
                self._connection.exec_driver_sql("begin immediate")
                yield
        except BaseException:
            self._texts.forget()
            raise

    def _hold(self, run: str) -> tuple[int, float]:
        """The run's number and start, once nobody else can write it."""
        if run not in self._held:
            with self._writing():
                self._connection.execute(self._tables.new_run, {"id": run, "started": round(self._clock(), 3)})
                found = self._connection.execute(self._tables.run_of, {"of": run}).one()
            if not self._claims.take(self._lock_of(found.number)):
                raise JournalError(f"another process is at work on run {run}: let it end, or stop it, and then resume")
            self._held[run] = found.number, found.started
        return self._held[run]

    def read(self, run: str, shapes: Shapes = PLAIN) -> Iterator[Entry]:
        """All events of a run, in order. See `Journal.read`."""
        with self._faults(), self._engine.connect() as reader:
            text = finder(reader, self._tables)
            seq = 0
            for row in reader.execute(self._tables.events_of, {"of": run}):
                seq += 1
                try:
                    if row.seq != seq:
                        raise ValueError("it is missing")
                    event = decode(row.body, text, shapes)
                except ValueError as error:
                    raise JournalError(f"event {seq} of run {run} in {self._path} cannot be read: {error}") from error
                yield Entry(seq, round(row.started + row.ms / 1000, 3), event)
            if run not in self._held:
                self._seen[run] = seq

    def runs(self) -> list[RunLine]:
        """All runs, newest first. See `Journal.runs`."""
        with self._faults(), self._engine.connect() as reader:
            text = finder(reader, self._tables)
            lines = []
            for row in reader.execute(self._tables.runs):
                start, end = _readable(row.start, text), _readable(row.end, text)
                spec = start.spec if isinstance(start, RunStarted) else {}
                ended = end if isinstance(end, RunEnded) else None
                running = row.id in self._held or self._claims.held_elsewhere(self._lock_of(row.number))
                costs = (row.executions, row.calls, row.tokens, row.dollars)
                updated = round(row.started + row.ms / 1000, 3)
                lines.append(RunLine(row.id, row.started, updated, spec, ended, running, *costs))
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
            raise JournalError(
                f"the run has moved on in {self._path} since it was read: another process has it; resume it after that"
            ) from error
        except DBAPIError as error:
            raise JournalError(_sentence(self._path, str(error.orig))) from error
        except FileExistsError as error:
            raise JournalError(_unwritable(self._path, f"{self._path.parent} is no folder")) from error
        except OSError as error:
            raise JournalError(_unwritable(self._path, error.strerror or str(error))) from error


def _readable(body: bytes, text: Callable[[int], str]) -> Event | None:
    """The event, None when it is damaged: one bad run must not hide the others."""
    try:
        return decode(body, text, PLAIN)
    except ValueError:
        return None


def _costs(event: Event) -> dict[str, float]:
    """What the event was charged, for the statement that adds it up; empty when nothing."""
    match event:
        case NodeEvaluated():
            return {"more_executions": 1, "more_calls": 0, "more_tokens": 0, "more_dollars": 0.0}
        case ModelCalled(spent=spent):
            return {
                "more_executions": 0, "more_calls": spent.calls, "more_tokens": spent.tokens, "more_dollars": spent.dollars
            }  # fmt: skip
        case _:
            return {}


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
