"""`Recorded`: what is on record is given out once, in its order, to exactly the call that it belongs to."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.core.budget import Spend
from treewright.core.errors import ModelUnavailable
from treewright.core.events import ModelCalled
from treewright.models.base import Caller, Message, Reply, Request, Usage
from treewright.models.recorded import Recorded
from treewright.models.scripted import Scripted

ASK = Request((Message("user", "why?"),), seed=1, caller=Caller("0.1", "solver", 0))


def on_record(request: Request, reply: str | None, *, finish: str = "stop", number: int = 1) -> ModelCalled:
    caller = request.caller
    messages = tuple((m.speaker, m.text) for m in request.messages)
    return ModelCalled(
        number, caller.node, caller.role, caller.attempt, request.digest, "m", messages, reply,
        error="" if reply is not None else "server: gone", finish=finish,
        input_tokens=7, output_tokens=5, cached_tokens=2, spent=Spend(calls=1, tokens=12),
    )  # fmt: skip


def ask(model: Recorded, request: Request = ASK) -> str:
    return asyncio.run(model.complete(request)).text


def test_what_is_on_record_is_given_out_as_it_was() -> None:
    model = Recorded(Scripted([]), [on_record(ASK, "because", finish="length")])
    assert asyncio.run(model.complete(ASK)) == Reply("because", Usage(7, 5, 2), "length")


@pytest.mark.parametrize(("finish", "read"), [("stop", "stop"), ("length", "length"), ("filter", "filter"), ("", "stop")])
def test_how_it_ended_is_remembered(finish: str, read: str) -> None:
    model = Recorded(Scripted([]), [on_record(ASK, "r", finish=finish)])
    assert asyncio.run(model.complete(ASK)).finish == read


def test_equal_calls_get_their_replies_in_the_order_of_the_record_and_each_once() -> None:
    inner = Scripted(["new"])
    model = Recorded(inner, [on_record(ASK, "first", number=1), on_record(ASK, "second", number=2)])
    assert [ask(model), ask(model)] == ["first", "second"]
    assert inner.used == 0
    assert ask(model) == "new"
    assert inner.used == 1
    with pytest.raises(ModelUnavailable):
        ask(model)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(ASK, caller=Caller("0.2", "solver", 0)), id="another node"),
        pytest.param(replace(ASK, caller=Caller("0.1", "debugger", 0)), id="another role"),
        pytest.param(replace(ASK, caller=Caller("0.1", "solver", 1)), id="another attempt"),
        pytest.param(replace(ASK, messages=(Message("user", "how?"),)), id="another question"),
        pytest.param(replace(ASK, messages=(Message("system", "why?"),)), id="another speaker"),
        pytest.param(replace(ASK, temperature=0.5), id="another temperature"),
        pytest.param(replace(ASK, max_tokens=9), id="another length"),
        pytest.param(replace(ASK, seed=2), id="another seed"),
    ],
)
def test_a_reply_is_never_given_to_another_call(other: Request) -> None:
    model = Recorded(Scripted(["new"]), [on_record(ASK, "because")])
    assert ask(model, other) == "new"
    assert ask(model) == "because"


def test_failed_calls_are_asked_again() -> None:
    model = Recorded(Scripted(["new"]), [on_record(ASK, None), on_record(ASK, None)])
    assert ask(model) == "new"


def test_an_empty_reply_is_a_reply() -> None:
    assert ask(Recorded(Scripted([]), [on_record(ASK, "")])) == ""


def test_its_name_is_the_models() -> None:
    assert Recorded(Scripted([], name="scripted:x")).name == "scripted:x"


requests = st.builds(
    lambda node, role, attempt, text: Request((Message("user", text),), caller=Caller(node, role, attempt)),
    st.sampled_from(["0", "0.1"]), st.sampled_from(["solver", "critic"]), st.integers(0, 1), st.sampled_from("xy"),
)  # fmt: skip


@given(st.lists(st.tuples(requests, st.sampled_from(["a", "b", None])), max_size=12), st.lists(requests, max_size=12))
def test_no_reply_is_lost_or_given_twice(record: list[tuple[Request, str | None]], asked: list[Request]) -> None:
    numbered = [
        on_record(request, None if reply is None else f"{reply}{n}", number=n) for n, (request, reply) in enumerate(record)
    ]
    model = Recorded(Scripted(["new"] * len(asked)), numbered)
    given_out = [(request, ask(model, request)) for request in asked]
    for request in set(asked):
        key = (request.caller, request.digest)
        known = [
            call.reply
            for call in numbered
            if call.reply is not None and (Caller(call.node, call.role, call.attempt), call.digest) == key
        ]
        got = [reply for other, reply in given_out if (other.caller, other.digest) == key]
        assert got == (known + ["new"] * len(asked))[: len(got)]
    assert max(Counter(reply for _, reply in given_out if reply != "new").values(), default=1) == 1
