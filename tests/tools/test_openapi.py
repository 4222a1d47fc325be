"""OpenAPI documents as toolboxes: cards from the document, calls against a real server on this machine."""

import asyncio
import base64
import gzip
import importlib
import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from api_server import ApiServer
from treewright.core.errors import UserError
from treewright.tools.base import Card, Result
from treewright.tools.openapi import OpenApiToolbox, from_openapi
from treewright.tools.schema_outline import outline

pytest.importorskip("fastmcp", reason="the extra `openapi` is not installed")

KEY = "k-very-secret/77"
JSON = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}


def get(path: str, **more: Any) -> dict[str, Any]:
    return {path: {"get": {"operationId": path.strip("/"), "responses": JSON, **more}}}


def api(**more: Any) -> dict[str, Any]:
    """A document of all that the test server can do."""
    item = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    sizes = {"name": "sizes", "in": "query", "schema": {"type": "array", "items": {"type": "integer"}}}
    body = {"required": True, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Item"}}}}
    item_schema = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}}
    places = ("echo", "text", "page", "denied", "nothing", "huge", "slow", "cut", "moved", "away")
    document: dict[str, Any] = {
        "openapi": "3.0.3",
        "info": {"title": "Items", "version": "1"},
        "servers": [
            {"url": "{scheme}://api.example/{v}", "variables": {"scheme": {"default": "https"}, "v": {"default": "2"}}}
        ],
        "paths": {
            "/items/{id}": {
                "get": {
                    "summary": "One item",
                    "description": "With all it has.",
                    "parameters": [item, sizes],
                    "responses": JSON,
                }
            },
            "/items": {"post": {"operationId": "add-item", "tags": ["writing"], "requestBody": body, "responses": JSON}},
        },
        "components": {"schemas": {"Item": item_schema}},
    }
    for place in places:
        document["paths"] |= get(f"/{place}")
    return document | more


def written(folder: Path, document: Mapping[str, Any]) -> Path:
    path = folder / "items_openapi.json"
    path.write_text(json.dumps(document))
    return path


async def called(box: OpenApiToolbox, *calls: tuple[str, dict[str, Any]]) -> list[Result]:
    async with box, box.session("n1") as session:
        return [await session.call(name, arguments) for name, arguments in calls]


def test_each_operation_is_a_card_with_a_name_and_the_effect_of_its_method(tmp_path: Path) -> None:
    box = from_openapi(written(tmp_path, api()))
    cards = {card.name: card for card in box.cards}
    first = box.cards[0]
    assert (first.name, first.effect, first.source) == ("get_items_id", "pure", "openapi:items")
    assert first.description == "One item. With all it has."
    assert first.parameters["required"] == ["id"]
    assert list(first.parameters["properties"]) == ["id", "sizes"]
    assert cards["add_item"].effect == "commit"
    assert cards["add_item"].parameters["required"] == ["name"]
    assert {card.effect for card in cards.values() if card.name != "add_item"} == {"pure"}


def test_operations_are_chosen_and_their_effects_corrected_by_patterns(tmp_path: Path) -> None:
    def effects(**options: Any) -> dict[str, str]:
        return {card.name: card.effect for card in from_openapi(written(tmp_path, api()), **options).cards}

    assert effects(only=["writing", "GET /items/*"]) == {"get_items_id": "pure", "add_item": "commit"}
    assert effects(only=["add-*"], idempotent=["add_item"]) == {"add_item": "idempotent"}
    assert effects(only=["add_item"], pure=["POST /items"]) == {"add_item": "pure"}
    with pytest.raises(UserError, match="no operation that can be used and is asked for"):
        effects(only=["nothing-like-it"])


def test_calls_are_requests_and_replies_are_values(tmp_path: Path) -> None:
    async def story() -> list[Result]:
        async with ApiServer() as server:
            box = from_openapi(written(tmp_path, api()), base=server.url)
            return await called(
                box,
                ("get_items_id", {"id": "a/b c", "sizes": [1, 2]}),
                ("add_item", {"name": "Öl", "n": 2}),
                ("text", {}),
                ("nothing", {}),
                ("moved", {}),
                ("echo", {}),
                ("echo", {}),
            )

    item, added, text, nothing, moved, _, again = asyncio.run(story())
    assert item.value["query"] == {"sizes": ["1", "2"]}
    assert added.value == {"name": "Öl", "n": 2}
    assert (text.value, nothing.value, moved.value) == ("plain words", None, "plain words")
    assert "cookie" not in again.value  # nothing is remembered


