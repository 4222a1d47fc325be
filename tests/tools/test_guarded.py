"""What goes into tools and comes out of them stays within bounds, whoever wrote the tools, their schemas and their results."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripted_tools import ScriptedTool, ScriptedToolbox, failing
from treewright.tools.base import Card, Result
from treewright.tools.guarded import Guarded


def one(act: Any = lambda **arguments: arguments, parameters: Any = None, **settings: Any) -> ScriptedToolbox:
    card = Card("find", "finds", parameters or {"type": "object"})
    return ScriptedToolbox([ScriptedTool("find", act, card=card, **settings)])


def called(toolbox: ScriptedToolbox, arguments: dict[str, Any] | None = None, name: str = "find", **settings: Any) -> Result:
    async def run() -> Result:
        async with Guarded(toolbox, **settings).session() as session:
            return await session.call(name, arguments or {})

    return asyncio.run(run())


def schema(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


INT, TEXT, FLAG = {"type": "integer"}, {"type": "string"}, {"type": "boolean"}


@pytest.mark.parametrize(
    ("part", "given", "taken"),
    [
        (INT, "3", 3),
        (INT, 3.0, 3),
        ({"type": "number"}, "2.5", 2.5),
        (FLAG, "True", True),
        (TEXT, 12, "12"),
        ({"type": "array", "items": INT}, "7", [7]),
        ({"type": "array", "items": INT}, [1.0, "2"], [1, 2]),
        ({"type": "array", "items": INT}, "[1, 2]", [1, 2]),
        ({"type": "object", "properties": {"n": INT}}, {"n": "4"}, {"n": 4}),
        ({"type": "object", "properties": {"n": INT}}, '{"n": "4"}', {"n": 4}),
        ({"anyOf": [INT, {"type": "null"}]}, "5", 5),
        ({"anyOf": [INT, TEXT]}, "5", "5"),
        ({"type": ["integer", "null"]}, None, None),
        ({"$ref": "#/$defs/N"}, "6", 6),
        ({"enum": ["1", 1]}, "1", "1"),
    ],
)
def test_what_is_meant_is_coerced(part: Any, given: Any, taken: Any) -> None:
    toolbox = one(parameters=schema(x=part) | {"$defs": {"N": INT}})
    result = called(toolbox, {"x": given})
    assert result.message == ""
    assert toolbox.named("find") == [{"x": taken}]
    assert type(toolbox.named("find")[0]["x"]) is type(taken)


def test_none_for_a_parameter_that_may_be_left_out_leaves_it_out() -> None:
    toolbox = one(parameters=schema(("a",), a={"type": ["string", "null"]}, b=INT))
    called(toolbox, {"a": None, "b": None})
    assert toolbox.named("find") == [{"a": None}]


@pytest.mark.parametrize(
    ("arguments", "begins"),
    [
        ({"days": "soon", "city": "x"}, "days: 'soon' is not of type 'integer'"),
        ({"days": True, "city": "x"}, "days: True is not of type 'integer'"),
        ({}, "'city' is a required property"),
        ({"city": "x", "dayz": 1}, "Additional properties are not allowed ('dayz' was unexpected)"),
        ({"city": {1, 2}}, "the arguments are no JSON"),
        ({"city": float("nan")}, "the arguments are no JSON"),
    ],
)
def test_what_is_wrong_is_named_and_the_tool_is_not_called(arguments: dict[str, Any], begins: str) -> None:
    toolbox = one(parameters=schema(("city",), city=TEXT, days=INT))
    result = called(toolbox, arguments)
    assert (result.failure, result.message[: len(begins)]) == ("invalid", begins)
    assert toolbox.calls == []


def test_a_fault_says_how_the_tool_is_called_and_stays_short() -> None:
    result = called(one(parameters=schema(("days",), days=INT)), {"days": "x" * 100_000})
    assert result.message.endswith("; it is find(days: int) -> Any")
    assert len(result.message) < 500


def test_an_unknown_name_is_answered_with_the_nearest_or_with_what_there_is() -> None:
    assert called(one(), name="fnid") == Result(failure="invalid", message="there is no tool 'fnid': did you mean find?")
    assert called(one(), name="zzz") == Result(failure="invalid", message="there is no tool 'zzz': there are find")


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"type": "object", "properties": 7}, "its schema is wrong at $.properties"),
        ({"type": "thing"}, "its schema is wrong at $.type"),
        (schema(x={"$ref": "#/$defs/none"}), "a $ref in its schema leads nowhere: '#/$defs/none'"),
        (schema(x={"$ref": "https://example.org/x.json"}), "a $ref in its schema leads nowhere"),
        (
            schema(x={"$ref": "#/$defs/A"}) | {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
            "a $ref in its schema leads in a circle",
        ),
    ],
)
def test_a_tool_whose_schema_cannot_be_used_is_left_out_and_reported(parameters: Any, why: str) -> None:
    fine = ScriptedTool("fine")
    toolbox = ScriptedToolbox([ScriptedTool("bad", card=Card("bad", "", parameters)), fine])
    guarded = Guarded(toolbox)
    assert [card.name for card in guarded.cards] == ["fine"]
    ((name, reason),) = guarded.left_out
    assert (name, reason[: len(why)]) == ("bad", why)
    assert called(toolbox, name="bad").failure == "invalid"


def test_a_schema_that_holds_itself_is_used() -> None:
    tree = {"type": "object", "properties": {"value": INT, "next": {"$ref": "#/$defs/Tree"}}}
    toolbox = one(parameters=schema(tree={"$ref": "#/$defs/Tree"}) | {"$defs": {"Tree": tree}})
    called(toolbox, {"tree": {"value": "1", "next": {"value": "2"}}})
    assert toolbox.named("find") == [{"tree": {"value": 1, "next": {"value": 2}}}]


def test_a_schema_without_an_end_is_answered_not_followed() -> None:
    result = called(one(parameters={"type": "object", "allOf": [{"$ref": "#"}]}))
    assert (result.failure, "nested too deep" in result.message) == ("invalid", True)


def test_patterns_of_strangers_are_not_tried() -> None:
    slow = "^(a+)+$"
    toolbox = one(parameters=schema(x={"type": "string", "pattern": slow}) | {"patternProperties": {slow: {}}})
    assert called(toolbox, {"x": "a" * 60 + "!"}).failure is None


@pytest.mark.parametrize("value", [float("nan"), b"x", {1, 2}, object(), [10**5000]])
def test_results_that_are_no_json_are_failures(value: Any) -> None:
    assert called(one(lambda: value)).failure == "not_json"


def test_a_result_that_holds_itself_or_is_nested_too_deep_is_no_json() -> None:
    circle: list[Any] = []
    circle.append(circle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert called(one(lambda: circle)).failure == "not_json"
    assert called(one(lambda: deep)).failure == "not_json"


def test_results_are_plain_json_and_nobody_elses() -> None:
    kept = {"rows": [(1, 2)], 3: "x"}
    result = called(one(lambda: kept))
    assert result.value == {"rows": [[1, 2]], "3": "x"}
    assert called(one(lambda: "\ud800")).value == "?"


def test_a_result_of_50_mb_is_refused_with_its_size_and_what_to_do() -> None:
    result = called(one(lambda: "x" * 50_000_000))
    assert result.failure == "too_large"
    assert result.message.startswith("the result of find has 50,000,002 bytes of JSON, more than 262,144: ask for less")
    assert called(one(lambda: "x" * 98), largest_result=100).failure is None
    assert called(one(lambda: "x" * 99), largest_result=100).failure == "too_large"


def test_a_call_takes_no_longer_than_is_usual_or_than_the_tool_says() -> None:
    async def hang() -> None:
        await asyncio.sleep(60)

    assert called(one(hang), timeout_s=0.02) == Result(failure="timeout", message="find took more than 0.02 s")
    assert called(one(hang, timeout_s=0.03), timeout_s=60) == Result(failure="timeout", message="find took more than 0.03 s")


def test_secrets_are_taken_out_of_results_and_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", 'q"k3y-abcdefgh')
    told = {"said": 'with q"k3y-abcdefgh', "header": "Bearer abcdefgh", "n": [1, None]}
    assert called(one(lambda: told)).value == {"said": "with [secret]", "header": "[secret]", "n": [1, None]}
    assert called(one(failing("raised", 'no q"k3y-abcdefgh'))).message == "no [secret]"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
types = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
parts = st.recursive(
    st.builds(lambda kind: {"type": kind}, types) | st.just({"$ref": "#"}) | st.just({}),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda fields: {"type": "object", "properties": fields}, st.dictionaries(st.text(max_size=3), inner))
    ),
    max_leaves=6,
)


@given(
    fields=st.dictionaries(st.text(max_size=3), parts, max_size=3), arguments=st.dictionaries(st.text(max_size=3), json_values)
)
def test_whatever_is_called_with_whatever_there_is_a_result_and_the_tool_sees_only_what_fits(
    fields: dict[str, Any], arguments: dict[str, Any]
) -> None:
    from jsonschema import Draft202012Validator

    toolbox = one(parameters=schema(**{}) | {"properties": fields})
    result = called(toolbox, arguments)
    assert result.failure in (None, "invalid")
    for seen in toolbox.named("find"):
        assert Draft202012Validator(schema() | {"properties": fields}).is_valid(seen)
