"""The tables of the journal and its few statements, in SQLAlchemy Core."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

_META = sa.MetaData()

#: Runs have a number, so that their events need not repeat their ids.
_RUN = sa.Table(
    "run",
    _META,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
)
_EVENT = sa.Table(
    "event",
    _META,
    sa.Column("run", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
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

    new_run: Any
    number: Any
    event: Any
    text: Any
    events_of: Any
    text_of: Any
    starts: Any
    ends: Any
    sums: Any

    def create_all(self, connection: sa.Connection) -> None:
        """Make the tables."""
        _META.create_all(connection, checkfirst=False)


def tables() -> Tables:
    """The statements."""
    e, r = _EVENT.c, _RUN.c
    of: sa.BindParameter[Any] = sa.bindparam("of")
    # A run is over when an end is its last event; one that was taken up again after it has begun anew.
    last = sa.select(sa.func.max(e.seq)).where(e.run == r.number).correlate(_RUN).scalar_subquery()
    totals = [sa.func.coalesce(sa.func.sum(e[name]), 0).label(name) for name in ("executions", "calls", "tokens", "dollars")]
    times = sa.func.min(e.at).label("started"), sa.func.max(e.at).label("updated")
    return Tables(
        new_run=insert(_RUN).on_conflict_do_nothing(),
        number=sa.select(r.number).where(r.id == of),
        event=sa.insert(_EVENT),
        text=insert(_TEXT).on_conflict_do_nothing(),
        events_of=sa.select(e.seq, e.at, e.kind, e.body).join(_RUN, r.number == e.run).where(r.id == of).order_by(e.seq),
        text_of=sa.select(_TEXT.c.body).where(_TEXT.c.hash == of),
        starts=sa.select(e.run, e.body).join(_RUN, r.number == e.run).where(e.seq == 1, e.kind == "run_started"),
        ends=sa.select(e.run, e.body).join(_RUN, r.number == e.run).where(e.seq == last, e.kind == "run_ended"),
        sums=sa.select(r.id, r.number, *times, *totals).join(_EVENT, e.run == r.number).group_by(r.number),
    )


def connect(path: Path) -> sa.Engine:
    """An engine on the file, patient with other writers."""
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)))

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        for pragma in ("synchronous = normal", "busy_timeout = 5000"):
            connection.execute(f"pragma {pragma}")

    return engine
