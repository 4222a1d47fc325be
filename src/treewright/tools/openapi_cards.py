"""Operations of an OpenAPI document as tools: how each is called, and its card."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from treewright.core.errors import UserError
from treewright.tools.base import Card, Effect
from treewright.tools.names import tool_name
from treewright.tools.openapi_bounded import METHODS, bounded
from treewright.tools.openapi_document import MISSING
from treewright.tools.schema_outline import outline

if TYPE_CHECKING:
    from fastmcp.utilities.openapi import HTTPRoute

_PURE = frozenset({"GET", "HEAD", "OPTIONS"})
_LONGEST_DESCRIPTION = 2_000
_LARGEST_PARAMETERS = 12_000
_LARGEST_RETURNS = 6_000


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Args:
        card: what a model sees of it.
        route: how fastmcp builds its request.
        raw: the operation in the document, for its security.
    """

    card: Card
    route: HTTPRoute
    raw: Mapping[str, Any]


def operations_of(
    document: Mapping[str, Any], source: str, *, only: Iterable[str], pure: Iterable[str], idempotent: Iterable[str]
) -> tuple[Operation, ...]:
    """The operations of a document in its order. One that is beyond repair is left out.

    Args:
        document: as read.
        source: of the cards.
        only: patterns (`fnmatch`) of operation ids, names, "GET /path" or tags; none means all.
        pure: patterns of those that change nothing, whatever their method.
        idempotent: patterns of those that every program may call.

    Raises:
        UserError: fastmcp is not installed, or cannot make sense of the document.
    """
    names = _named(document)
    wanted = {place: name for place, name in names.items() if _matches(document, place, name, only, everything=True)}
    found = {(route.path, route.method): route for route in _routes(bounded(document, wanted))}
    operations = []
    for place, name in wanted.items():
        if place in found:
            effect = _effect(document, place, name, pure, idempotent)
            raw = document["paths"][place[0]][place[1].lower()]
            operations.append(Operation(_card(found[place], name, source, effect), found[place], raw))
    return tuple(operations)


def _named(document: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """A name for each path and method: of its operationId, else of method and path. The same whatever is filtered."""
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for path, item in document["paths"].items():
        for method, operation in item.items() if isinstance(item, dict) else ():
            if method in METHODS and isinstance(operation, dict):
                wanted = operation.get("operationId") or re.sub(r"[\W_]+", "_", f"{method}{path}")
                names[path, method.upper()] = name = tool_name(str(wanted), taken)
                taken.add(name)
    return names


def _matches(
    document: Mapping[str, Any], place: tuple[str, str], name: str, patterns: Iterable[str], *, everything: bool = False
) -> bool:
    patterns = tuple(patterns)
    raw = document["paths"][place[0]][place[1].lower()]
    tags = raw.get("tags")
    texts = [name, str(raw.get("operationId")), f"{place[1]} {place[0]}", *(map(str, tags) if isinstance(tags, list) else ())]
    return any(fnmatchcase(text, pattern) for text in texts for pattern in patterns) or (everything and not patterns)


def _routes(document: dict[str, Any]) -> list[HTTPRoute]:
    try:
        from fastmcp.utilities.openapi import parse_openapi_to_http_routes
    except ImportError as error:
        raise UserError(MISSING) from error
    try:
        with _quiet("fastmcp.utilities.openapi"):
            return parse_openapi_to_http_routes(document)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the OpenAPI document is not valid: {' '.join(str(error).split())[:300]}") from error


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """The library prints what it stumbles over; an operation that is missing afterwards says it."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _effect(
    document: Mapping[str, Any], place: tuple[str, str], name: str, pure: Iterable[str], idempotent: Iterable[str]
) -> Effect:
    if _matches(document, place, name, pure):
        return "pure"
    if _matches(document, place, name, idempotent):
        return "idempotent"
    return "pure" if place[1] in _PURE else "commit"


def _card(route: HTTPRoute, name: str, source: str, effect: Effect) -> Card:
    summary, description = (route.summary or "").strip(), (route.description or "").strip()
    said = (
        description if not summary or description.startswith(summary.rstrip(".")) else f"{summary.rstrip('.')}. {description}"
    )
    return Card(
        name=name,
        description=said.strip()[:_LONGEST_DESCRIPTION] or f"{route.method} {route.path}",
        parameters=outline(route.flat_param_schema, _LARGEST_PARAMETERS) or {"type": "object", "properties": {}},
        returns=_returns(route),
        effect=effect,
        source=source,
    )


def _returns(route: HTTPRoute) -> Mapping[str, Any] | None:
    from fastmcp.utilities.openapi import extract_output_schema_from_responses

    try:
        schema = extract_output_schema_from_responses(route.responses, route.response_schemas, route.openapi_version)
    except (ValueError, RecursionError):
        return None
    if schema is None:
        return None
    if schema.pop("x-fastmcp-wrap-result", False):  # it wants objects; the result itself is returned here
        definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
        schema = {**schema["properties"]["result"], **definitions}
    return outline(schema, _LARGEST_RETURNS)
