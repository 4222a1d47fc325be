"""Arguments of a call held against a tool's JSON Schema: what is meant is coerced, what is wrong is named.

Schemas come from strangers. Nothing is fetched for a `$ref`; patterns are not tried, because a pattern can be written to take
for ever, and the tool checks them itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from treewright.tools.base import Card
from treewright.tools.cards import signature
from treewright.tools.coercion import coerced_arguments
from treewright.tools.plain import said
from treewright.tools.schema_words import resolved

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

_MOST_FAULTS = 3
_LONGEST_FAULT = 300


class BadSchemaError(ValueError):
    """A tool's schema cannot be used; the message says why."""


class Arguments:
    """The arguments that a tool takes.

    Args:
        card: the tool.

    Raises:
        BadSchemaError: its schema is no JSON Schema, or a `$ref` in it leads nowhere, out of it, or in a circle of its own.
    """

    def __init__(self, card: Card) -> None:
        self._card = card
        self._schema = card.parameters
        self._validator = _validator(card.parameters)

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any] | str:
        """The arguments, coerced where that is clear ("3" for an integer, one value for a list of them); or what is wrong."""
        from referencing.exceptions import Unresolvable

        try:
            coerced = coerced_arguments(arguments, self._schema)
            faults = sorted(self._validator.iter_errors(coerced), key=lambda fault: [str(step) for step in fault.absolute_path])
        except RecursionError:  # a schema that holds itself without end, or arguments nested that deep
            return f"the arguments cannot be checked: they or the schema of {self._card.name} are nested too deep"
        except Unresolvable:
            return f"the arguments cannot be checked: a $ref in the schema of {self._card.name} leads nowhere"
        if not faults:
            return coerced
        texts = "; ".join(_fault(fault) for fault in faults[:_MOST_FAULTS])
        return said(f"{texts}; it is {signature(self._card)}")


def _validator(schema: Mapping[str, Any]) -> Validator:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import extend, validator_for
    from referencing import Registry

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
        _check_references(schema)
    except SchemaError as error:
        raise BadSchemaError(said(f"its schema is wrong at {error.json_path}: {error.message[:_LONGEST_FAULT]}")) from None
    except RecursionError:
        raise BadSchemaError("its schema is nested too deep") from None
    additional = kind.VALIDATORS["additionalProperties"]

    def others(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return () if "patternProperties" in schema else additional(validator, value, instance, schema)

    changed = {"pattern": _anything, "patternProperties": _anything, "additionalProperties": others}
    # The empty registry keeps the library from fetching what a $ref names.
    validator: Validator = extend(kind, changed)(schema, registry=Registry())
    return validator


def _anything(validator: Any, value: Any, instance: Any, schema: Any) -> tuple[()]:
    return ()


def _check_references(schema: Mapping[str, Any]) -> None:
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    targets = set(_references(schema))
    if not targets:
        return
    resource = Resource.from_contents(schema, default_specification=DRAFT202012)
    base = resource.id() or ""
    registry: Registry[Any] = Registry()
    resolver = registry.with_resource(base, resource).crawl().resolver(base)
    for target in sorted(targets):
        try:
            found = resolver.lookup(target).contents
        except Unresolvable:
            raise BadSchemaError(f"a $ref in its schema leads nowhere: {target[:80]!r}") from None
        if isinstance(found, Mapping) and "$ref" in found and not resolved(found, schema):
            raise BadSchemaError(f"a $ref in its schema leads in a circle: {target[:80]!r}")


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(target := schema.get("$ref"), str):
            yield target
        for part in schema.values():
            yield from _references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _references(part)


def _fault(fault: ValidationError) -> str:
    """One fault with the name of its field. What stands there may be long, so the text is cut."""
    where = ".".join(map(str, fault.absolute_path))
    text = fault.message if len(fault.message) <= _LONGEST_FAULT else f"{fault.message[:_LONGEST_FAULT]}…"
    return f"{where}: {text}" if where else text
