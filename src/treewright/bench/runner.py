"""Runs a benchmark: every item with every seed, one answer each, graded once, never asked again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treewright.bench.items import Item, Solve
from treewright.bench.rows import Record, Row


async def run_bench(
    items: Sequence[Item],
    solve: Solve,
    record: Record,
    *,
    seeds: Sequence[int] = (0,),
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> list[Row]:
    """Solve what is not yet in the record, one after the other (a method works on several things at once itself).

    Args:
        items: the benchmark.
        solve: the method.
        record: an open one; rows are in it as soon as they are known.
        seeds: each item is solved once with each.
        progress: told the name of the item under way ("" at the end), how many are done, and how many there are.

    Returns:
        The rows of these items and seeds, in the order of seeds and items.

    Raises:
        TreewrightError: what `solve` raises. What was done before is in the record.
    """
    wanted = [(item, seed) for seed in seeds for item in items]
    left = [(item, seed) for item, seed in wanted if (item.name, seed) not in record.done]
    for number, (item, seed) in enumerate(left, len(wanted) - len(left)):
        progress(item.name, number, len(wanted))
        record.begin(item.name, seed)
        outcome = await solve(item, seed)
        grade = item.grade(outcome.answer) if item.grade is not None else None
        correct, original = (grade.correct, grade.original) if grade is not None else (None, None)
        record.add(Row(item.name, item.domain, seed, correct, original, outcome))
    progress("", len(wanted), len(wanted))
    places = {(item.name, seed): place for place, (item, seed) in enumerate(wanted)}
    return sorted((row for row in record.rows if (row.name, row.seed) in places), key=lambda row: places[row.name, row.seed])
