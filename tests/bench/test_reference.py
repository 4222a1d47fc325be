"""The scripted reference writes recorded calls down as one program, and finds how the answer follows from them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bench_data import DATA, needs_data, write_m3
from treewright.bench.m3tooleval import Call, Gold, load_m3tooleval
from treewright.bench.reference import Reference, program
from treewright.core.errors import ModelUnavailable
from treewright.models.base import Caller, Message, Request
from treewright.roles.tree_of_code import read_written
from treewright.tools.base import Card

LIST = Card("find_max_nucleotide", "", {"type": "object", "properties": {"args": {"type": "array"}}, "required": ["args"]})
CARDS = [
    *(Card(name, "", {"type": "object", "properties": {"x": {}}, "required": ["x"]}) for name in ("f", "g", "valid", "max_")),
    LIST,
]


def last_line(query: str, expected: Any, *calls: tuple[str, list[Any], Any]) -> str:
    return program(query, Gold(expected, [Call(*call) for call in calls]), CARDS).splitlines()[-1]


def test_results_are_handed_on_and_variadic_tools_get_one_list(tmp_path: Path) -> None:
    benchmark = load_m3tooleval(write_m3(tmp_path))
    item = benchmark.items[1]
    assert program(item.query, benchmark.gold[item.name], item.toolbox.cards) == (
        "r1 = calculate_tariff(100, 5)\n"
        "r2 = calculate_tariff(300, 5)\n"
        "r3 = find_maximum([r1, r2])\n"
        "final_answer(r3)\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("query", "expected", "calls", "expression"),
    [
        ("", 2, [("f", [1], 1), ("f", [2], 2)], "r2"),
        ("", 1, [("f", [1], 1), ("f", [2], 2)], "r1"),
        ("", [1, 2], [("f", [1], 1), ("f", [2], 2)], "[r1, r2]"),
        ("", -1, [("f", [1], 1), ("f", [2], 2)], "r1 - r2"),
        ("", 7, [("g", [0], 5), ("f", [1], 8), ("f", [2], 1)], "r2 - r3"),
        ("", "A", [("find_max_nucleotide", ["A", 3], ["A", 3])], "r1[0]"),
        ("", ("A", 3), [("find_max_nucleotide", ["A", 3], ["A", 3])], "r1"),
        ("Say 'no' or 'yes' of 'AB'", "no", [("valid", ["AB"], False)], "r1 or 'no'"),
        ("Is 'Met' in 'AB'?", False, [("f", ["AB"], "X-X")], "'Met' in r1"),
        ("", 2, [("f", ["AB"], "X-X")], "len(r1.split('-'))"),
        ("", 99, [("f", [1], 1)], "r1"),
    ],
)
def test_the_answer_follows_from_the_results(query: str, expected: Any, calls: list[Any], expression: str) -> None:
    line = last_line(query, expected, *calls)
    assert line == f"final_answer({expression})"


def test_the_longest_valid_argument_is_found() -> None:
    line = last_line("", "AAC", ("valid", ["AC"], True), ("valid", ["AAC"], True), ("valid", ["AXAA"], False))
    assert line == "final_answer(max([*['AC'] * r1, *['AAC'] * r2, *['AXAA'] * r3, ''], key=len))"


def test_a_name_that_python_has_is_called_as_it_is_on_the_card() -> None:
    text = program("", Gold(3, [Call("max", [3], 3)]), CARDS)
    assert text.startswith("r1 = max_(3)\n")


def ask(model: Reference, text: str, role: str = "programmer") -> str:
    request = Request((Message("system", "Write."), Message("user", text)), caller=Caller(role=role))
    return asyncio.run(model.complete(request)).text


def test_it_replies_to_a_question_it_knows_as_a_model_would(tmp_path: Path) -> None:
    benchmark = load_m3tooleval(write_m3(tmp_path))
    model = Reference(benchmark)
    written = read_written(ask(model, "Question:\nDo both.", "programmer.reflect"))
    assert written.thought
    assert written.program.endswith("final_answer([r1, r2])")
    assert ask(model, "Do both.", "voter.words") == ""
    assert read_written(ask(model, "Do both.", "codeact")).program == written.program
    with pytest.raises(ModelUnavailable, match="writes whole programs only: choose another model for react"):
        ask(model, "Do both.", "react")
    with pytest.raises(ModelUnavailable, match="knows the graded tasks only"):
        ask(model, "Ask web_browsing.")


@needs_data
def test_the_programs_of_all_graded_tasks_come_to_what_is_expected() -> None:
    benchmark = load_m3tooleval(Path(DATA))
    for item in benchmark.items:
        if item.name in benchmark.gold:
            gold = benchmark.gold[item.name]
            results = {f"r{number}": call.result for number, call in enumerate(gold.calls, 1)}
            last = program(item.query, gold, item.toolbox.cards).splitlines()[-1]
            found: list[Any] = []
            exec(last, {"final_answer": found.append, **results})
            value = tuple(found[0]) if isinstance(gold.expected, tuple) else found[0]
            assert value == gold.expected, item.name
