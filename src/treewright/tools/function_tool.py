"""One Python function as a tool: a card from its hints and docstring, its arguments checked, its outcome as a `Result`."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from treewright.core.errors import UserError
from treewright.tools.base import Card, Effect, Result
from treewright.tools.decorator import Settings
from treewright.tools.plain import NotJsonError, encoded, said

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_ai import Tool

_MOST_FAULTS = 3


@dataclass(frozen=True, slots=True)
class Bound:
    """A call that is ready to be made: arguments as the function takes them."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function that is a tool.

    Args:
        card: what a model sees.
        function: it; of a stateful tool, the method on an instance that is never used.
        owner: what makes the instances that the method belongs to; None for a plain function.
        settings: what `tool` was told.
        library: the library's view of it: schema and validator.
    """

    card: Card
    function: Callable[..., Any]
    owner: Callable[[], Any] | None
    settings: Settings
    library: Tool[None]

    def bind(self, arguments: Mapping[str, Any]) -> Bound | Result:
        """The arguments, checked and coerced; or what is wrong with them ("invalid")."""
        from pydantic import ValidationError

        schema = self.library.function_schema
        try:
            values = dict(schema.validator.validate_python(dict(arguments)))
        except ValidationError as error:
            return Result(failure="invalid", message=_faults(error))
        args = [values.pop(name) for name in schema.positional_fields]
        if schema.var_positional_field is not None:
            args += values.pop(schema.var_positional_field, [])
        return Bound(tuple(args), values)

    def on(self, instance: object) -> Callable[..., Any]:
        """The function, on the instance it belongs to."""
        method: Callable[..., Any] = getattr(instance, self.function.__name__) if self.owner is not None else self.function
        return method

    def undo_on(self, instance: object) -> Callable[..., Any] | None:
        """What takes a call back, on the same instance."""
        undo = self.settings.undo
        if isinstance(undo, str):
            found: Callable[..., Any] = getattr(instance, undo)
            return found
        return undo


def function_tool(
    function: Callable[..., Any],
    name: str,
    source: str,
    settings: Settings,
    *,
    effect: Effect | None = None,
    owner: Callable[[], Any] | None = None,
) -> FunctionTool:
    """The tool that a function is.

    Args:
        function: with a hint for each parameter.
        name: of the tool.
        source: where it comes from.
        settings: what `tool` was told about it.
        effect: where the settings do not say it.
        owner: makes the instances, for a method.

    Raises:
        UserError: a parameter has no type hint, or a hint has no form in JSON.
    """
    _need_hints(function, source)
    library = _read(function, source)
    schema = library.function_schema
    card = Card(
        name=name,
        description=schema.description or "",
        parameters=schema.json_schema,
        returns=schema.return_schema or None,
        effect=settings.effect or effect or "idempotent",
        source=source,
        stateful=owner is not None,
    )
    return FunctionTool(card, function, owner, settings, library)


def attempted(compute: Callable[[], Any]) -> Any:
    """What `compute` gives as a `Result`; or, where it gives something to await, that."""
    try:
        value = compute()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a user's function raises is data
        return raised(error)
    return value if inspect.isawaitable(value) else as_result(value)


def as_result(value: Any) -> Result:
    """A function's return value as plain JSON ("not_json" if it has no form in it)."""
    from pydantic_core import to_jsonable_python

    try:
        plain = to_jsonable_python(value)
        encoded(plain)
    except NotJsonError as error:
        return Result(failure="not_json", message=f"the result is no JSON: {error}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - objects and generators of a user may raise anything when read
        return Result(failure="not_json", message=said(f"the result is no JSON: {error}"))
    return Result(plain)


def raised(error: BaseException) -> Result:
    """What an exception of a function comes to. A variable missing in the environment makes the tool unavailable."""
    if isinstance(error, KeyError) and _came_from_environment(error.__traceback__):
        return Result(failure="unavailable", message=f"the environment variable {error.args[0]} is not set")
    kind, text = type(error).__name__, " ".join(_text(error).split())
    return Result(failure="raised", message=said(f"{kind}: {text}" if text else kind))


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception class of a user whose __str__ is broken
        return ""


def _came_from_environment(trace: TracebackType | None) -> bool:
    last = trace
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and last.tb_frame.f_code.co_filename == os.environ.__class__.__getitem__.__code__.co_filename


def _faults(error: ValidationError) -> str:
    """The first few faults, each with the name of its field."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    texts = [f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}" for fault in faults[:_MOST_FAULTS]]
    return said("; ".join(texts) + (f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""))


def _need_hints(function: Callable[..., Any], source: str) -> None:
    name = getattr(function, "__name__", repr(function))
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise UserError(f"{source}: {name} has no signature that can be read: wrap it in a function of your own") from error
    for parameter in parameters:
        if parameter.annotation is parameter.empty:
            raise UserError(
                f"{source}: parameter {parameter.name} of {name} has no type hint: write {parameter.name}: str, say, "
                "or put @tool only on the functions that are tools"
            )


def _read(function: Callable[..., Any], source: str) -> Tool[None]:
    from pydantic_ai import Tool
    from pydantic_ai.exceptions import UserError as LibraryError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a return hint that has no schema: the result is then of any shape
        try:
            return Tool(function, takes_ctx=False)
        # PydanticUserError is a RuntimeError or TypeError; hints are evaluated, so NameError and AttributeError are a user's.
        except (LibraryError, RuntimeError, TypeError, ValueError, NameError, AttributeError) as error:
            text = said(" ".join(str(error).split("\n")[0].split()))
            raise UserError(
                f"{source}: the type hints of {function.__name__} cannot be turned into a tool ({text}): "
                "use hints that have a form in JSON (str, int, float, bool, list, dict, Literal, a dataclass)"
            ) from error
