"""An OpenAPI document cut down to the operations that are wanted, each schema in it small and without `$ref`.

Large APIs have hundreds of schemas that all lead to each other. A reader that follows them copies most of the document into
each operation, or runs out of stack; what is left here is bounded by the number of operations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from treewright.tools.schema_outline import outline

#: The methods whose operations are tools.
METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch"})
#: The most characters of one schema.
LARGEST_SCHEMA = 8_000
_DROPPED = frozenset({"example", "examples", "callbacks", "links", "headers", "externalDocs"})
_COMPONENTS = ("parameters", "requestBodies", "responses", "pathItems")


def bounded(document: Mapping[str, Any], wanted: Collection[tuple[str, str]]) -> dict[str, Any]:
    """The document with these operations only.

    Args:
        document: as read.
        wanted: path and method ("GET") of each.
    """
    known: dict[str, Mapping[str, Any]] = {}
    kept = {(path, method.lower()) for path, method in wanted}
    paths = {
        path: {
            key: _small(value, document, known)
            for key, value in item.items()
            if (path, key) in kept or key in {"parameters", "summary", "description"}
        }
        for path, item in document["paths"].items()
        if path in {path for path, _ in kept}
    }
    components = document.get("components")
    parts = components if isinstance(components, Mapping) else {}
    small = {kind: _small(parts[kind], document, known) for kind in _COMPONENTS if isinstance(parts.get(kind), Mapping)}
    return {"openapi": document["openapi"], "info": _info(document), "paths": paths, "components": small}


def _info(document: Mapping[str, Any]) -> dict[str, str]:
    info = document.get("info")
    said = info if isinstance(info, Mapping) else {}
    return {"title": str(said.get("title") or "API"), "version": str(said.get("version") or "0")}


def _small(part: Any, document: Mapping[str, Any], known: dict[str, Mapping[str, Any]]) -> Any:
    """`part` with its schemas outlined; `known` has those that were asked for by `$ref` before."""
    if isinstance(part, list):
        return [_small(item, document, known) for item in part]
    if not isinstance(part, Mapping):
        return part
    small = {}
    for key, value in part.items():
        if key == "schema" and isinstance(value, Mapping):
            small[key] = _schema(value, document, known)
        elif key == "responses" and isinstance(value, Mapping):
            small[key] = {str(code): _small(reply, document, known) for code, reply in value.items() if str(code)[:1] in "2d"}
        elif key not in _DROPPED:
            small[key] = _small(value, document, known)
    return small


def _schema(schema: Mapping[str, Any], document: Mapping[str, Any], known: dict[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    ref = schema.get("$ref")
    if not isinstance(ref, str):
        return outline(schema, LARGEST_SCHEMA, document)
    if ref not in known:
        known[ref] = outline(schema, LARGEST_SCHEMA, document)
    return known[ref]
