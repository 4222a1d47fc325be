"""A JSON Schema made small enough for a card, and only ever less strict: what fits the schema fits its outline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from treewright.tools.schema_words import resolved

_DEEPEST = 8
_LONGEST_DESCRIPTION = 300
#: Characters of a property and its type, about.
_SHORTEST_PART = 16
#: For people and generators, besides keywords under which a laxer part would make the whole stricter.
_DROPPED = frozenset({"definitions", "title", "description", "example", "examples", "externalDocs", "xml", "discriminator"}) | {
    *("not", "if", "then", "else", "dependentSchemas", "contains", "unevaluatedProperties", "unevaluatedItems")
}
_MAPS = ("properties", "patternProperties")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "propertyNames")


def outline(schema: Mapping[str, Any], largest: int, root: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """The schema itself if its JSON is at most `largest` characters, else the deepest outline of it that is.

    An outline has no `$ref`: what is circular ends where the depth does. Only properties at its top keep their descriptions.

    Args:
        schema: any JSON Schema.
        largest: characters.
        root: the document that its `$ref`s point into, if it is not the schema itself; none is left then in any case.
    """
    written = json.dumps(schema, ensure_ascii=False, default=str)
    if len(written) <= largest and (root is None or '"$ref"' not in written):
        return schema
    best: Mapping[str, Any] = {"type": "object"} if schema.get("type") == "object" else {}
    # subtle: one level more is tried only while the last one fitted, so that a dense web of $refs never unfolds.
    for depth in range(1, _DEEPEST + 1):
        room = [largest // _SHORTEST_PART]
        small = _outlined(schema, schema if root is None else root, depth, room, described=2)
        if room[0] < 0 or small == best or len(json.dumps(small, ensure_ascii=False, default=str)) > largest:
            break
        best = small
    return best


def _outlined(schema: Any, root: Mapping[str, Any], depth: int, room: list[int], described: int = 0) -> Any:
    """The outline of a part; `room` is how many more parts may follow, and below zero the work is in vain."""
    room[0] -= 1
    if not isinstance(schema, Mapping) or room[0] < 0:
        return schema
    here = resolved(schema, root)
    if depth == 0:
        return _top(here, described)
    small: dict[str, Any] = _top(here, described)
    for key, value in here.items():
        if key in _MAPS and isinstance(value, Mapping):
            small[key] = {name: _outlined(part, root, depth - 1, room, described - 1) for name, part in value.items()}
        elif key in _LISTS and isinstance(value, list):
            # oneOf of laxer parts could fit twice
            small["anyOf" if key == "oneOf" else key] = [_outlined(part, root, depth - 1, room) for part in value]
        elif key in _SINGLE:
            small[key] = _outlined(value, root, depth - 1, room)
        elif key not in _DROPPED and not key.startswith(("$", "x-")):
            small[key] = value
    return small


def _top(schema: Mapping[str, Any], described: int) -> dict[str, Any]:
    top = {"type": schema["type"]} if "type" in schema else {}
    said = schema.get("description")
    return top | {"description": said[:_LONGEST_DESCRIPTION]} if described > 0 and isinstance(said, str) else top
