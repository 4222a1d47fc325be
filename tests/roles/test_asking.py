"""Asking: once, once more with what was missing, then no opinion; nothing of this machine in what is sent."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewright.core.errors import ModelUnavailable
from treewright.core.tree import node_seed
from treewright.models.base import Caller, Message, Model, Reply, Request
from treewright.models.scripted import Scripted
from treewright.roles.asking import Ask, Asker, Unreadable, without_thoughts
from treewright.roles.reading import read_decision, read_list, read_program, read_score

QUESTION = Ask(
    "critic.outputs", (Message("system", "Judge."), Message("user", "How good is it?")), "End with a number.", 0.3, 100
)


class Taped:
    """A scripted model that keeps what it was asked."""

    def __init__(self, *replies: str) -> None:
        self._model = Scripted(replies)
        self.name = "taped"
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        return await self._model.complete(request)


def ask(model: Model, question: Ask = QUESTION, *, node: str = "0.1", seed: int = 0) -> int | None:
    return asyncio.run(Asker(model, seed).ask(question, node, read_score))


def test_a_reply_that_can_be_read_is_parsed_and_nobody_is_asked_again() -> None:
    model = Taped("Fine.\n4", "5")
    assert ask(model) == 4
    assert model.requests == [Request(QUESTION.messages, 0.3, 100, node_seed(0, "0.1", "critic.outputs"))]


def test_who_asks_stands_on_the_request() -> None:
    model = Taped("what?", "4")
    ask(model)
    assert [request.caller for request in model.requests] == [
        Caller("0.1", "critic.outputs", 0),
        Caller("0.1", "critic.outputs", 1),
    ]


def test_the_repair_ask_shows_the_reply_says_what_was_missing_and_repeats_the_form() -> None:
    model = Taped("It is quite good.", "4")
    assert ask(model) == 4
    first, second = model.requests
    assert second.messages[:2] == first.messages
    assert second.messages[2:] == (
        Message("assistant", "It is quite good."),
        Message("user", "That reply could not be read: its last line is not an integer from 0 to 5. End with a number."),
    )
    assert (second.temperature, second.max_tokens, second.seed) == (0.3, 100, first.seed)


@pytest.mark.parametrize(
    ("parse", "missing"),
    [
        (lambda text: read_list(text, 3), "no numbered list"),
        (read_program, "no fenced code block"),
        (read_score, "not an integer"),
        (read_decision, "neither True nor False"),
    ],
)
def test_every_reader_names_what_is_missing(parse: object, missing: str) -> None:
    assert callable(parse)
    model = Taped("hm", "hm")
    assert asyncio.run(Asker(model).ask(QUESTION, "0", parse)) is None
    assert missing in model.requests[1].messages[-1].text


def test_after_one_repair_there_is_no_opinion() -> None:
    model = Taped("no", "idea", "4")
    assert ask(model) is None
    assert len(model.requests) == 2


def test_an_empty_reply_is_no_empty_turn_in_the_repair_ask() -> None:
    for empty in ("", "  \n", "<think>so many thoughts that the end never came"):
        model = Taped(empty, "3")
        assert ask(model) == 3
        assert model.requests[1].messages[2] == Message("assistant", "(nothing)")


def test_a_reply_longer_than_allowed_is_not_sent_back_whole() -> None:
    class Endless(Taped):
        async def complete(self, request: Request) -> Reply:
            self.requests.append(request)
            return Reply("blah " * 200_000)

    model = Endless()
    assert ask(model) is None
    assert len(model.requests[1].messages[2].text) <= 4 * QUESTION.max_tokens


def test_thoughts_are_neither_read_nor_sent_back() -> None:
    model = Taped("<think>maybe 3\n3</think>I cannot say.", "<think>5?</think>\n2")
    assert ask(model) == 2
    assert model.requests[1].messages[2].text == "I cannot say."


def test_the_seed_follows_from_run_node_and_role_alone() -> None:
    def seed(run: int, node: str, role: str) -> int | None:
        model = Taped("1")
        ask(model, Ask(role, QUESTION.messages, ""), node=node, seed=run)
        return model.requests[0].seed

    assert seed(1, "0.2", "solver") == seed(1, "0.2", "solver") == node_seed(1, "0.2", "solver")
    others = [(2, "0.2", "solver"), (1, "0.3", "solver"), (1, "0.2", "debugger")]
    assert len({seed(1, "0.2", "solver"), *(seed(*other) for other in others)}) == 4


def test_what_the_parser_raises_beside_unreadable_is_not_swallowed() -> None:
    def broken(text: str) -> int:
        raise KeyError(text)

    with pytest.raises(KeyError):
        asyncio.run(Asker(Taped("x")).ask(QUESTION, "0", broken))


def test_a_model_that_is_gone_is_no_missing_opinion() -> None:
    with pytest.raises(ModelUnavailable):
        ask(Taped("hm"))


def test_unreadable_is_a_value_error_that_says_a_clause() -> None:
    assert str(Unreadable("it holds no list")) == "it holds no list"
    assert issubclass(Unreadable, ValueError)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("4", "4"),
        ("<think>3</think>4", "4"),
        ("<thinking>3</thinking>\n4", "\n4"),
        ("<THINK>3</THINK>4", "4"),
        ("<reasoning>\n3\n</reasoning>4", "4"),
        ("before<think>3</think>after", "beforeafter"),
        ("<think>a</think>x<think>b</think>y", "xy"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("the template opened it</think>4", "4"),
        ("<think>never closed 4", ""),
        ("4 <think>never closed", "4 "),
        ("<think>wrong end</reasoning>4", ""),
        ("a < b and think > c", "a < b and think > c"),
    ],
)
def test_thoughts_are_taken_out(text: str, said: str) -> None:
    assert without_thoughts(text) == said


@settings(deadline=None)
@given(st.lists(st.sampled_from(["<think>", "</think>", "<reasoning>", "</reasoning>", "4", " ", "\n", "<"])).map("".join))
def test_no_tag_of_thoughts_is_left(text: str) -> None:
    left = without_thoughts(text)
    assert "<think>" not in left
    assert "</think>" not in left
    assert "<reasoning>" not in left
    assert without_thoughts(left) == left


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["<think></think>", "<think>", "</think>", "<", "word "])
def test_a_long_reply_takes_no_long_time(piece: str) -> None:
    without_thoughts(piece * (1_000_000 // len(piece)))