def test_what_goes_wrong_is_a_result_that_says_so(tmp_path: Path) -> None:
    async def story() -> list[Result]:
        async with ApiServer() as server:
            box = from_openapi(written(tmp_path, api()), base=server.url, call_timeout_s=2, reply_limit=1_000_000)
            calls: list[tuple[str, dict[str, Any]]] = [
                ("page", {}),
                ("huge", {}),
                ("slow", {}),
                ("cut", {}),
                ("away", {}),
                ("get_items_id", {}),
                ("no_such", {}),
            ]
            found = await called(box, *calls, ("text", {"colour": "red"}))
        return found + await called(from_openapi(written(tmp_path, api()), base=server.url), ("text", {}))

    page, huge, slow, cut, away, missing, unknown, stray, refused = asyncio.run(story())
    assert page.failure == "raised"
    assert page.message.startswith("HTTP status 404 So: <html>nothing here")
    assert len(page.message) < 1_100
    assert (huge.failure, slow.failure, cut.failure) == ("too_large", "timeout", "unavailable")
    assert away.failure == "raised"  # not followed to another host
    assert "307" in away.message
    assert [result.failure for result in (missing, unknown, stray)] == ["invalid"] * 3
    assert "'colour'" in stray.message
    assert refused.failure == "unavailable"
    assert "127.0.0.1 cannot be reached" in refused.message


@pytest.mark.parametrize(
    ("scheme", "value", "arrives"),
    [
        ({"type": "http", "scheme": "bearer"}, KEY, ("authorization", f"Bearer {KEY}")),
        ({"type": "oauth2", "flows": {}}, KEY, ("authorization", f"Bearer {KEY}")),
        (
            {"type": "http", "scheme": "basic"},
            f"ann:{KEY}",
            ("authorization", "Basic " + base64.b64encode(f"ann:{KEY}".encode()).decode()),
        ),
        ({"type": "apiKey", "in": "header", "name": "X-Key"}, KEY, ("x-key", KEY)),
        ({"type": "apiKey", "in": "cookie", "name": "sid"}, KEY, ("cookie", f"sid={KEY}")),
        ({"type": "apiKey", "in": "query", "name": "api_key"}, KEY, ("target", "?api_key=k-very-secret%2F77")),
    ],
)
@pytest.mark.parametrize("required", [True, False])
def test_keys_come_from_the_environment_and_are_never_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    scheme: dict[str, Any],
    value: str,
    arrives: tuple[str, str],
    required: bool,
) -> None:
    caplog.set_level(logging.INFO)
    document = api()
    document["components"] |= {"securitySchemes": {"my-key": scheme}}
    if required:  # a document that only defines its schemes means them too
        document["security"] = [{"my-key": []}]

    async def story(**options: Any) -> tuple[list[Result], list[tuple[str, str, dict[str, str], str]], tuple[Card, ...]]:
        async with ApiServer() as server:
            box = from_openapi(written(tmp_path, document), base=server.url, **options)
            return await called(box, ("echo", {}), ("denied", {})), server.seen, box.cards

    for variable, options in [("TREEWRIGHT_MY_KEY_TOKEN", {}), ("OTHER", {"variables": {"my-key": "OTHER"}})]:
        without, seen, _ = asyncio.run(story(**options))
        if required:
            assert (without[0].failure, seen) == ("unavailable", [])
            assert f"set the environment variable {variable}" in without[0].message
        monkeypatch.setenv(variable, value)
        (echo, denied), seen, cards = asyncio.run(story(**options))
        _, target, headers, _ = seen[0]
        assert arrives[1] in (target if arrives[0] == "target" else headers[arrives[0]])
        assert denied.failure == "raised"
        shown = f"{echo} {denied} {cards} {caplog.text}"
        assert not [word for word in (KEY, "k-very-secret", arrives[1].split()[-1]) if word in shown]
        monkeypatch.delenv(variable)


def test_the_first_alternative_whose_keys_are_all_there_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemes = {name: {"type": "apiKey", "in": "header", "name": f"x-{name}"} for name in ("a", "b", "c")}
    document = api(security=[{"a": [], "b": []}, {"c": []}])
    document["components"] |= {"securitySchemes": schemes}
    document["paths"]["/text"]["get"]["security"] = []
    monkeypatch.setenv("TREEWRIGHT_A_TOKEN", "only-half")
    monkeypatch.setenv("TREEWRIGHT_C_TOKEN", "the-third")

    async def story() -> list[tuple[str, str, dict[str, str], str]]:
        async with ApiServer() as server:
            await called(from_openapi(written(tmp_path, document), base=server.url), ("echo", {}), ("text", {}))
            return server.seen

    echo, text = asyncio.run(story())
    assert echo[2]["x-c"] == "the-third"
    assert not {"x-a", "x-b"} & echo[2].keys()
    assert not {"x-a", "x-b", "x-c"} & text[2].keys()


