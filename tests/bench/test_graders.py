"""Answers are graded with a tolerance, and by the rule of the benchmark's own harness."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.bench.graders import TOLERANCE, Grade, graded_m3, original, says

RIGHT = [
    ("161.25", 161.25),
    ("  161.25.  ", 161.25),
    ("The final answer is: 161.25", 161.25),
    ("$1,234.50", 1234.5),
    ("50,400", 50400.0),
    ("The total is 161.25 credits.", 161.25),
    ("161.2549", 161.25),
    ("237.94", 237.942),
    ("380.42", 380.41999999999996),
    ("161", 161.005),
    ('"161.25"', 161.25),
    ("3", 3),
    ("3.0", 3),
    ("-7", -7),
    ("UUU", "UUU"),
    ("'UUU'.", "UUU"),
    ("Answer: UUU", "UUU"),
    ("Invalid  DNA\nsequence", "Invalid DNA sequence"),
    ("987", "987"),
    ("false", False),
    ("False.", False),
    ("True", True),
    ("[1, 2.004]", [1.0, 2.0]),
    ("1, 2", [1.0, 2.0]),
    ("(1, 2)", [1.0, 2.0]),
    ('["A", 3]', ("A", 3)),
    ("('A', 3)", ("A", 3)),
    ("['A', '3']", ("A", 3)),
    ('{"T": 1, "A": 2}', {"A": 2, "T": 1}),
    ("{'A': 2, 'T': 1}", {"A": 2, "T": 1}),
]
WRONG = [
    ("", 0),
    ("161.26", 161.25),
    ("161.24", 161.25),
    ("161", 161.25),
    ("1 or 2", 2),
    ("2 or 1", 2),
    ("nan", 1.0),
    ("inf", 1.0),
    ("1" * 400, 1),
    ("True", 1),
    ("1", True),
    ("0", False),
    ("no", False),
    ("uuu", "UUU"),
    ("UUUU", "UUU"),
    ("UUU UUU", "UUU"),
    ("[2, 1]", [1.0, 2.0]),
    ("[1]", [1.0, 2.0]),
    ("[1, 2, 3]", [1.0, 2.0]),
    ("12", [1.0, 2.0]),
    ("A", ("A", 3)),
    ('["A", 5]', "A"),
    ('{"T": 1}', {"A": 2, "T": 1}),
    ('{"T": 1, "A": 3}', {"A": 2, "T": 1}),
    ('{"T": 1, "A": 2, "C": 0}', {"A": 2, "T": 1}),
    ("[" * 5000, [1]),
    ("7" + " " * 30_000, 7),
]


@pytest.mark.parametrize(("answer", "expected"), RIGHT)
def test_answers_that_say_what_is_expected(answer: str, expected: Any) -> None:
    assert says(answer, expected)


@pytest.mark.parametrize(("answer", "expected"), WRONG)
def test_answers_that_do_not(answer: str, expected: Any) -> None:
    assert not says(answer, expected)


@given(st.floats(-1e6, 1e6), st.floats(-1, 1))
def test_a_number_is_right_within_the_tolerance_and_wrong_well_outside(expected: float, off: float) -> None:
    if abs(off) < TOLERANCE * 0.999:
        assert says(repr(expected + off), expected)
    if abs(off) > TOLERANCE * 1.001:
        assert not says(repr(expected + off), expected)


@given(st.text(), st.one_of(st.integers(), st.floats(), st.text(), st.booleans(), st.lists(st.integers()), st.just({"a": 1})))
def test_no_answer_makes_a_grader_fail(answer: str, expected: Any) -> None:
    assert isinstance(graded_m3(answer, expected), Grade)


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("161.25", 161.25, True),
        ("161.250", 161.25, True),
        ("161", 161.25, True),  # as the harness has it
        ("161.251", 161.25, False),
        ("237.94", 237.942, False),
        ("237.942", 237.942, True),
        ("3.0", 3, True),
        ("3", "3", True),
        ("'UUU'", "UUU", True),
        ("UUU.", "UUU", False),
        ("uuu", "UUU", False),
        ("False", False, True),
        ("0", False, True),  # as the harness has it
        ("false", False, False),
        ("[1.0, 2.0]", [1.0, 2.0], True),
        ("[1, 2]", [1.0, 2.0], False),  # its comparison of lists is never reached
        ("[1.0,2.0]", [1.0, 2.0], False),
        ("('A', 3)", ("A", 3), True),
        ("{'T': 1}", {"T": 1}, True),
        ("$5", 5, False),
    ],
)
def test_the_original_rule_keeps_its_oddities(answer: str, expected: Any, right: bool) -> None:
    assert original(answer, expected) is right


@pytest.mark.parametrize(("answer", "expected"), [('["A", 3]', ("A", 3)), ('{"T": 1}', {"T": 1}), ("[1.0, 2.0]", [1.0, 2.0])])
def test_values_on_record_as_json_count_for_the_original_rule_as_python_writes_them(answer: str, expected: Any) -> None:
    assert graded_m3(answer, expected) == Grade(correct=True, original=True)


def test_both_rules_are_reported() -> None:
    assert graded_m3("237.94", 237.942) == Grade(correct=True, original=False)
    assert graded_m3("161", 161.25) == Grade(correct=False, original=True)
