"""The journal in an SQLite file: one table of events, one of texts, write-ahead log, committed event by event.

Durable against a killed process. With `synchronous=NORMAL` a power cut may lose the last commits, never the file.
Readers never block the writer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewright.core.errors import JournalError
from treewright.core.events import Event, RunEnded, RunStarted
from treewright.journal.base import PLAIN, Entry, RunLine, Shapes
from treewright.journal.codec import decode, encode, unpack

if TYPE_CHECKING:
    import sqlalchemy as sa

#: Version of the tables. A file with a higher one was written by a newer treewright.
SCHEMA = 1


class SQLiteJournal:
    """A journal in one file.

    Args:
        path: the file; it and its folder are made when the first event is written.
        must_exist: refuse to make a new file (for reading what is there).

    Raises:
        JournalError: the file cannot be used: not a journal, from a newer version, in a folder that cannot be written.
    """

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        import sqlalchemy as sa

        from treewright.journal.tables import connect, tables

        self._path = path
        self._clock = time.time
        if must_exist and not path.exists():
            raise JournalError(f"there is no journal at {path}: run something first, or name one with --journal FILE")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(_unwritable(path, error.strerror or str(error))) from error
        self._tables = tables()
        self._engine = connect(path)
        with self._faults():
            self._connection = self._engine.connect()
            self._prepare(sa)
        self._last: dict[str, int] = {}

    def _prepare(self, sa: Any) -> None:
        found = self._connection.exec_driver_sql("pragma user_version").scalar_one()
        if found > SCHEMA:
            raise JournalError(
                f"the journal {self._path} was written by a newer treewright (schema {found}, this one reads up to {SCHEMA}): "
                "upgrade treewright, or name another file with --journal FILE"
            )
        names = set(sa.inspect(self._connection).get_table_names())
        if found == 0 and names:
            raise JournalError(f"{self._path} is a database, but not a treewright journal: name another with --journal FILE")
        if found == 0:
            self._tables.create_all(self._connection)
            self._connection.exec_driver_sql(f"pragma user_version = {SCHEMA}")
        self._connection.commit()

    def append(self, run: str, event: Event) -> None:
        """Write one event; it is committed when this returns. See `Journal.append`."""
        row = encode(event)
        events, texts = self._tables.events, self._tables.texts
        with self._faults():
            if run not in self._last:
                self._last[run] = self._last_seq(run)
            seq = self._last[run] + 1
            with self._connection.begin():
                for digest, body in row.texts.items():
                    self._connection.execute(texts, {"hash": digest, "body": body})
                values = {
                    "run": run, "seq": seq, "at": round(self._clock(), 3), "kind": row.kind, "body": row.body,
                    "executions": row.executions, "calls": row.calls, "tokens": row.tokens, "dollars": row.dollars,
                }  # fmt: skip
                self._connection.execute(events, values)
            self._last[run] = seq

    def _last_seq(self, run: str) -> int:
        with self._connection.begin():
            return int(self._connection.execute(self._tables.last_seq, {"of": run}).scalar_one() or 0)

    def read(self, run: str, shapes: Shapes = PLAIN) -> Iterator[Entry]:
        """All events of a run, in order. See `Journal.read`."""
        with self._faults(), self._engine.connect() as reader:
            text = _texts(reader, self._tables.text)
            for row in reader.execute(self._tables.of_run, {"of": run}):
                try:
                    yield Entry(row.seq, row.at, decode(row.kind, row.body, text, shapes))
                except ValueError as error:
                    raise JournalError(f"event {row.seq} of run {run} in {self._path} cannot be read: {error}") from error

    def runs(self) -> list[RunLine]:
        """All runs, newest first. See `Journal.runs`."""
        with self._faults(), self._engine.connect() as reader:
            text = _texts(reader, self._tables.text)
            starts = {r.run: decode("run_started", r.body, text, PLAIN) for r in reader.execute(self._tables.starts)}
            ends = {r.run: decode("run_ended", r.body, text, PLAIN) for r in reader.execute(self._tables.ends)}
            lines = []
            for row in reader.execute(self._tables.sums):
                start, end = starts.get(row.run), ends.get(row.run)
                spec = start.spec if isinstance(start, RunStarted) else {}
                ended = end if isinstance(end, RunEnded) else None
                costs = (row.executions, row.calls, row.tokens, row.dollars)
                lines.append(RunLine(row.run, row.started, row.updated, spec, ended, *costs))
        return sorted(lines, key=lambda line: (line.started, line.run), reverse=True)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._engine.dispose()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn the database's errors into one sentence each."""
        from sqlalchemy.exc import DatabaseError, IntegrityError

        try:
            yield
        except IntegrityError as error:
            raise JournalError(f"another process is writing this run in {self._path}: let it end, then resume") from error
        except DatabaseError as error:
            raise JournalError(_sentence(self._path, str(error.orig))) from error


def _texts(reader: sa.Connection, statement: Any) -> Any:
    cache: dict[bytes, str] = {}

    def text(digest: bytes) -> str:
        if digest not in cache:
            body = reader.execute(statement, {"of": digest}).scalar_one_or_none()
            if body is None:
                raise ValueError(f"the text {digest.hex()} is missing")
            cache[digest] = unpack(body)
        return cache[digest]

    return text


def _sentence(path: Path, cause: str) -> str:
    if "readonly" in cause or "unable to open" in cause:
        return _unwritable(path, cause)
    if "full" in cause:
        return f"the disk is full: the journal {path} cannot be written; free some space and resume the run"
    if "not a database" in cause or "malformed" in cause:
        return f"{path} is not a treewright journal, or is damaged ({cause}): name another with --journal FILE"
    return f"the journal {path} failed: {cause}"


def _unwritable(path: Path, cause: str) -> str:
    return f"the journal {path} cannot be written ({cause}): name a file in a folder you may write with --journal FILE"
