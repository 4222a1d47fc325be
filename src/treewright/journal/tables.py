"""The tables of the journal and its few statements, in SQLAlchemy Core."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

_META = sa.MetaData()

_EVENT = sa.Table(
    "event",
    _META,
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    # What the event was charged, so that costs are sums and no body is read for them. NULL for the many that cost nothing.
    sa.Column("executions", sa.Integer),
    sa.Column("calls", sa.Integer),
    sa.Column("tokens", sa.Integer),
    sa.Column("dollars", sa.Float),
    sqlite_with_rowid=False,
)
_TEXT = sa.Table(
    "text",
    _META,
    sa.Column("hash", sa.LargeBinary, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)


@dataclass(frozen=True, slots=True)
class Tables:
    """The statements of the journal, made once."""

    events: Any
    texts: Any
    last_seq: Any
    of_run: Any
    text: Any
    starts: Any
    ends: Any
    sums: Any

    def create_all(self, connection: sa.Connection) -> None:
        """Make the tables that are not there."""
        _META.create_all(connection)


def tables() -> Tables:
    """The statements."""
    e = _EVENT.c
    of: sa.BindParameter[Any] = sa.bindparam("of")
    totals = [sa.func.coalesce(sa.func.sum(e[name]), 0).label(name) for name in ("executions", "calls", "tokens", "dollars")]
    last = sa.select(e.run, sa.func.max(e.seq).label("seq")).where(e.kind == "run_ended").group_by(e.run).subquery()
    latest = sa.select(e.run, sa.func.max(e.seq).label("seq")).where(e.kind == "run_started").group_by(e.run).subquery()
    # A run that was taken up again after it ended is running: only an end after the last start counts.
    over = sa.and_(_EVENT.c.run == last.c.run, _EVENT.c.seq == last.c.seq)
    return Tables(
        events=sa.insert(_EVENT),
        texts=insert(_TEXT).on_conflict_do_nothing(),
        last_seq=sa.select(sa.func.max(e.seq)).where(e.run == of),
        of_run=sa.select(e.seq, e.at, e.kind, e.body).where(e.run == of).order_by(e.seq),
        text=sa.select(_TEXT.c.body).where(_TEXT.c.hash == of),
        starts=sa.select(e.run, e.body).where(e.kind == "run_started", e.seq == 1),
        ends=sa.select(e.run, e.body).join(last, over).join(latest, sa.and_(latest.c.run == e.run, latest.c.seq < e.seq)),
        sums=sa.select(e.run, sa.func.min(e.at).label("started"), sa.func.max(e.at).label("updated"), *totals).group_by(e.run),
    )


def connect(path: Path) -> sa.Engine:
    """An engine on the file, in write-ahead mode, patient with other writers."""
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)))

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        for pragma in ("journal_mode = wal", "synchronous = normal", "busy_timeout = 5000"):
            connection.execute(f"pragma {pragma}")

    return engine
