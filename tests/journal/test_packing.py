"""Packing gives back what it was given, and refuses what it did not make."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.journal.packing import WORDS, pack, unpack


@given(st.binary(max_size=500), st.sampled_from([b"", WORDS]))
def test_it_gives_back_what_it_was_given(data: bytes, words: bytes) -> None:
    assert unpack(pack(data, words), words) == data


def test_what_bodies_have_in_common_costs_almost_nothing() -> None:
    body = b'{"call":7,"reserved":{"calls":1,"tokens":4120},"kind":"budget_changed"}'
    assert len(pack(body, WORDS)) < len(body) / 3


@pytest.mark.parametrize("damage", ["cut", "more", "empty", "other", "not bytes"])
def test_damaged_data_is_a_value_error(damage: str) -> None:
    good = pack(b"some text that is long enough " * 3)
    data: dict[str, bytes] = {
        "cut": good[:-2], "more": good + b"x", "empty": b"", "other": b"\xff" * 20, "not bytes": "text",  # type: ignore[dict-item]
    }  # fmt: skip
    with pytest.raises(ValueError, match="its data"):
        unpack(data[damage])


def test_the_words_are_part_of_the_format() -> None:
    # Changing them makes every journal unreadable: give the format a new number instead (sqlite.SCHEMA).
    assert zlib.crc32(WORDS) == 2_381_917_477
