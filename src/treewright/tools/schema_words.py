"""JSON Schemas in words of Python: `{"type": "array", "items": {"type": "string"}}` is `list[str]`.

For reading, by people and models. Whatever a schema says that has no short word in Python (bounds, patterns, formats) is left
out, and a schema that is malformed is `Any`: it may come from a stranger's server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_DEEPEST = 4
_LONGEST = 240
_MOST_VALUES = 12
_MOST_REFS = 32


def annotation(schema: Any, root: Mapping[str, Any]) -> str:
    """The type that `schema` describes.

    Args:
        schema: the schema; anything may stand there.
        root: the document that its `$ref`s point into. Circular ones are fine: what is nested too deep is `dict`.
    """
    return _words(schema, root, _DEEPEST)


def resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """`schema` with its own `$ref` followed inside `root`; empty when it leads nowhere, out of the document, or in a circle."""
    for _ in range(_MOST_REFS):
        if not isinstance(schema, Mapping):
            return {}
        target = schema.get("$ref")
        if target is None:
            return schema
        schema = _pointed(target, root)
    return {}


def choices(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    """The only values that the schema lets pass, where it lists them; empty where it does not."""
    if "const" in schema:
        return (schema["const"],)
    values = schema.get("enum")
    return tuple(values) if isinstance(values, list) else ()


def _pointed(target: Any, root: Mapping[str, Any]) -> Any:
    if not isinstance(target, str) or not target.startswith("#"):
        return {}
    place: Any = root
    for step in target[1:].split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(place, list) and key.isdecimal() and int(key) < len(place):
            place = place[int(key)]
        elif isinstance(place, Mapping):
            place = place.get(key, {})
        else:
            return {}
    return place


def _words(schema: Any, root: Mapping[str, Any], depth: int) -> str:
    schema = resolved(schema, root)
    values = choices(schema)
    if values and (words := _literal(values)):
        return words
    if values:
        return _union(*(_type_of(value) for value in values))
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list) and schema[key] and depth:
            return _union(*(_words(part, root, depth - 1) for part in schema[key]))
    parts = schema.get("allOf")
    if isinstance(parts, list) and len(parts) == 1 and depth and "type" not in schema:
        return _words(parts[0], root, depth - 1)
    kind = schema.get("type", "object" if isinstance(schema.get("properties"), Mapping) else None)
    kinds = kind if isinstance(kind, list) else [kind]
    return _union(*(_one(kind, schema, root, depth) for kind in kinds))


def _one(kind: Any, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if kind == "array":
        items = _words(schema["items"], root, depth - 1) if depth and isinstance(schema.get("items"), Mapping) else "Any"
        return "list" if items == "Any" else f"list[{items}]"
    if kind == "object":
        return _object(schema, root, depth)
    return _TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    """An object as `{"title": str, "year": NotRequired[int]}` while that is short."""
    properties = schema.get("properties")
    if depth and isinstance(properties, Mapping) and properties:
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        fields: list[str] = []
        for name, part in properties.items():
            words = _words(part, root, depth - 1)
            fields.append(
                f"{json.dumps(str(name), ensure_ascii=False)}: {words if name in needed else f'NotRequired[{words}]'}"
            )
            if sum(map(len, fields)) > _LONGEST:
                return "dict"
        return f"{{{', '.join(fields)}}}"
    values = schema.get("additionalProperties")
    words = _words(values, root, depth - 1) if depth and isinstance(values, Mapping) else "Any"
    return "dict" if words == "Any" else f"dict[str, {words}]"


def _literal(values: tuple[Any, ...]) -> str:
    """The values as a `Literal`; "" when they are too many or none that Python allows there."""
    if len(values) > _MOST_VALUES or not all(value is None or isinstance(value, str | int) for value in values):
        return ""
    if values == (None,):
        return "None"
    words = f"Literal[{', '.join(json.dumps(v, ensure_ascii=False) if isinstance(v, str) else repr(v) for v in values)}]"
    return words if len(words) <= _LONGEST else ""


def _type_of(value: Any) -> str:
    if value is None:
        return "None"
    return type(value).__name__ if isinstance(value, bool | int | float | str | list | dict) else "Any"


def _union(*words: str) -> str:
    """The alternatives once each, None last; Any swallows the others."""
    different = sorted(dict.fromkeys(words), key=lambda word: word == "None")
    return "Any" if "Any" in different or not different else " | ".join(different)
