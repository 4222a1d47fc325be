"""API-Bank level 3 is a world that answers as recorded, and an answer is right if it mentions what was found."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bench_data import DATA, api_rows, needs_data, write_api
from treewright.bench.apibank import load_apibank
from treewright.bench.graders import Grade
from treewright.bench.items import Item
from treewright.core.errors import UserError
from treewright.tools.base import Result
from treewright.tools.cards import docstring, signature


def call(item: Item, name: str, /, **given: Any) -> Result:
    async def made() -> Result:
        async with item.toolbox.session() as session:
            return await session.call(name, given)

    return asyncio.run(made())


def test_tasks_see_all_tools_but_the_search_and_no_output_of_their_own(tmp_path: Path) -> None:
    first, second = load_apibank(write_api(tmp_path))
    assert [signature(card) for card in first.toolbox.cards] == [
        "FindSeat(name: str, floor: int) -> Any",
        "SendMail(content: str, to: str) -> Any",
    ]
    assert first.query == "Find the seat of Ann on floor 2 and mail it to ann@example.com."
    seats, mails = map(docstring, first.toolbox.cards)
    assert 'it returned {"seat": "Room 9"}' in seats
    assert "Room 7" not in seats
    assert "Example" not in mails
    assert 'it returned {"seat": "Room 7", "near": "the lift"}' in docstring(second.toolbox.cards[0])


def test_an_answer_is_right_if_it_mentions_the_keywords(tmp_path: Path) -> None:
    first, second = load_apibank(write_api(tmp_path))
    assert first.grade is not None
    assert second.grade is not None
    assert first.grade("Sent: she is in ROOM 7.") == Grade(correct=True, original=None)
    assert first.grade("Sent: she is in Room 9.") == Grade(correct=False, original=None)
    assert second.grade("Room 9") == Grade(correct=True)


def test_recorded_calls_are_answered_in_any_writing(tmp_path: Path) -> None:
    first, _ = load_apibank(write_api(tmp_path))
    seat = {"seat": "Room 7", "near": "the lift"}
    assert call(first, "FindSeat", name="Ann", floor="2").value == seat
    assert call(first, "FindSeat", name=" ann", floor=2.0).value == seat
    assert call(first, "FindSeat", name="Bob", floor=3).value == {"seat": "Room 9"}  # another task's record
    assert call(first, "SendMail", content="Whatever the words", to="ANN@example.com").value == "success"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("FindSeat", {"name": "Ann", "floor": 3}, "FindSeat: there is no record for these arguments"),
        ("SendMail", {"content": "x", "to": "bob@example.com"}, "SendMail: there is no record for these arguments"),
        ("FindSeat", {"name": "Ann"}, "FindSeat: it takes name, floor, all of them and nothing else"),
        ("FindSeat", {"name": "Ann", "floor": 2, "x": 1}, "FindSeat: it takes name, floor, all of them"),
    ],
)
def test_other_calls_fail_and_say_why(tmp_path: Path, name: str, given: dict[str, Any], message: str) -> None:
    result = call(load_apibank(write_api(tmp_path))[0], name, **given)
    assert result.failure == "raised"
    assert result.message.startswith(message)


@pytest.mark.parametrize(
    "rows",
    [{"a": 1}, [{"requirement": "x"}], [api_rows()[0] | {"requirement": 3}], [{"requirement": "", "response": "", "apis": 3}]],
)
def test_other_files_are_refused(tmp_path: Path, rows: Any) -> None:
    with pytest.raises(UserError, match="is not API-Bank level 3 as it is published"):
        load_apibank(write_api(tmp_path, rows))


@pytest.mark.parametrize("data", [b"plain", b"\x1f\x8b\x08\x00", b""])
def test_a_file_that_is_not_packed_is_named(tmp_path: Path, data: bytes) -> None:
    (write_api(tmp_path) / "apibank/level-3.json.gz").write_bytes(data)
    with pytest.raises(UserError, match=r"level-3.json.gz (cannot be read|is no valid JSON)"):
        load_apibank(tmp_path)


@needs_data
def test_the_published_tasks_have_keywords_and_their_world_answers() -> None:
    items = load_apibank(Path(DATA))
    assert (len(items), len(items[0].toolbox.cards)) == (25, 21)
    assert all(item.grade is not None and not item.grade("I cannot say.").correct for item in items)
    assert call(items[13], "Calculator", formula="10 + 20 + 30").value == 60.0
    assert call(items[0], "GetWeatherForCoordinates", latitude=37.7749, longitude="122.4194").value["temperature"] == 20
