from __future__ import annotations

import json
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treewright.core.voting import Vote, majority, normal_form

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.text() | PLAIN.map(json.dumps) | PLAIN.map(repr))
@example("The answer is the answer is 3.")
@example("'\"5.\"'")
@example("1+2j")
@example("b'x'")
@example("[" * 990 + "]" * 990)
@example("-" * 15_000 + "1")
@example("9" * 5000)
@example("[...]")
@example("{[]: 1}")
@example("'\\d'")
def test_a_normal_form_is_its_own(text: str) -> None:
    form = normal_form(text)
    assert normal_form(form) == form


@given(st.lists(PLAIN, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_a_list_does_not_count(items: list[object], draw: random.Random) -> None:
    mixed = items.copy()
    draw.shuffle(mixed)
    assert normal_form(json.dumps(items)) == normal_form(json.dumps(mixed))
    assert normal_form(repr(tuple(items))) == normal_form(repr(tuple(mixed)))


@given(st.text())
def test_case_and_spaces_around_do_not_count(text: str) -> None:
    assert normal_form(f"  {text}\n") == normal_form(text)


@pytest.mark.parametrize(
    "alike",
    [
        ("42", "42.0", " 42. ", "'42'", "The answer is 42", "Answer: 42", "answer:42", "Final result = 42.00", "4.2e1", "`42`"),
        ("1234.5", "1,234.50", "$1234.50", "1234.5 €", "1234.499999999"),
        ("50", "50%", "50 %"),
        ("0", "-0.0", "0.001", "-0.001"),
        ("true", "True", "TRUE."),
        ("null", "None"),
        ('["a", "b"]', "['b', 'A']", "('b', 'a')", "{'a', 'b'}"),
        ("[1, 2]", "[2.0, 1]", "2, 1"),
        ("['\\d', 'a']", "['a', '\\d']"),
        ('{"a": [1, 2]}', "{'A': (2, 1)}"),
        ("New  York", "new york.", '"New York"', "The final answer is: New York"),
        ("", "  ", "''", "."),
    ],
)
def test_answers_that_say_the_same_have_one_form(alike: tuple[str, ...]) -> None:
    assert len({normal_form(text) for text in alike}) == 1, [normal_form(text) for text in alike]


@pytest.mark.parametrize(
    "unlike",
    [
        ("1", "2", "-1", "1.01", "true", "one", "[1]"),
        ("12,34", "1234"),
        ("9" * 5000, "8" * 5000, "inf"),
        ("1+2j", "1+3j", "3"),
        ("[1, 1]", "[1]"),
        ("answered 3", "3"),
        ("12 apples", "12 pears", "12"),
        ("a b", "ab"),
        ("", "0"),
    ],
)
def test_answers_that_differ_have_forms_that_differ(unlike: tuple[str, ...]) -> None:
    assert len({normal_form(text) for text in unlike}) == len(unlike)


def test_a_text_too_long_to_be_read_as_a_value_is_compared_as_text() -> None:
    long = json.dumps(list(range(9000)))
    assert normal_form(long) == long
    assert normal_form(json.dumps([2, 1])) == "[1, 2]"


def test_the_answer_that_most_give_wins_and_the_first_of_them_speaks_for_it() -> None:
    assert majority(["a", "7", "A.", "7.0", "The answer is 7"]) == Vote(winner=1, votes=3, cast=5)


def test_of_two_with_as_many_votes_the_first_given_wins() -> None:
    assert majority(["x", "b", "a", "a", "b"]) == Vote(1, 2, 5)
    assert majority(["only"]) == Vote(0, 1, 1)


def test_a_rank_decides_ties_and_who_speaks_but_not_the_vote() -> None:
    layers = [3, 2, 1, 2, 3]
    assert majority(["a", "b", "b", "a", "c"], rank=lambda place: (layers[place], place)) == Vote(2, 2, 5)
    assert majority(["a", "a", "b"], rank=lambda place: -place) == Vote(1, 2, 3)


def test_equal_ranks_go_by_place() -> None:
    assert majority(["b", "a", "a", "b"], rank=lambda place: 0) == Vote(0, 2, 4)


def test_groups_that_somebody_told_stand_above_the_forms() -> None:
    assert majority(["one", "1", "eins", "2", "2"], like=(0, 0, 0, 3, 3)) == Vote(0, 3, 5)
    assert majority(["2", "2", "3"], like=(0, 1, 1)) == Vote(1, 2, 3)


def test_nobody_is_no_majority() -> None:
    with pytest.raises(ValueError, match="nobody has answered"):
        majority([])


@given(st.lists(st.sampled_from(["1", "1.0", "2", "x", "X"]), min_size=1))
def test_the_votes_are_those_of_the_largest_group(answers: list[str]) -> None:
    forms = [normal_form(answer) for answer in answers]
    vote = majority(answers)
    assert vote.votes == max(map(forms.count, forms)) == forms.count(forms[vote.winner])
    assert vote.cast == len(answers)
    assert vote.winner == forms.index(forms[vote.winner])
