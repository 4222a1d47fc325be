"""Tools from a Python file of the user's: it is imported, and its functions are found."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from treewright.core.errors import UserError
from treewright.tools.decorator import settings_of
from treewright.tools.function_tool import raised
from treewright.tools.functions import FunctionToolbox, from_functions
from treewright.tools.plain import listed


def from_python_file(path: Path, names: Sequence[str] = ()) -> FunctionToolbox:
    """The tools of a Python file.

    Args:
        path: the file. Its folder can be imported from while it is imported.
        names: which functions or classes; when empty, all that are decorated with `tool`, or, if none is, every public function
            that the file itself defines.

    Raises:
        UserError: it cannot be read or imported, has no such name or no tool at all, or `from_functions` refuses one.
    """
    module = _imported(path)
    return from_functions([_named(module, name, path) for name in names] or _all(module, path), path.name)


def _imported(path: Path) -> ModuleType:
    # A name of its own: two files called tools.py are two modules. It stays in sys.modules, where dataclasses look for it.
    name = f"{path.stem.replace('.', '_')}_{sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UserError(f"{path}: there is no such file: name a Python file with functions")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _folder_first(path.resolve().parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the file is the user's and may raise anything
        del sys.modules[name]
        raise UserError(f"{path} cannot be imported: {_where(error, path)}{raised(error).message}") from error
    return module


@contextmanager
def _folder_first(folder: Path) -> Iterator[None]:
    """Let modules of that folder be imported."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


def _where(error: BaseException, path: Path) -> str:
    """The line of the file that the error came from; "" when it did not."""
    if isinstance(error, SyntaxError) and error.filename is not None and Path(error.filename).name == path.name:
        return f"line {error.lineno}: "
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    lines = lines or [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path.resolve()]
    return f"line {lines[-1]}: " if lines else ""


def _all(module: ModuleType, path: Path) -> list[object]:
    things: list[object] = [thing for thing in vars(module).values() if inspect.isroutine(thing) or inspect.isclass(thing)]
    things = list({id(thing): thing for thing in things}.values())  # once each, whatever names they have
    decorated = [thing for thing in things if settings_of(thing) is not None]
    found = decorated or [thing for thing in things if _is_own_function(thing, module)]
    if not found:
        raise UserError(f"{path} has no function that could be a tool: write one with type hints and a docstring")
    return found


def _is_own_function(thing: object, module: ModuleType) -> bool:
    return inspect.isfunction(thing) and thing.__module__ == module.__name__ and not thing.__name__.startswith("_")


def _named(module: ModuleType, name: str, path: Path) -> object:
    try:
        return vars(module)[name]
    except KeyError:
        public = [known for known, thing in vars(module).items() if callable(thing) and not known.startswith("_")]
        near = get_close_matches(name, public, 1)
        instead = f"did you mean {near[0]}?" if near else f"it has {listed(public) or 'none'}"
        raise UserError(f"{path} has no tool {name!r}: {instead}") from None
