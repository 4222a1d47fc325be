"""What must hold of a task before a search spends anything on it. Parses the tests, never runs them."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterable

from treewright.core.errors import UserError
from treewright.core.languages import full_name
from treewright.core.task import CodeTask

MAX_TIME_LIMIT_S = 86_400.0
_NAMES_SHOWN = 5


def validate_task(task: CodeTask) -> None:
    """Refuse a task that no program could be judged by. A task without any test passes: its answer stays unverified.

    Raises:
        UserError: the prompt is blank; `time_limit_s` is not within (0, 86400]; both tests and examples are given; a
            setting does not go with the kind of task; the language is not known; setup or a test is no valid Python, is
            empty, or compares without asserting; the tests never use `entry_point`.
    """
    if not task.prompt.strip():
        raise UserError("the prompt is empty: say in words what to write")
    if not 0 < task.time_limit_s <= MAX_TIME_LIMIT_S:  # NaN fails every comparison, so it is refused too
        raise UserError(f"time_limit_s is {task.time_limit_s}: give a number of seconds above 0 and at most a day")
    if task.tests and task.examples:
        raise UserError("both tests and examples are given: keep tests for a function, or examples for a whole program")
    other_language = full_name(task.language) != "python"
    if task.setup and other_language:
        raise UserError(f"setup is Python code but language is {task.language!r}: remove one of them")
    _parse(task.setup, "setup")
    if task.kind == "program":
        if task.entry_point:
            raise UserError("entry_point is for a function, but examples test a whole program: remove one of them")
        return
    if task.tests and other_language:
        raise UserError(f"tests are Python code but language is {task.language!r}: give examples (input, output) instead")
    _check_entry_point(task, [_parse_test(text, number) for number, text in enumerate(task.tests, 1)])


def derive_entry_point(tests: Iterable[str], setup: str = "") -> str:
    """The one function or class that all tests call and nobody defined yet; empty when there is none or more than one.

    Raises:
        UserError: setup or a test is no valid Python.
    """
    trees = [_parse_test(text, number) for number, text in enumerate(tests, 1)]
    called = called_names(trees, _parse(setup, "setup"))
    return called[0] if len(called) == 1 else ""


def called_names(tests: Iterable[ast.AST], setup: ast.AST) -> tuple[str, ...]:
    """Names that the tests call and that neither Python, the setup nor the calling test itself defines; first call first."""
    known = set(dir(builtins)) | bound_names(setup)
    called: dict[str, None] = {}
    for test in tests:
        calls = [node.func for node in ast.walk(test) if isinstance(node, ast.Call)]
        names = [function.id for function in calls if isinstance(function, ast.Name)]
        called |= dict.fromkeys(name for name in names if name not in known | bound_names(test))
    return tuple(called)


def bound_names(tree: ast.AST) -> set[str]:
    """Names that the code assigns, imports, defines or takes as an argument, whatever their scope."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
            case ast.ExceptHandler(name=str(name)):
                names.add(name)
    return names


def used_names(tree: ast.AST) -> set[str]:
    """Names that the code reads."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def parse_python(text: str) -> ast.Module:
    """The syntax tree of code that would also compile.

    Raises:
        SyntaxError: it does not; `msg` says why and `lineno`, where known, the line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python says of odd escapes in the user's text is not for their terminal
            tree = ast.parse(text)
            compile(tree, "<task>", "exec", dont_inherit=True)  # finds what the grammar allows, such as `return` outside
    except ValueError as error:  # a null character, up to Python 3.11
        raise SyntaxError(str(error)) from error
    except (RecursionError, MemoryError) as error:
        raise SyntaxError("nested too deeply") from error
    return tree


def _parse(text: str, what: str) -> ast.Module:
    try:
        return parse_python(text)
    except SyntaxError as error:
        line = f" at its line {error.lineno}" if error.lineno else ""
        raise UserError(f"{what} is no valid Python ({error.msg}{line}): correct it") from error


def _parse_test(text: str, number: int) -> ast.Module:
    tree = _parse(text, f"test {number}")
    match tree.body:
        case []:
            raise UserError(f"test {number} is empty: write an assert or remove it")
        case [*_, ast.Expr(value=ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()))]:
            raise UserError(f'test {number} compares but can never fail: write "assert" before the comparison')
    return tree


def _check_entry_point(task: CodeTask, tests: list[ast.Module]) -> None:
    name = task.entry_point
    if not name:
        return
    if not name.isidentifier():
        raise UserError(f"entry_point is {name!r}: give the bare name of the function or class, such as add")
    setup = _parse(task.setup, "setup")
    if not tests or any(name in used_names(tree) for tree in [*tests, setup]):
        return
    called = called_names(tests, setup)
    shown = ", ".join(called[:_NAMES_SHOWN]) + (", ..." if len(called) > _NAMES_SHOWN else "")
    do_call = f"they call {shown}" if called else "they call no function of the program"
    raise UserError(f"the tests never call the entry point {name!r} ({do_call}): correct entry_point or the tests")