def test_a_document_is_read_from_a_url_in_yaml_and_its_server_is_relative_to_it() -> None:
    spec = (
        "openapi: 3.1.0\ninfo: {title: T, version: 1}\nservers: [{url: /v1}]\npaths:\n  /day:\n    get:\n"
        "      parameters: [{name: on, in: query, schema: {type: string, default: 2026-01-31}}]\n"
        "      responses: {200: {description: ok}}\n"
    )

    async def story() -> tuple[OpenApiToolbox, Result, str]:
        async with ApiServer(spec=spec) as server:
            box = await asyncio.to_thread(from_openapi, f"{server.url}/spec.yaml")
            (result,) = await called(box, ("get_day", {"on": "today"}))
            return box, result, server.seen[-1][1]

    box, result, target = asyncio.run(story())
    assert (result.value["id"], target) == ("day", "/v1/day?on=today")
    assert box.cards[0].source == "openapi:127.0.0.1"
    assert box.cards[0].parameters["properties"]["on"]["default"] == "2026-01-31"


def test_circular_references_end_and_hundreds_of_operations_load_in_bounded_cards(tmp_path: Path) -> None:
    def schema(number: int) -> dict[str, Any]:
        refs = {f"p{n}": {"$ref": f"#/components/schemas/S{(number * 7 + n) % 300}"} for n in range(10)}
        return {"type": "object", "properties": {"word": {"type": "string", "description": "w" * 5_000}, **refs}}

    def operation(number: int) -> dict[str, Any]:
        content = {"application/json": {"schema": {"$ref": f"#/components/schemas/S{number}"}}}
        return {
            "description": "d" * 50_000,
            "requestBody": {"content": content},
            "responses": {"200": {"description": "ok", "content": content}},
        }

    document = api(
        paths={f"/thing{number}": {"post": operation(number)} for number in range(300)},
        components={"schemas": {f"S{number}": schema(number) for number in range(300)}},
    )
    start = time.monotonic()
    cards = from_openapi(written(tmp_path, document)).cards
    assert time.monotonic() - start < 60
    assert len({card.name for card in cards}) == 300
    assert {"word", "p0", "p9"} <= set(cards[0].parameters["properties"])
    sizes = [len(json.dumps(part)) for card in cards for part in (card.parameters, card.returns, card.description)]
    assert max(sizes) < 12_100


def test_an_outline_is_small_and_accepts_whatever_the_schema_accepts() -> None:
    validator = importlib.import_module("jsonschema").Draft202012Validator  # it has no types

    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string", "description": "n" * 5_000}},
        "oneOf": [{"required": ["next"]}, {"not": {"required": ["next"]}}],
        "additionalProperties": False,
    }
    schema = {"$ref": "#/$defs/node", "$defs": {"node": node}}
    small = outline(schema, 1_000)
    value: dict[str, Any] = {}
    for _ in range(20):
        value = {"next": value, "name": "x"}
    assert len(json.dumps(small)) <= 1_000
    assert "$ref" not in json.dumps(small)
    assert validator(schema).is_valid(value)
    assert validator(dict(small)).is_valid(value)
    assert not validator(dict(small)).is_valid({"name": 1})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{: [", "neither JSON nor YAML"),
        ('{"swagger": "2.0"}', "is for Swagger 2"),
        ("[]", "an OpenAPI 3 document is needed"),
        ('{"openapi": "3.0.0"}', 'has no "paths"'),
        ('{"openapi": "3.0.0", "servers": [{"url": "http://x"}], "paths": {}}', "no operation that can be used"),
        ('{"openapi": "3.0.0", "paths": {"/a": {"get": {}}}}', "give its base URL"),
        ('{"openapi": "3.0.0", "servers": [{"url": "http://x"}], "paths": {"/a": {"get": {"tags": 7}}}}', "is not valid"),
    ],
)
def test_a_document_that_is_none_is_refused_in_one_sentence(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "api.yaml"
    path.write_text(content)
    with pytest.raises(UserError, match=said):
        from_openapi(path)


def test_a_document_that_cannot_be_had_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        from_openapi(tmp_path / "absent.json")
    with pytest.raises(UserError, match="cannot be fetched: ConnectError"):
        from_openapi("http://127.0.0.1:1/openapi.json")
    monkeypatch.setitem(sys.modules, "fastmcp.utilities.openapi", None)
    with pytest.raises(UserError, match=r"pip install 'treewright\[openapi\]'"):
        from_openapi(written(tmp_path, api()))


def restbench() -> Iterator[Path]:
    yield from sorted(Path(os.environ["TREEWRIGHT_RESTBENCH"]).glob("*_oas.json*"))


@pytest.mark.skipif("TREEWRIGHT_RESTBENCH" not in os.environ, reason="TREEWRIGHT_RESTBENCH names no folder")
def test_restbench_documents_become_cards(tmp_path: Path) -> None:
    found = {}
    for packed in restbench():
        raw = packed.read_bytes()
        path = tmp_path / packed.name.removesuffix(".gz")
        path.write_bytes(gzip.decompress(raw) if packed.suffix == ".gz" else raw)
        found[path.name.partition("_")[0]] = from_openapi(path).cards
    assert {name: len(cards) for name, cards in found.items()} == {"tmdb": 54, "spotify": 40}
    assert {card.effect for card in found["tmdb"]} == {"pure"}
    assert sum(card.effect == "commit" for card in found["spotify"]) == 17
