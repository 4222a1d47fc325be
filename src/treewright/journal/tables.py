"""The tables of the journal and its few statements, in SQLAlchemy Core."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from treewright.journal.texts import LONG

_META = sa.MetaData()
#: A run has room for this many events.
_EVENTS = 1 << 32

#: A run has a number, so that its events need not repeat its id, and its costs so far, so that no event is read for them.
_RUN = sa.Table(
    "run",
    _META,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("started", sa.Float, nullable=False),
    sa.Column("executions", sa.Integer, nullable=False, default=0),
    sa.Column("calls", sa.Integer, nullable=False, default=0),
    sa.Column("tokens", sa.Integer, nullable=False, default=0),
    sa.Column("dollars", sa.Float, nullable=False, default=0.0),
    sqlite_with_rowid=False,
)
#: One number for run and place (`place`), since SQLite packs a table of growing numbers most tightly. "ms": since the start.
_EVENT = sa.Table(
    "event",
    _META,
    sa.Column("place", sa.Integer, primary_key=True),
    sa.Column("ms", sa.Integer, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
#: The checksum shows when a text is damaged, and finds long ones again: an index of all would be longer than many of them.
_TEXT = sa.Table(
    "text",
    _META,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("checksum", sa.Integer, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
_LONG = sa.func.length(_TEXT.c.body) >= sa.literal_column(str(LONG))
sa.Index("long_text", _TEXT.c.checksum, sqlite_where=_LONG)


@dataclass(frozen=True, slots=True)
class Tables:
    """The statements of the journal, made once."""

    new_run: Any
    run_of: Any
    add_costs: Any
    new_event: Any
    events_of: Any
    new_text: Any
    long_texts: Any
    text_of: Any
    runs: Any

    def create_all(self, connection: sa.Connection) -> None:
        """Make the tables."""
        _META.create_all(connection, checkfirst=False)


def place(run: int, seq: int) -> int:
    """Where an event stands: the number of its run, and its own within that, from 1."""
    return run * _EVENTS + seq


def tables() -> Tables:
    """The statements."""
    run, event, text = _RUN.c, _EVENT.c, _TEXT.c
    of: sa.BindParameter[Any] = sa.bindparam("of")
    next_number = sa.select(sa.func.coalesce(sa.func.max(run.number), 0) + 1).correlate(None).scalar_subquery()
    more = {name: run[name] + sa.bindparam(f"more_{name}") for name in ("executions", "calls", "tokens", "dollars")}
    own = event.place.between(run.number * _EVENTS, run.number * _EVENTS + (_EVENTS - 1))
    first, last = _EVENT.alias(), _EVENT.alias()
    begin, end = (
        sa.select(bound(event.place)).where(own).correlate(_RUN).scalar_subquery() for bound in (sa.func.min, sa.func.max)
    )
    bounds = _RUN.join(first, first.c.place == begin).join(last, last.c.place == end)
    return Tables(
        new_run=insert(_RUN).values(number=next_number).on_conflict_do_nothing(),
        run_of=sa.select(run.number, run.started).where(run.id == of),
        add_costs=sa.update(_RUN).where(run.id == of).values(more),
        new_event=sa.insert(_EVENT),
        events_of=sa.select((event.place % _EVENTS).label("seq"), run.started, event.ms, event.body)
        .join(_RUN, own)
        .where(run.id == of)
        .order_by(event.place),
        new_text=sa.insert(_TEXT).returning(text.number),
        long_texts=sa.select(text.number, text.body).where(text.checksum == of, _LONG),
        text_of=sa.select(text.checksum, text.body).where(text.number == of),
        runs=sa.select(_RUN, first.c.body.label("start"), last.c.ms, last.c.body.label("end")).select_from(bounds),
    )


def connect(path: Path) -> sa.Engine:
    """An engine on the file, patient with other writers."""
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)))

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        for pragma in ("synchronous = normal", "busy_timeout = 5000"):
            connection.execute(f"pragma {pragma}")

    return engine
