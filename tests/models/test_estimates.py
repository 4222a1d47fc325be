"""Token estimates: the bound is a bound, the usual count is the same everywhere."""

from hypothesis import given
from hypothesis import strategies as st

from treewright.models.base import Message, Request
from treewright.models.estimates import most_tokens, most_usage, usual_usage


@given(st.text())
def test_the_bound_is_never_below_a_token_a_byte_or_the_usual_count(text: str) -> None:
    request = Request((Message("user", text),), max_tokens=10**9)
    assert most_tokens(text) >= len(text.encode("utf-8", "replace"))
    assert most_usage(request, text).input > usual_usage(request, text).input
    assert most_usage(request, text).output >= usual_usage(request, text).output


def test_the_bound_of_the_output_is_never_above_what_was_asked_for() -> None:
    assert most_usage(Request((Message("user", "x"),), max_tokens=3), "a long reply").output == 3


def test_a_lone_surrogate_counts_and_does_not_fail() -> None:
    assert most_tokens("\ud800") == 1
