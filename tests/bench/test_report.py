"""The figures of a benchmark: means over items, the standard error, tables."""

from __future__ import annotations

import json
import math

from treewright.bench.items import Outcome
from treewright.bench.report import figures, markdown, plain, text
from treewright.bench.rows import Row


def row(name: str, domain: str, seed: int, correct: bool | None, layers: int = 1, original: bool | None = None) -> Row:
    return Row(name, domain, seed, correct, original, Outcome("x", layers=layers, words=10 * layers, tokens=1000, seconds=0.25))


ROWS = [
    row("a", "one", 0, True, 1, original=True),
    row("a", "one", 1, False, 3, original=False),
    row("b", "one", 0, True, 1, original=False),
    row("c", "two", 0, None, 2),
]


def test_there_are_figures_for_each_domain_and_for_all() -> None:
    one, two, every = figures(ROWS)
    assert (one.domain, one.items, one.graded, one.runs) == ("one", 2, 2, 3)
    assert (two.domain, two.items, two.graded, two.correct, two.error) == ("two", 1, 0, None, None)
    assert (every.domain, every.items, every.graded, every.runs) == ("all", 3, 2, 4)
    assert (every.turns, every.words, every.tokens, every.seconds) == (1.75, 17.5, 1000, 0.25)
    assert [one.domain for one in figures(ROWS[:2])] == ["all"]
    assert figures([]) == []


def test_an_item_with_several_seeds_counts_once_with_its_mean() -> None:
    (_, _, every) = figures(ROWS)
    assert every.correct == 0.75
    assert every.original == 0.25
    assert every.error is not None
    assert math.isclose(every.error, math.sqrt((0.25**2 * 2) / 1) / math.sqrt(2))


def test_tables_have_a_line_for_each_and_say_what_is_not_graded() -> None:
    found = figures(ROWS)
    lines = text(found).splitlines()
    assert lines[0].split()[:5] == ["domain", "tasks", "graded", "correct", "original"]
    assert lines[2].split()[:5] == ["two", "1", "0", "-", "-"]
    assert "75.0% ± 25.0%" in lines[3]
    assert len({len(line) for line in lines}) == 1
    marked = markdown(found).splitlines()
    assert len(marked) == 5
    assert marked[1].startswith("| --- | ---: |")
    assert marked[4].startswith("| all | 3 | 2 | 75.0% ± 25.0% | 25.0% |")


def test_everything_is_plain_json() -> None:
    told = json.loads(json.dumps(plain({"benchmark": "b"}, figures(ROWS), ROWS)))
    assert told["benchmark"] == "b"
    assert told["figures"][-1]["correct"] == 0.75
    assert told["rows"][0]["outcome"]["answer"] == "x"
