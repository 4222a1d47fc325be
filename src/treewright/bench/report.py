"""The figures of a benchmark run, for all items and for each domain, as plain values, text and Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from treewright.bench.rows import Row

ALL = "all"


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over items; of an item with several seeds its own mean counts.

    Args:
        domain: which items; "all" for all.
        items: how many different ones.
        graded: how many of them have an expected answer.
        runs: items times seeds.
        correct: share of right answers among those graded, in [0, 1]; None when none is graded.
        error: standard error of `correct` over items; None for fewer than two.
        original: the share by the benchmark's own rule; None where it has none.
        verified: share of the runs whose answer the method stands by.
        turns: layers, or turns, of a run.
        words: words the models wrote in a run.
        tokens: of a run, input and output.
        calls: calls of models in a run.
        tool_calls: calls of tools in a run.
        seconds: wall time of a run.
    """

    domain: str
    items: int
    graded: int
    runs: int
    correct: float | None
    error: float | None
    original: float | None
    verified: float
    turns: float
    words: float
    tokens: float
    calls: float
    tool_calls: float
    seconds: float


def figures(rows: Sequence[Row]) -> list[Figures]:
    """One for each domain in the order of the rows, then one for all; empty without rows."""
    if not rows:
        return []
    domains = list(dict.fromkeys(row.domain for row in rows))
    each = [_figures(domain, [row for row in rows if row.domain == domain]) for domain in domains]
    return [*(each if len(each) > 1 else []), _figures(ALL, rows)]


def _figures(domain: str, rows: Sequence[Row]) -> Figures:
    def mean(value: Callable[[Row], float]) -> float:
        return fmean(map(value, rows))

    right = list(_shares(rows, lambda row: row.correct).values())
    original = list(_shares(rows, lambda row: row.original).values())
    return Figures(
        domain=domain,
        items=len({row.name for row in rows}),
        graded=len(right),
        runs=len(rows),
        correct=fmean(right) if right else None,
        error=stdev(right) / math.sqrt(len(right)) if len(right) > 1 else None,
        original=fmean(original) if original else None,
        verified=mean(lambda row: row.outcome.verified),
        turns=mean(lambda row: row.outcome.layers),
        words=mean(lambda row: row.outcome.words),
        tokens=mean(lambda row: row.outcome.tokens),
        calls=mean(lambda row: row.outcome.calls),
        tool_calls=mean(lambda row: row.outcome.tool_calls),
        seconds=mean(lambda row: row.outcome.seconds),
    )


def _shares(rows: Sequence[Row], grade: Callable[[Row], bool | None]) -> dict[str, float]:
    """For each item that has grades, the share of right ones over its seeds."""
    grades: dict[str, list[bool]] = {}
    for row in rows:
        given = grade(row)
        if given is not None:
            grades.setdefault(row.name, []).append(given)
    return {name: fmean(own) for name, own in grades.items()}


HEADINGS = (
    "domain", "tasks", "graded", "correct", "original rule", "verified", "turns", "words", "tokens", "calls", "tool calls", "s",
)  # fmt: skip


def cells(one: Figures) -> tuple[str, ...]:
    """The figures as a row below `HEADINGS`."""
    return (
        one.domain,
        str(one.items),
        str(one.graded),
        f"{_percent(one.correct)}{f' ± {one.error:.1%}' if one.error is not None else ''}",
        _percent(one.original),
        _percent(one.verified),
        *(f"{value:.1f}" for value in (one.turns, one.words)),
        f"{one.tokens:,.0f}",
        *(f"{value:.1f}" for value in (one.calls, one.tool_calls)),
        f"{one.seconds:.2f}",
    )


def text(all_figures: Sequence[Figures]) -> str:
    """A table for a terminal."""
    table = [HEADINGS, *map(cells, all_figures)]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADINGS))]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(wide) for cell, wide in zip(row[1:], widths[1:], strict=True))])
        for row in table
    )
    return "\n".join(line.rstrip() for line in lines)


def markdown(all_figures: Sequence[Figures]) -> str:
    """A table in Markdown."""
    lines = [HEADINGS, ("---", *("---:" for _ in HEADINGS[1:])), *map(cells, all_figures)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain(settings: Mapping[str, Any], all_figures: Sequence[Figures], rows: Sequence[Row]) -> dict[str, Any]:
    """Everything, for JSON."""
    return {**settings, "figures": [asdict(one) for one in all_figures], "rows": [asdict(row) for row in rows]}


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
