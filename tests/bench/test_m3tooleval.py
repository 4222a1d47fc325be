"""M3ToolEval is read from its files; its tools do what the recorded calls say."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_data import DATA, FLIGHT, HOTEL, m3_rows, needs_data, write_m3
from treewright.bench.graders import Grade
from treewright.bench.items import Item
from treewright.bench.m3tooleval import load_m3tooleval
from treewright.bench.m3tooleval_tools import card_of
from treewright.core.errors import UserError
from treewright.tools.base import Result
from treewright.tools.cards import python_parameters, signature
from treewright.tools.names import tool_name


def call(item: Item, *calls: tuple[str, Mapping[str, Any]]) -> list[Result]:
    async def made() -> list[Result]:
        async with item.toolbox.session() as session:
            return [await session.call(name, given) for name, given in calls]

    return asyncio.run(made())


def test_tasks_are_read_in_order_and_those_graded_elsewhere_have_no_grader(tmp_path: Path) -> None:
    benchmark = load_m3tooleval(write_m3(tmp_path))
    assert [(item.name, item.domain, item.grade is not None) for item in benchmark.items] == [
        ("trade/both", "trade", True),
        ("trade/larger", "trade", True),
        ("travel_itinerary_planning/0", "travel_itinerary_planning", False),
        ("web_browsing/0", "web_browsing", False),
    ]
    assert set(benchmark.gold) == {"trade/both", "trade/larger"}
    grade = benchmark.items[1].grade
    assert grade is not None
    assert grade("15.001") == Grade(correct=True, original=False)


def test_an_expected_tuple_is_one_again(tmp_path: Path) -> None:
    rows = m3_rows()
    rows["tasks"][0] |= {"expected_type": "tuple", "expected_output": ["A", 3]}
    assert load_m3tooleval(write_m3(tmp_path, rows)).gold["trade/both"].expected == ("A", 3)


def test_cards_follow_the_published_signatures(tmp_path: Path) -> None:
    boxes = {item.domain: item.toolbox for item in load_m3tooleval(write_m3(tmp_path)).items}
    assert [signature(card) for card in boxes["trade"].cards] == [
        "calculate_tariff(price: float, tariff_rate: float) -> float",
        "find_maximum(args: list[float]) -> float",
    ]
    assert [signature(card) for card in boxes["travel_itinerary_planning"].cards] == [
        "find_flights(from_location: str, to_location: str, date: str) -> list[dict]",
        "book_hotel(location: str, preferences: list[str] = []) -> list[dict]",
        "max_(args: list[float]) -> float",  # Python's own stays
    ]
    assert {(card.stateful, card.effect) for card in boxes["web_browsing"].cards} == {(True, "idempotent")}
    assert {(card.stateful, card.effect) for card in boxes["trade"].cards} == {(False, "pure")}
    odd = card_of({"name": "f", "signature": "f(*args) -> (str, int)", "description": " F. "})
    assert (signature(odd), odd.description) == ("f(args: list) -> list", "F.")


def test_flights_and_hotels_are_found_in_the_tables(tmp_path: Path) -> None:
    travel = load_m3tooleval(write_m3(tmp_path)).items[2]
    found = call(
        travel,
        ("find_flights", {"from_location": "E", "to_location": '"A"', "date": "2023-12-25"}),
        ("find_flights", {"from_location": "A", "to_location": "E", "date": "2023-12-25"}),
        ("book_hotel", {"location": "a"}),
        ("book_hotel", {"location": "A", "preferences": ["pool", "WiFi"]}),
        ("book_hotel", {"location": "A", "preferences": "gym"}),
        ("max_", {"args": [3, 5.5]}),
        ("max_", {"args": 3}),
        ("max_", {"args": []}),
    )
    assert [result.value for result in found] == [[FLIGHT], [], [HOTEL], [HOTEL], [], 5.5, 3, None]
    assert found[-1].failure == "raised"


def test_each_session_browses_from_the_start_page(tmp_path: Path) -> None:
    web = load_m3tooleval(write_m3(tmp_path)).items[3]
    first = call(web, ("click_url", {"url": "/our_team"}), ("scroll_down", {}), ("view", {}))
    assert [result.value for result in first] == ["Ann\nBob\nCid\nDee\nEve", "Fay", "Fay"]
    assert call(web, ("view", {}))[0].value.startswith("Welcome")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"tasks": [{"task_id": 3}]}, "is not M3ToolEval as it is published"),
        ({"toolsets": {}}, "is not M3ToolEval as it is published: KeyError"),
        ({"tables": {}}, "is not M3ToolEval as it is published: KeyError"),
        (
            {"toolsets": {"trade": [{"name": "f", "signature": "f(", "description": ""}]}},
            "is not M3ToolEval as it is published: SyntaxError",
        ),
        ({"toolsets": {"trade": [{"name": "f", "signature": "f()", "description": ""}]}}, "KeyError"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, damage: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_m3tooleval(write_m3(tmp_path, m3_rows() | damage))


def test_a_folder_without_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"m3tooleval_82.json cannot be read \(No such file or directory\): name the folder"):
        load_m3tooleval(tmp_path)
    (write_m3(tmp_path) / "m3tooleval/m3tooleval_82.json").write_text("{")
    with pytest.raises(UserError, match="is no valid JSON"):
        load_m3tooleval(tmp_path)
    (write_m3(tmp_path) / "m3tooleval/web_pages.jsonl").write_text('{"name": "/"}\n')
    with pytest.raises(UserError, match="is not lines of JSON with name and content"):
        load_m3tooleval(tmp_path)


@needs_data
def test_every_recorded_call_gives_what_was_recorded() -> None:
    benchmark = load_m3tooleval(Path(DATA))
    assert (len(benchmark.items), len(benchmark.gold)) == (82, 33)
    made = 0
    for item in benchmark.items:
        for recorded in benchmark.gold[item.name].calls if item.name in benchmark.gold else ():
            card = next(card for card in item.toolbox.cards if card.name == tool_name(recorded.tool))
            wires = [parameter.wire for parameter in python_parameters(card)]
            values = [list(recorded.arguments)] if wires == ["args"] else recorded.arguments
            (result,) = call(item, (card.name, dict(zip(wires, values, strict=True))))
            assert (result.value, type(result.value)) == (recorded.result, type(recorded.result)), recorded
            made += 1
    assert made == 238


@needs_data
def test_all_pages_of_the_site_can_be_reached_by_their_links() -> None:
    web = next(item for item in load_m3tooleval(Path(DATA)).items if item.domain == "web_browsing")
    seen: set[str] = set()
    waiting = ["/"]
    while waiting:
        url = waiting.pop()
        if url in seen:
            continue
        seen.add(url)
        views = call(web, ("click_url", {"url": url}), ("scroll_down", {}))
        assert not views[0].value.startswith("Error"), url
        waiting += [part.partition("'")[0] for view in views for part in view.value.split("[Clickable '")[1:]]
    assert len(seen) == 55
