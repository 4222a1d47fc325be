from __future__ import annotations

import datetime
from collections import Counter, OrderedDict, deque
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.sandbox.judging.encoding import MAX_DEPTH, Unsendable, encode
from treewright.sandbox.judging.values import Handle, Malformed, Reference, decode, message, show

numbers = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.complex_numbers(allow_nan=False)
texts = st.text(st.characters(exclude_categories=())) | st.binary()
keys = numbers | texts | st.tuples(numbers, texts) | st.frozensets(st.integers())
values = st.recursive(
    keys | st.binary().map(bytearray),
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner) | st.sets(keys) | st.frozensets(keys)
    ),
    max_leaves=20,
)


def same(left: object, right: object) -> bool:
    """Equal, and of equal types all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return left == right


@given(values)
def test_plain_data_comes_back_as_it_was(value: object) -> None:
    assert same(decode(encode(value)), value)


@given(st.floats())
def test_floats_come_back_bit_by_bit(value: float) -> None:
    assert repr(decode(encode(value))) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        "\ud83d\ude00",  # two lone surrogates that are not the one character they would make
        "\U0001f600",
        2**64,
        -(2**63),
        -(2**63) - 1,
        range(2, 10, 3),
        range(0),
        int,
        frozenset,
        ValueError,
        Decimal("1.50"),
        Decimal("-0"),
        Fraction(-1, 3),
        deque([1, (2,)], 5),
        datetime.date(2024, 2, 29),
        datetime.time(1, 2, 3, 4),
        datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC),
        datetime.timedelta(-1, 2, 3),
    ],
)
def test_rarer_values_come_back_too(value: object) -> None:
    back = decode(encode(value))
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_subclasses_become_their_base_without_a_word_of_their_own() -> None:
    class Liar(int):
        __hash__ = int.__hash__

        def __eq__(self, other: object) -> bool:
            return True

        def __int__(self) -> int:
            return 99

        def __str__(self) -> str:
            return "99"

    class Long(str):
        def __len__(self) -> int:
            return 10**9

    class Color(IntEnum):
        RED = 3

    class Point(NamedTuple):
        x: int
        y: int

    for value, plain in (
        (Liar(4), 4),
        (Long("ab"), "ab"),
        (Color.RED, 3),
        (Point(1, 2), (1, 2)),
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=1), {"a": 1}),
    ):
        assert same(decode(encode(value)), plain)


def test_an_object_that_lies_about_its_class_is_no_number() -> None:
    class Pretender:
        __class__ = int  # type: ignore[assignment]

    with pytest.raises(Unsendable):
        encode(Pretender())
    assert isinstance(decode(encode(Pretender(), lambda _: Handle(7, "Pretender"))), Handle)


def test_arrays_become_lists_by_their_own_method_alone() -> None:
    array = type("ndarray", (), {"__module__": "numpy", "tolist": lambda self: [[1, 2.5], [True, None]]})()
    assert decode(encode(array)) == [[1, 2.5], [True, None]]


def deep(levels: int) -> object:
    value: object = []
    for _ in range(levels):
        value = [value]
    return value


def test_what_is_too_large_or_too_deep_is_refused_before_it_costs_much() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    shared: list[object] = []
    for _ in range(60):
        shared = [shared, shared]  # 2**60 paths
    for value in (cycle, shared, deep(MAX_DEPTH + 1), "x" * (2 << 20), b"x" * (1 << 20), 1 << 50_000_000, [[]] * 2_000_000):
        with pytest.raises(Unsendable):
            encode(value)
    assert encode(deep(MAX_DEPTH - 1))
    assert encode("x" * 100, max_chars=200)
    with pytest.raises(Unsendable):
        encode("x" * 100, max_chars=100)


def test_a_long_range_is_refused_on_both_sides() -> None:
    with pytest.raises(Unsendable):
        encode(range(10**18))
    with pytest.raises(Malformed, match="range"):
        decode('{"r":[0,1000000000000000000,1]}')
    with pytest.raises(Malformed):
        decode('{"r":[0,1000000000000000000000000000,1]}')


def test_members_chosen_to_collide_are_refused() -> None:
    prime = 2**61 - 1
    alike = ",".join(str(number * prime) for number in range(500))
    for text in (f'{{"s":[{alike}]}}', f'{{"z":[{alike}]}}', '{"d":[' + ",".join(f"{n * prime},0" for n in range(500)) + "]}"):
        with pytest.raises(Malformed, match="same hash"):
            decode(text)
    many = set(range(100_000))
    assert decode(encode(many)) == many


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 2",
        "[1",
        "nul",
        '{"q":1}',
        '{"":1}',
        "{}",
        '{"t":[],"s":[]}',
        '{"t":5}',
        '{"d":[1]}',
        '{"s":[[]]}',
        '{"b":"zz"}',
        '{"i":"x"}',
        '{"i":[]}',
        '{"y":"exit"}',
        '{"x":["Path","/"]}',
        '{"x":["Decimal","1e999999999"]}',
        '{"x":["Fraction","1e999999999"]}',
        '{"x":[]}',
        '{"n":"f"}',
        '{"k":1}',
        '{"h":[1]}',
        '{"h":["1","x"]}',
        "[" * 100_000,
        "1" * 5000,
    ],
)
def test_text_that_nobody_wrote_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        decode(text)


@given(st.text('[]{}",:tdsziabucrhxy0123456789eE.-nulrafNI', max_size=60))
def test_any_text_is_a_value_or_refused(text: str) -> None:
    try:
        decode(text)
    except Malformed:
        return


def test_what_is_no_plain_data_is_replaced_or_refused() -> None:
    thing = object()
    with pytest.raises(Unsendable, match="object"):
        encode([thing])
    back = decode(encode({"a": [thing]}, lambda value: Handle(3, type(value).__name__)))
    assert isinstance(back, dict)
    (handle,) = back["a"]
    assert (handle.number, handle.type, repr(handle)) == (3, "object", "<object object>")
    assert handle != 3
    assert decode(encode([Reference("n", "f"), Reference("k", 2)]), lambda tag, content: (tag, content)) == [
        ("n", "f"),
        ("k", 2),
    ]


def test_a_message_is_a_list() -> None:
    assert message('["a",1]') == ["a", 1]
    with pytest.raises(Malformed):
        message("1")


def test_long_values_are_cut_when_shown() -> None:
    assert show([1, "a"]) == "[1, 'a']"
    assert show("x" * 5000).endswith("... (5002 characters)")
    assert show(10**5000) == "<int too large to show>"
