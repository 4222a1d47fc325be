from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.sandbox.judging.approx import Approx

numbers = st.floats() | st.integers(-(10**6), 10**6)
lists = st.lists(numbers, max_size=3)
dicts = st.dictionaries(st.text(max_size=1), numbers, max_size=3)
pairs = st.tuples(numbers, numbers) | st.tuples(lists, lists) | st.tuples(dicts, dicts)


@given(pairs, st.none() | st.floats(0, 1), st.none() | st.floats(0, 1))
def test_means_what_pytest_means(pair: tuple[object, object], rel: float | None, tolerance: float | None) -> None:
    actual, expected = pair
    assert (actual == Approx(expected, rel, tolerance)) == (actual == pytest.approx(expected, rel, tolerance))


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100))
def test_a_tiny_difference_is_none(value: float) -> None:
    assert value * (1 + 1e-9) == Approx(value)
    assert Approx(value) == value
    assert [value, [value]] == Approx([value, (value,)])


def test_nan_is_close_only_if_that_was_said() -> None:
    assert math.nan != Approx(math.nan)
    assert math.nan == Approx(math.nan, nan_ok=True)
    assert math.inf != Approx(1e308)


def test_other_things_are_compared_as_they_are() -> None:
    assert Approx("a") == "a"
    assert Approx([1]) != [None]
    assert Approx([1.0, "a"]) == [1, "a"]
    assert Approx({"b": 1}) != {"a": 1}
    assert Approx([1, 2]) != [1]
    assert repr(Approx([0.1])) == "approx([0.1])"
