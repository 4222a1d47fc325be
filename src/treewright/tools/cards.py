"""Tool cards as Python: what a program calls, and what a model reads before it writes one.

what               gives
signature          weather(city: str, days: int = 3) -> dict
python_parameters  the same as data, with the names that the tool itself uses
docstring          the description, and what is known of each parameter
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treewright.tools.base import Card
from treewright.tools.names import parameter_names
from treewright.tools.schema_words import annotation, choices, resolved

_LONGEST_DEFAULT = 60
_MOST_CHOICES = 50
_LONGEST_DESCRIPTION = 2_000


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool.

    Args:
        name: a Python identifier, no keyword, unique in its tool.
        wire: the property of the arguments that it stands for; any text.
        annotation: its type in words of Python.
        required: it has to be given.
        default: its one default, plain JSON, in a tuple; empty when none is known. An argument that is not given is then left
            out of the call.
        description: what it is, "" when nothing is said.
    """

    name: str
    wire: str
    annotation: str = "Any"
    required: bool = True
    default: tuple[Any, ...] = ()
    description: str = ""


def python_parameters(card: Card) -> tuple[Parameter, ...]:
    """The parameters of a tool, required ones first, otherwise in the order of its schema."""
    properties, required = _properties(card.parameters)
    wires = [*properties, *(wire for wire in required if wire not in properties)]
    names = dict(zip(wires, parameter_names(wires), strict=True))
    wires.sort(key=lambda wire: wire not in required)
    return tuple(_parameter(names[wire], wire, properties.get(wire, {}), card, wire in required) for wire in wires)


def signature(card: Card) -> str:
    """The tool as the head of a Python function, in one line. A default that is not known is written `...`."""
    parameters = ", ".join(_shown(parameter) for parameter in python_parameters(card))
    returns = annotation(card.returns, card.returns) if card.returns is not None else "Any"
    return f"{card.name}({parameters}) -> {returns}"


def docstring(card: Card) -> str:
    """The description and a line for each parameter of which something is said, as a Python docstring would have it."""
    lines = [
        f"    {parameter.name}: {said}"
        for parameter in python_parameters(card)
        if (said := " ".join(_cut(parameter.description).split()))
    ]
    text = _cut(card.description.strip())
    return "\n".join([text, *(["", "Args:", *lines] if lines else [])]).strip()


def _properties(schema: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Properties and required names of an object schema, those of its `allOf` parts included."""
    properties: dict[str, Any] = {}
    required: dict[str, None] = {}
    top = resolved(schema, schema)
    parts = top.get("allOf")
    for part in (*(parts if isinstance(parts, list) else ()), top):
        part = resolved(part, schema)
        if isinstance(part.get("properties"), Mapping):
            properties |= {str(name): value for name, value in part["properties"].items()}
        if isinstance(part.get("required"), list):
            required |= {name: None for name in part["required"] if isinstance(name, str)}
    return properties, tuple(required)


def _parameter(name: str, wire: str, schema: Any, card: Card, required: bool) -> Parameter:
    own = schema if isinstance(schema, Mapping) else {}
    full = resolved(own, card.parameters)
    default = (own["default"],) if "default" in own else (full["default"],) if "default" in full else ()
    words = annotation(own, card.parameters)
    said = own.get("description", full.get("description", ""))
    description = said if isinstance(said, str) else ""
    values = choices(full)[:_MOST_CHOICES]
    if values and "Literal" not in words and words != "None":
        description = f"{description} One of {', '.join(json.dumps(value, ensure_ascii=False) for value in values)}.".strip()
    return Parameter(name, wire, words, required, () if required else default, description)


def _shown(parameter: Parameter) -> str:
    text = f"{parameter.name}: {parameter.annotation}"
    if parameter.required:
        return text
    default = repr(parameter.default[0]) if parameter.default else "..."
    return f"{text} = {default if len(default) <= _LONGEST_DEFAULT else '...'}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_DESCRIPTION else f"{text[:_LONGEST_DESCRIPTION]}…"
