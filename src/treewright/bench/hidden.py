"""Hidden tests: what decides whether an answer is right, and what no search may see.

They lie beside the tasks in a folder of their own, under the task's name: `NAME.py` with the tests of a function, or
`NAME.toml` with the `[[examples]]` of a program. Nothing below `bench` imports this module, so that no strategy, role or
sandboxed search run can come by them.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from treewright.core.check import parse_python, validate_task
from treewright.core.errors import UserError
from treewright.core.task import CodeTask, Example


@dataclass(frozen=True, slots=True)
class HiddenTests:
    """The hidden tests of one task: of a function, or of a whole program.

    Args:
        tests: Python statements, each text one test.
        examples: given instead of `tests` for a program that reads standard input.
    """

    tests: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()


def load_hidden(folder: Path, name: str) -> HiddenTests:
    """Read the hidden tests of the task with this file name (without its suffix).

    Raises:
        UserError: there is neither NAME.py nor NAME.toml, or it holds something else than tests.
    """
    for path, read in ((folder / f"{name}.py", _function_tests), (folder / f"{name}.toml", _program_tests)):
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path} cannot be read ({error}): check that it is a text file in UTF-8") from error
        try:
            return read(text)
        except UserError as error:
            raise UserError(f"{path}: {error}") from error
    raise UserError(f"no hidden tests for {name!r}: add {name}.py or {name}.toml to {folder}")


def graded_task(task: CodeTask, hidden: HiddenTests) -> CodeTask:
    """The task as a grader runs it: the hidden tests stand in place of the visible ones. Never give it to a search.

    Raises:
        UserError: the hidden tests are of the other kind than the task's visible ones, or cannot judge it.
    """
    if (task.tests and hidden.examples) or (task.examples and hidden.tests):
        raise UserError(f"the hidden tests of {task.name!r} are not of the task's kind ({task.kind}): give both the same kind")
    graded = replace(task, tests=hidden.tests, examples=hidden.examples)
    validate_task(graded)
    return graded


def _function_tests(text: str) -> HiddenTests:
    try:
        body = parse_python(text).body
    except SyntaxError as error:
        raise UserError(f"no valid Python ({error.msg}, line {error.lineno}): correct it") from error
    lines = text.split("\n")
    tests: list[str] = []
    for node in body:
        match node:
            case ast.Assert():
                first = node
            case ast.FunctionDef(name=name, body=[first, *_]) if name.startswith("test_"):
                pass
            case _:
                raise UserError(f"line {node.lineno} is neither an assert nor a test_ function: move it into one")
        tests.append(textwrap.dedent("\n".join(lines[first.lineno - 1 : node.end_lineno])))
    if not tests:
        raise UserError("no tests: add asserts")
    return HiddenTests(tests=tuple(tests))


def _program_tests(text: str) -> HiddenTests:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"no valid TOML ({error}): correct it") from error
    match table:
        case {"examples": [_, *_] as rows, **rest} if not rest:
            return HiddenTests(examples=tuple(_example(row) for row in rows))
    raise UserError("it must hold [[examples]] and nothing else")


def _example(row: object) -> Example:
    match row:
        case {"input": str(given), "output": str(printed), **rest} if not rest:
            return Example(given, printed)
    raise UserError("an example must have input and output, two strings, and nothing else")
