"""A benchmark run answers each item once with each seed, and goes on where it was stopped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from treewright.bench.graders import Grade
from treewright.bench.items import Item, Outcome
from treewright.bench.local_tools import LocalToolbox
from treewright.bench.rows import Record, Row
from treewright.bench.runner import run_bench
from treewright.core.errors import ModelUnavailable, UserError

NO_TOOLS = LocalToolbox((), dict)
SETTINGS = {"benchmark": "b", "model": "m"}


def item(name: str, graded: bool = True) -> Item:
    return Item(name, "d", f"{name}?", NO_TOOLS, (lambda answer: Grade(answer == f"{name}0", None)) if graded else None)


ITEMS = [item("a"), item("b"), item("c", graded=False)]


class Solver:
    """Answers with name and seed; fails at one item if told so."""

    def __init__(self, fails_at: str = "") -> None:
        self.asked: list[tuple[str, int]] = []
        self._fails_at = fails_at

    async def __call__(self, one: Item, seed: int) -> Outcome:
        self.asked.append((one.name, seed))
        if one.name == self._fails_at:
            raise ModelUnavailable("gone")
        return Outcome(f"{one.name}{seed}", verified=True, ended="exhausted", layers=2, words=10, seconds=0.5)


def run(path: Path | None, solve: Solver, seeds: Sequence[int] = (0,), settings: dict[str, str] = SETTINGS) -> list[Row]:
    with Record(path, settings) as record:
        return asyncio.run(run_bench(ITEMS, solve, record, seeds=seeds))


def test_each_item_is_answered_once_with_each_seed_and_graded_once() -> None:
    solve = Solver()
    rows = run(None, solve, (0, 7))
    assert solve.asked == [("a", 0), ("b", 0), ("c", 0), ("a", 7), ("b", 7), ("c", 7)]
    assert [(row.name, row.seed, row.correct) for row in rows] == [
        ("a", 0, True), ("b", 0, True), ("c", 0, None), ("a", 7, False), ("b", 7, False), ("c", 7, None),
    ]  # fmt: skip


def test_the_file_says_what_is_under_way_before_it_is(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with pytest.raises(ModelUnavailable):
        run(path, Solver(fails_at="b"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"bench": SETTINGS}
    assert lines[1] == {"begin": "a", "seed": 0}
    assert (lines[2]["name"], lines[2]["answer"], lines[2]["correct"]) == ("a", "a0", True)
    assert lines[3:] == [{"begin": "b", "seed": 0}]


def test_a_run_that_was_stopped_goes_on_and_does_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with pytest.raises(ModelUnavailable):
        run(path, Solver(fails_at="b"))
    solve = Solver()
    rows = run(path, solve)
    assert solve.asked == [("b", 0), ("c", 0)]
    assert rows == run(None, Solver())
    again = Solver()
    assert run(path, again) == rows
    assert again.asked == []
    more = Solver()
    assert len(run(path, more, (0, 1))) == 6
    assert more.asked == [("a", 1), ("b", 1), ("c", 1)]


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "rows.jsonl"
    whole = run(path, Solver())
    path.write_bytes(path.read_bytes()[:-cut])
    solve = Solver()
    assert run(path, solve) == whole
    assert solve.asked == [("c", 0)]
    assert run(path, Solver(fails_at="a")) == whole


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    run(path, Solver())
    with pytest.raises(UserError, match="has model 'm', not 'n': name another file"):
        run(path, Solver(), settings={"benchmark": "b", "model": "n"})
    for text in ("nonsense\n", '{"a": 1}\n', '{"bench": {"benchmark": "b", "model": "m"}}\n{"name": "a"}\n', "\xff\n"):
        path.write_text(text, encoding="latin-1")
        with pytest.raises(UserError, match="is no record of a benchmark"):
            run(path, Solver())
        assert path.read_text(encoding="latin-1") == text
    with pytest.raises(UserError, match=r"cannot be written \(No such file or directory\)"):
        run(tmp_path / "no" / "rows.jsonl", Solver())


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with Record(None, SETTINGS) as record:
        asyncio.run(run_bench(ITEMS, Solver(), record, progress=lambda *step: told.append(step)))
    assert told == [("a", 0, 3), ("b", 1, 3), ("c", 2, 3), ("", 3, 3)]
