"""Cards as Python: signatures, parameters, docstrings; whatever a stranger's schema says, they are readable and valid."""

from __future__ import annotations

import ast
import keyword
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.tools.base import Card
from treewright.tools.cards import docstring, python_parameters, signature


def card(properties: dict[str, Any], required: tuple[str, ...] = (), **more: Any) -> Card:
    parameters = {"type": "object", "properties": properties, "required": list(required), **more.pop("schema", {})}
    return Card("weather", more.pop("description", ""), parameters, **more)


def test_a_signature_is_the_head_of_a_function() -> None:
    weather = card(
        {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}}, ("city",), returns={"type": "string"}
    )
    assert signature(weather) == "weather(city: str, days: int = 3) -> str"


def test_without_parameters_and_return_schema_a_signature_is_short() -> None:
    assert signature(Card("now", "")) == "now() -> Any"


def test_required_parameters_come_first_and_unknown_defaults_are_dots() -> None:
    search = card({"limit": {"type": "integer"}, "query": {"type": "string"}}, ("query",))
    assert signature(search) == "weather(query: str, limit: int = ...) -> Any"
    assert [(p.name, p.required, p.default) for p in python_parameters(search)] == [("query", True, ()), ("limit", False, ())]


def test_a_default_of_none_is_known_and_not_the_same_as_no_default() -> None:
    given_none = card({"kind": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}})
    assert python_parameters(given_none)[0].default == (None,)
    assert signature(given_none) == "weather(kind: str | None = None) -> Any"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "number"}, "float"),
        ({"type": "boolean"}, "bool"),
        ({"type": ["null", "string"]}, "str | None"),
        ({"type": "array", "items": {"type": "string"}}, "list[str]"),
        ({"type": "array"}, "list"),
        ({"type": "object"}, "dict"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"enum": ["film", "tv"]}, 'Literal["film", "tv"]'),
        ({"const": 3}, "Literal[3]"),
        ({"enum": [f"v{n}" for n in range(40)]}, "str"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "int | str"),
        ({"anyOf": [{"type": "integer"}, {}]}, "Any"),
        (
            {"type": "object", "properties": {"title": {"type": "string"}, "year": {"type": "integer"}}, "required": ["title"]},
            '{"title": str, "year": NotRequired[int]}',
        ),
        ({"type": "object", "properties": {f"field{n}": {"type": "string"} for n in range(60)}}, "dict"),
        ({}, "Any"),
        (True, "Any"),
        (None, "Any"),
        ({"type": 7}, "Any"),
        ({"$ref": "elsewhere.json"}, "Any"),
        ({"$ref": "#/no/such/place"}, "Any"),
    ],
)
def test_schemas_are_read_in_words_of_python(schema: Any, words: str) -> None:
    assert python_parameters(card({"x": schema}, ("x",)))[0].annotation == words


def test_references_are_followed_and_circles_end() -> None:
    tree = {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/Tree"}}}
    circle = {"$ref": "#/$defs/Circle"}
    found = card(
        {"kind": {"$ref": "#/$defs/Kind"}, "tree": {"$ref": "#/$defs/Tree"}, "circle": circle},
        schema={"$defs": {"Kind": {"enum": ["a"], "default": "a"}, "Tree": tree, "Circle": circle}},
    )
    kind, node, endless = python_parameters(found)
    assert (kind.annotation, kind.default) == ('Literal["a"]', ("a",))
    assert node.annotation.startswith('{"name": NotRequired[str], "next": NotRequired[{')
    assert endless.annotation == "Any"


def test_names_that_python_does_not_take_are_changed_without_clashing() -> None:
    strange = card({name: {} for name in ("user-id", "user_id", "user id", "class", "from", "3d", "", "Größe", "ﬁle", "file")})
    names = {p.wire: p.name for p in python_parameters(strange)}
    assert names == {
        "user-id": "user_id_2", "user_id": "user_id", "user id": "user_id_3", "class": "class_", "from": "from_", "3d": "_3d",
        "": "arg", "Größe": "Größe", "ﬁle": "file_2", "file": "file",
    }  # fmt: skip


def test_parts_of_an_object_schema_are_read_together() -> None:
    found = Card("f", "", {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}], "required": ["b"]})
    assert signature(found) == "f(a: str, b: Any) -> Any"


def test_a_docstring_says_what_each_parameter_is_and_lists_choices_that_the_signature_does_not() -> None:
    many = {"enum": [f"v{n}" for n in range(40)], "description": "Which\none."}
    found = card({"query": {"type": "string", "description": "Free text."}, "kind": many, "n": {}}, description="Search it.")
    text = docstring(found)
    assert text.startswith('Search it.\n\nArgs:\n    query: Free text.\n    kind: Which one. One of "v0", "v1", ')
    assert "n:" not in text
    assert docstring(Card("f", "Only this.")) == "Only this."


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
words_of_schemas = (
    "type",
    "properties",
    "required",
    "items",
    "anyOf",
    "allOf",
    "enum",
    "const",
    "$ref",
    "default",
    "description",
)
schemas = st.recursive(
    json_values | st.sampled_from([{"$ref": "#"}, {"type": "string"}, {"type": "object"}]),
    lambda inner: st.dictionaries(st.sampled_from(words_of_schemas), inner | st.lists(inner, max_size=3), max_size=5),
    max_leaves=20,
)


@given(properties=st.dictionaries(st.text(max_size=8), schemas, max_size=6), required=st.lists(st.text(max_size=8), max_size=3))
def test_any_schema_makes_a_signature_that_python_can_parse(properties: dict[str, Any], required: list[str]) -> None:
    found = card(properties, tuple(required))
    parameters = python_parameters(found)
    names = [p.name for p in parameters]
    assert len(set(names)) == len(names) == len({p.wire for p in parameters})
    assert {p.wire for p in parameters} == {*properties, *required}
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    assert [p.required for p in parameters] == sorted((p.required for p in parameters), reverse=True)
    ast.parse(f"def {signature(found)}: ...")
    docstring(found)
