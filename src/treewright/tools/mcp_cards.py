"""What an MCP server lists and answers, in our terms: tools become cards, replies become results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from treewright.tools.base import Card, Effect, Result
from treewright.tools.names import tool_name
from treewright.tools.schema_outline import outline

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock, Tool, ToolAnnotations

_LONGEST_DESCRIPTION = 4_000
_LARGEST_PARAMETERS = 12_000
_LARGEST_RETURNS = 6_000
_LONGEST_MESSAGE = 2_000


def cards_of(
    tools: Iterable[Tool], source: str, pure: Iterable[str] = (), idempotent: Iterable[str] = (), *, stateful: bool = False
) -> dict[str, Card]:
    """The card of each tool, by the tool's name on its server; a name that is listed twice counts once.

    Args:
        tools: as listed.
        source: of the cards.
        pure: patterns of tool names that are pure, whatever the server says.
        idempotent: likewise.
        stateful: of the cards.
    """
    cards: dict[str, Card] = {}
    for tool in tools:
        if tool.name not in cards:
            cards[tool.name] = Card(
                name=tool_name(tool.name, [card.name for card in cards.values()]),
                description=_description(tool),
                parameters=_object_schema(tool.input_schema),
                returns=_returns(tool.output_schema),
                effect=_effect(tool.name, tool.annotations, pure, idempotent),
                source=source,
                stateful=stateful,
            )
    return cards


def result_of(reply: CallToolResult, output_schema: Mapping[str, Any] | None) -> Result:
    """What a call came to: structured content if there is any, else the text, as JSON if it is JSON.

    Args:
        reply: of the server.
        output_schema: that the tool was listed with.
    """
    if reply.is_error:
        said = "\n".join(map(_text, reply.content)).strip()
        return Result(failure="raised", message=said[:_LONGEST_MESSAGE] or "the tool failed and did not say why")
    if reply.structured_content is not None:
        value = reply.structured_content
        return Result(value["result"] if _is_wrapped(output_schema) and isinstance(value, dict) else value)
    texts = [_text(block) for block in reply.content]
    parsed = [_parsed(text) for text in texts]
    if len(texts) <= 1:
        return Result(parsed[0] if parsed else None)
    # Servers without structured content send a list as a block for each item.
    listed = all(isinstance(value, dict | list) for value in parsed)
    return Result(parsed if listed else "\n".join(texts))


def _description(tool: Tool) -> str:
    title = tool.title or (tool.annotations.title if tool.annotations else None) or ""
    text = (tool.description or "").strip()
    shown = text if not title or title == tool.name or title.lower() in text.lower() else f"{title.rstrip('.')}. {text}".strip()
    return shown[:_LONGEST_DESCRIPTION]


def _effect(name: str, hints: ToolAnnotations | None, pure: Iterable[str], idempotent: Iterable[str]) -> Effect:
    """The user's word, else the server's hints with the defaults of the specification: it may write, and destroy."""
    if any(fnmatchcase(name, pattern) for pattern in pure):
        return "pure"
    if any(fnmatchcase(name, pattern) for pattern in idempotent):
        return "idempotent"
    if hints is not None and hints.read_only_hint:
        return "pure"
    if hints is not None and hints.idempotent_hint and hints.destructive_hint is False:
        return "idempotent"
    return "commit"


def _object_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    small = outline(schema, _LARGEST_PARAMETERS)
    return small if small.get("type") == "object" else {"type": "object", "properties": {}} | dict(small)


def _is_wrapped(schema: Mapping[str, Any] | None) -> bool:
    """Whether a result is put under "result" because the protocol wants an object; other results may look so, to no harm."""
    return schema is not None and list(schema.get("properties") or ()) == ["result"] and schema.get("required") == ["result"]


def _returns(schema: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if schema is None:
        return None
    if _is_wrapped(schema):
        inner = schema["properties"]["result"]
        definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
        schema = {**inner, **definitions} if isinstance(inner, dict) else {}
    return outline(schema, _LARGEST_RETURNS)


def _text(block: ContentBlock) -> str:
    """A block of a reply as text; of images, sounds and files only what they are."""
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return f"[{block.type}, {block.mime_type}, {len(block.data) * 3 // 4} bytes]"
        case "resource_link":
            return f"[resource {block.name}: {block.uri}]"
        case "resource":
            text = getattr(block.resource, "text", None)
            return text if isinstance(text, str) else f"[resource {block.resource.uri}, {block.resource.mime_type or 'binary'}]"


def _parsed(text: str) -> Any:
    def no_json(word: str) -> Any:
        raise ValueError(word)

    try:
        return json.loads(text, parse_constant=no_json)
    except (ValueError, RecursionError):
        return text
