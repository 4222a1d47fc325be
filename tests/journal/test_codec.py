"""Bodies of events: what stays in them, what is taken out, and what is no body of ours."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from treewright.core.budget import Spend
from treewright.core.events import BudgetChanged, Event, ModelCalled, NodeEvaluated, NodeExpanded, RunStarted
from treewright.core.tree import Evaluation, Proposal, Verdict
from treewright.journal.base import PLAIN, Shapes
from treewright.journal.codec import INLINE, decode, encode
from treewright.journal.packing import WORDS, pack, unpack


@dataclass(slots=True)
class Shelf:
    """Texts in memory: a number for each that was kept."""

    texts: list[str] = field(default_factory=list)

    def keep(self, text: str) -> int:
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def find(self, number: int) -> str:
        return self.texts[number]


def call(*, prompt: str = "why?", reply: str | None = "so", spent: Spend = Spend()) -> ModelCalled:  # noqa: B008
    return ModelCalled(3, "0.1", "solver", 1, "ab", "m", (("system", "be kind"), ("user", prompt)), reply, spent=spent)


def plain(body: bytes) -> object:
    return json.loads(unpack(body, WORDS))


def broken(change: Callable[[dict[str, object]], object]) -> bytes:
    """The body of a call after some change."""
    fields = plain(encode(call(), Shelf().keep))
    assert isinstance(fields, dict)
    changed = change(fields) or fields
    return pack(json.dumps(changed).encode(), WORDS)


def test_only_texts_that_are_longer_than_a_line_of_numbers_are_taken_out() -> None:
    shelf = Shelf()
    body = encode(call(prompt="p" * INLINE, reply="r" * (INLINE + 1)), shelf.keep)
    assert shelf.texts == ["r" * (INLINE + 1)]
    assert "p" * INLINE in json.dumps(plain(body))


def test_a_text_that_comes_again_has_the_same_number() -> None:
    shelf = Shelf()
    long = "a problem that every prompt repeats " * 5
    event = call(prompt=long, reply=long)
    assert decode(encode(event, shelf.keep), shelf.find, PLAIN) == event
    assert shelf.texts == [long]


def test_an_amount_names_only_what_is_not_zero() -> None:
    body = plain(encode(BudgetChanged(1, Spend(calls=1, tokens=40)), Shelf().keep))
    assert body == {"call": 1, "reserved": {"calls": 1, "tokens": 40}, "kind": "budget_changed"}


def test_two_halves_of_a_pair_side_by_side_stay_two() -> None:
    shelf = Shelf()
    event = call(prompt="\ud83d\ude00", reply="\ud83d\ude00" * 40)
    assert decode(encode(event, shelf.keep), shelf.find, PLAIN) == event


@pytest.mark.parametrize("value", [{"§": 1}, {"§": [1]}, {"§": "x" * 99}, {"§": {"§": 2}}, {"§": 1, "more": 2}])
def test_data_that_looks_like_a_reference_is_none(value: object) -> None:
    shelf = Shelf(["another text"] * 3)
    event = RunStarted({"value": value})
    assert decode(encode(event, shelf.keep), shelf.find, PLAIN) == event


@dataclass(frozen=True, slots=True)
class Step:
    idea: str


def test_actions_and_outcomes_come_back_in_their_shapes() -> None:
    shelf, shapes = Shelf(), Shapes(Step, Step)
    written: list[Event] = [
        NodeExpanded("0", (Proposal(Step("a"), 0.5),)),
        NodeEvaluated("0.0", Step("b"), Evaluation(0.25, Verdict.PRUNE, "no", opinion=False)),
    ]
    for event in written:
        assert decode(encode(event, shelf.keep), shelf.find, shapes) == event


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "cut short"),
        (encode(call(), Shelf().keep)[:-3], "cut short"),
        (pack(b"{", WORDS), "Expecting"),
        (pack(b"[1, 2]", WORDS), "no event of ours"),
        (pack(b"\xff\xfe", WORDS), "decode"),
        (broken(lambda fields: fields.pop("kind") and None), "no event of ours"),
        (broken(lambda fields: fields | {"kind": "telegram"}), "no event of ours"),
        (broken(lambda fields: fields | {"call": "three"}), "call: "),
        (broken(lambda fields: fields | {"reply": {"§": 99}}), "no event of ours"),
        (broken(lambda fields: fields | {"reply": {"§": "x"}}), "no event of ours"),
        (broken(lambda fields: {"kind": "node_evaluated"}), "node: "),
        (broken(lambda _: {"node": "0", "proposals": [{"action": 1, "prior": 7}], "kind": "node_expanded"}), "outside"),
    ],
)
def test_what_is_no_body_of_ours_is_a_value_error_of_one_clause(body: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        decode(body, Shelf().find, PLAIN)
    assert "\n" not in str(caught.value)
