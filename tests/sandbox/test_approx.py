from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.sandbox.approx import Approx

plain = st.floats() | st.integers(-(10**6), 10**6)
nested = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3))


def flat(value: object) -> bool:
    return not isinstance(value, list | dict) or not any(
        isinstance(part, list | dict) for part in (value.values() if isinstance(value, dict) else value)
    )


@given(nested.filter(flat), nested.filter(flat), st.none() | st.floats(0, 1), st.none() | st.floats(0, 1))
def test_means_what_pytest_means(actual: object, expected: object, rel: float | None, tolerance: float | None) -> None:
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
    assert "a" == Approx("a")
    assert None != Approx(1)
    assert [1, "a"] == Approx([1.0, "a"])
    assert {"a": 1} != Approx({"b": 1})
    assert [1] != Approx([1, 2])
    assert repr(Approx([0.1])) == "approx([0.1])"
