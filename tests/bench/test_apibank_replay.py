"""A recorded world answers calls that say the same as a recorded one; what was made up may be anything."""

from __future__ import annotations

from typing import Any

import pytest

from treewright.bench.apibank_replay import Replay
from treewright.bench.keywords import Step

FIND = Step("Find", {"name": "Ann"}, {"room": "Room 7", "when": "2021-01-01 10:00:00", "with": ["Bob", "Cid"]})
GIVEN = {"text": "See you in Room 7.", "room": "Room 7", "when": "2021-01-01 10:00:00", "who": ["Bob", "Cid"], "floor": "2"}
WORLD = Replay([("Remind Ann of her meeting on floor 2", [FIND, Step("Remind", GIVEN, "success")])])


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"text": "Hello"},
        {"room": " room  7. "},
        {"when": "2021/1/1 10:00"},
        {"who": ["cid", "bob"]},
        {"floor": 2},
        {"floor": "2.0"},
    ],
)
def test_calls_that_say_the_same_are_answered(change: dict[str, Any]) -> None:
    assert WORLD.answer("Remind", GIVEN | change) == "success"


@pytest.mark.parametrize(
    "change",
    [
        {"room": "Room 8"},  # an earlier call had found it
        {"when": "2021-01-02 10:00:00"},
        {"when": "2021-01-01 11:00"},
        {"who": ["Bob"]},
        {"who": "Bob"},
        {"floor": 3},
        {"floor": None},
    ],
)
def test_others_have_no_record(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no record for these arguments"):
        WORLD.answer("Remind", GIVEN | change)


def test_a_tool_that_was_never_called_has_no_record() -> None:
    with pytest.raises(ValueError, match="no record"):
        WORLD.answer("Other", {})


def test_the_first_of_several_worlds_that_match_answers() -> None:
    world = Replay([("a 1", [Step("F", {"x": 1}, "first")]), ("a 1", [Step("F", {"x": "1"}, "second")])])
    assert world.answer("F", {"x": 1.0}) == "first"
