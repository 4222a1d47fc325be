"""What an answer has to mention follows from the recorded trace and reply."""

from __future__ import annotations

from typing import Any

import pytest

from treewright.bench.keywords import Step, keywords, mentions


@pytest.mark.parametrize(
    ("text", "word", "found"),
    [
        ("He sits in room 7.", "Room 7", True),
        ("He sits in room 77.", "Room 7", False),
        ("Room\n 7", "Room 7", True),
        ("booked successfully", "success", False),
        ("T-shirts and a T-shirt", "T-shirt", True),
        ("It is 10°C", "10", True),
        ("It is 100°C", "10", False),
        ("$70,000 a month", "70000.0", True),
        ("74.0060", "74.006", True),
        ("a humidity of 80%", "0.8", True),
        ("a humidity of 80 percent", "0.8", True),
        ("a humidity of 0.8", "0.8", True),
        ("80 people", "0.8", False),
        ("version 1.10.2", "10", False),
        ("call 0987654321", "0987654321", True),
        ("at 10:00 AM", "2021-01-01 10:00:00", True),
        ("at 3:30pm", "2021-01-01 15:30:00", True),
        ("at 15:30", "2021-01-01 15:30:00", True),
        ("at 3:30", "2021-01-01 15:30:00", False),
        ("2021-01-01 10:00:00", "2021-01-01 10:00:00", True),
        ("at 12:05 AM", "2021-01-01 00:05:00", True),
        ("", "x", False),
    ],
)
def test_a_keyword_is_mentioned_as_a_whole_and_in_any_writing(text: str, word: str, found: bool) -> None:
    assert mentions(text, word) is found


def found(question: str, reply: str, *steps: tuple[str, dict[str, Any], Any]) -> tuple[str, ...]:
    return keywords(question, [Step(*step) for step in steps], reply)


PLACE = ("Geocode", {"city": "Rome"}, {"lat": 41.9, "lon": 12.5})


def test_the_news_of_the_last_call_that_the_reply_mentions() -> None:
    near = ("Near", {"lat": "41.9", "lon": 12.5}, {"found": [{"name": "Da Gino", "at": [41.9, 12.5]}, {"name": "Bar"}]})
    assert found("Eat in Rome", "At 41.9, 12.5 there is Da Gino.", PLACE, near) == ("Da Gino",)


def test_what_the_question_says_is_no_news() -> None:
    weather = ("Weather", {"lat": 41.9}, {"temperature": 20, "sky": "clear", "city": "Rome"})
    assert found("Weather in Rome?", "Rome: 20 degrees, clear.", PLACE, weather) == ("20", "clear")
    assert found("Weather in Rome?", "Rome: 20 degrees, clear.", weather) == ("20", "clear")


def test_what_an_earlier_call_said_is_no_news() -> None:
    watched, films = ("Watched", {"by": "Ann"}, ["Dune"]), ("Recommend", {"genre": "Drama"}, ["Dune", "Heat"])
    assert found("A film for Ann", "Of Dune and Heat, see Heat.", watched, films) == ("Heat",)


def test_calls_of_one_tool_at_the_end_count_together() -> None:
    assert found("Likes?", "10 and 20", ("Posts", {}, [1, 2]), ("Likes", {"id": 1}, 10), ("Likes", {"id": 2}, 20)) == (
        "10",
        "20",
    )


def test_a_last_call_that_only_does_something_counts_by_what_it_was_given_and_earlier_calls_found() -> None:
    members = ("Members", {"of": "ACME"}, ["Ann", "Bob"])
    book = ("Book", {"topic": "Team", "who": ["Bob"]}, "success")
    assert found("Book a meeting with ACME", "The Team meeting with Bob was a success.", members, book) == ("Bob",)


def test_else_the_call_before_decides() -> None:
    info = ("Info", {"name": "Ann"}, {"phone": "0123"})
    assert found("Update Ann", "Ann, phone 0123, is updated.", info, ("Update", {"name": "Ann"}, {"status": "success"})) == (
        "0123",
    )


def test_a_reply_that_mentions_nothing_leaves_the_news_of_the_trace() -> None:
    flights = ("Flights", {"to": "Rome"}, {"leaves": "2022-01-02 12:00:00"})
    assert found("Fly to Rome", "I found flight_1.", flights, ("Hotels", {"in": "Rome"}, [])) == ("2022-01-02 12:00:00",)


def test_a_trace_without_news_has_no_keywords() -> None:
    assert found("Do it", "Done.", ("Do", {}, "success")) == ()
    assert found("Do it", "Done.") == ()
