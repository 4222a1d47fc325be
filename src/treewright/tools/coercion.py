"""Coerces arguments to what a tool's schema asks for, where only one reading makes sense.

the schema asks for   and gets               takes
integer               "3", 3.0               3
number                "2.5"                  2.5
boolean               "true", "False"        True, False
string                12                     "12"
array                 "a"                    ["a"]
array, object         a JSON text of one     what it says
a type without null   None, if not required  nothing: the argument is left out
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from treewright.tools.schema_words import choices, resolved

_DEEPEST = 20
_INTEGER = re.compile(r"\s*[-+]?\d{1,300}\s*")
_NUMBER = re.compile(r"\s*[-+]?(?:\d{1,300}\.?\d{0,300}|\.\d{1,300})(?:[eE][-+]?\d{1,2})?\s*")
_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "string": str, "boolean": bool, "null": type(None), "array": list, "object": dict, "number": (int, float)
}  # fmt: skip


def coerced_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as their object schema asks for them. What has no clear reading stays as it is.

    Raises:
        RecursionError: they are nested too deep.
    """
    return _object(arguments, resolved(schema, schema), schema, _DEEPEST)


def _object(value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties, required, others = schema.get("properties"), schema.get("required"), schema.get("additionalProperties")
    known = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, list) else []
    result: dict[str, Any] = {}
    for name, item in value.items():
        part = known.get(name, others)
        if item is None and name in known and name not in needed and not _allows_none(part, root, depth):
            continue
        result[name] = _coerced(item, part, root, depth - 1)
    return result


def _coerced(value: Any, schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    schema = resolved(schema, root)
    if not depth or not schema or value in choices(schema):
        return value
    for key in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(key)
        if isinstance(parts, list) and "type" not in schema:
            return _first(value, parts, root, depth)
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    fitting = next((one for one in kinds if _is(value, one)), None)
    if fitting is not None:
        return _inside(value, schema, root, depth)
    for one in kinds:
        read = _read(value, one)
        if read is not value:
            return _inside(read, schema, root, depth)
    return value


def _first(value: Any, parts: list[Any], root: Mapping[str, Any], depth: int) -> Any:
    """The value as the first alternative whose type it has; else as the first that it can be coerced to."""
    full = [resolved(part, root) for part in parts]
    for part in full:
        kind = part.get("type")
        if any(_is(value, one) for one in (kind if isinstance(kind, list) else [kind])):
            return _coerced(value, part, root, depth - 1)
    for part in full:
        read = _coerced(value, part, root, depth - 1)
        if read is not value:
            return read
    return value


def _inside(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    """The value with what it holds coerced."""
    if isinstance(value, dict):
        return _object(value, schema, root, depth - 1)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [_coerced(item, schema["items"], root, depth - 1) for item in value]
    return value


def _is(value: Any, kind: Any) -> bool:
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number" and isinstance(value, bool):
        return False
    return isinstance(kind, str) and kind in _KINDS and isinstance(value, _KINDS[kind])


def _read(value: Any, kind: Any) -> Any:
    """The value read as one type; itself if there is no one reading."""
    match kind, value:
        case "integer", str() if _INTEGER.fullmatch(value):
            return int(value)
        case "integer", float() if value.is_integer():
            return int(value)
        case "number", str() if _NUMBER.fullmatch(value):
            return float(value)
        case "boolean", str() if value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        case "string", int() | float() if not isinstance(value, bool):
            return str(value)
        case "array", _:
            read = _read_json(value)
            return read if isinstance(read, list) else value if value is None else [value]
        case "object", str():
            read = _read_json(value)
            return read if isinstance(read, dict) else value
    return value


def _read_json(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return None
    try:
        return json.loads(value)
    except ValueError:
        return None


def _allows_none(schema: Any, root: Mapping[str, Any], depth: int) -> bool:
    schema = resolved(schema, root)
    if not schema or not depth or None in choices(schema):
        return True
    parts = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(parts, list):
        return any(_allows_none(part, root, depth - 1) for part in parts)
    kind = schema.get("type")
    return kind is None or kind == "null" or (isinstance(kind, list) and "null" in kind)
