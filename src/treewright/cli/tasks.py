"""Reads the task that `treewright solve TASK` is given.

TASK is          what it holds
a .toml file     prompt; tests = ["assert ..."] or [[examples]] with input and output; entry_point, setup, language,
                 time_limit_s, name
a .py file       a stub and its asserts (`python_file`)
a folder         problem.md (or problem.txt); pairs NAME.in and NAME.out, what a program reads and must print; a
                 task.toml with language, time_limit_s, name
-                standard input: TOML, Python, or else plain text, which is a prompt without tests
"""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR
from typing import BinaryIO, TextIO, TypeVar

from treewright.cli.python_file import task_of_python
from treewright.core.check import derive_entry_point, parse_python, validate_task
from treewright.core.errors import UserError
from treewright.core.task import CodeTask, Example

T = TypeVar("T")

_SETTINGS = ("language", "time_limit_s", "name")
_KEYS = ("prompt", "tests", "examples", "entry_point", "setup", *_SETTINGS)
_FORMS = "a task is a .toml file, a .py file, a folder with problem.md, or - for standard input"
_LONGEST_PATH_SHOWN = 200
_TOML_START = re.compile(rf"({'|'.join(_KEYS)})\s*=|\[\[\s*examples\s*\]\]")
_PYTHON_START = re.compile(
    r"""(async\s+def|def|class)\s+\w+\s*[(:]|import\s+[\w.]+(\s+as\s+\w+)?\s*$|from\s+[\w.]+\s+import\s|@\w|\"{3}|'{3}"""
)
_KINDS = {str: "a string", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"}


def load_task(source: str, *, stdin: TextIO | None = None) -> CodeTask:
    """Read and check one task.

    An `entry_point` that is left out is taken from the tests when they call exactly one unknown name.

    Args:
        source: path of a file or folder, or "-".
        stdin: what "-" reads; the process's own standard input when left out.

    Raises:
        UserError: it cannot be read, has a wrong form, or `validate_task` refuses it; the message begins with the source.
    """
    with _about("standard input" if source == "-" else _shown(source)):
        task = _task_of_text(_read_stdin(stdin or sys.stdin)) if source == "-" else _task_of_path(Path(source))
        if task.tests and not task.entry_point:
            task = replace(task, entry_point=derive_entry_point(task.tests, task.setup))
        validate_task(task)
        return task


def _shown(source: str) -> str:
    """The path as it was given; cut when it is no path but, by mistake, a prompt."""
    is_path = 0 < len(source) <= _LONGEST_PATH_SHOWN and "\n" not in source
    return source if is_path else repr(source[:40] + ("..." if len(source) > 40 else ""))


@contextmanager
def _about(what: str) -> Iterator[None]:
    """Say what an error is about."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{what}: {error}") from error


def _task_of_path(path: Path) -> CodeTask:
    try:
        is_folder = S_ISDIR(path.stat().st_mode)
    except OSError as error:  # not there, or a prompt given in place of a path: "File name too long"
        raise UserError(f"cannot be opened ({error.strerror}); {_FORMS}") from error
    if is_folder:
        return _task_of_folder(path)
    match path.suffix.lower():
        case ".toml":
            return _task_of_table(_toml(_read(path)), path.stem)
        case ".py":
            return task_of_python(_read(path), path.stem)
    raise UserError(f"this type of file is not known; {_FORMS}")


def _task_of_text(text: str) -> CodeTask:
    """Tell TOML from Python from prose. What begins like one of the first two but is broken is an error, not a prompt."""
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    if _TOML_START.match(first) or _is_toml(text):
        return _task_of_table(_toml(text), "stdin")
    if _PYTHON_START.match(first) or _is_python_definition(text):
        return task_of_python(text, "stdin")
    return CodeTask(prompt=text, name="stdin")


def _is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return False


def _is_python_definition(text: str) -> bool:
    try:
        return re.search(r"^(async\s+def|def|class)\s", text, re.MULTILINE) is not None and bool(parse_python(text).body)
    except SyntaxError:
        return False


def _toml(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # its message ends with the line and column
        raise UserError(f"no valid TOML, {str(error)[:1].lower()}{str(error)[1:]}: correct it") from error


def _task_of_table(table: dict[str, object], name: str) -> CodeTask:
    _refuse_unknown(table, _KEYS)
    return CodeTask(
        prompt=_value(table, "prompt", str, ""),
        tests=tuple(_item(item, str, f"test {i}") for i, item in enumerate(_value(table, "tests", list, []), 1)),
        examples=tuple(_example(item, i) for i, item in enumerate(_value(table, "examples", list, []), 1)),
        entry_point=_value(table, "entry_point", str, ""),
        setup=_value(table, "setup", str, ""),
        language=_value(table, "language", str, "python"),
        time_limit_s=_seconds(table),
        name=_value(table, "name", str, name),
    )


def _task_of_folder(folder: Path) -> CodeTask:
    problem = next((folder / name for name in ("problem.md", "problem.txt") if (folder / name).is_file()), None)
    if problem is None:
        raise UserError("a folder without problem.md: write the problem there, or name a .toml or .py file")
    with _about("task.toml"):
        table = _toml(_read(folder / "task.toml")) if (folder / "task.toml").is_file() else {}
        _refuse_unknown(table, _SETTINGS)
        language, name = _value(table, "language", str, "python"), _value(table, "name", str, folder.resolve().name)
        time_limit_s = _seconds(table)
    with _about(problem.name):
        prompt = _read(problem)
    return CodeTask(prompt, examples=_pairs(folder), language=language, time_limit_s=time_limit_s, name=name)


def _pairs(folder: Path) -> tuple[Example, ...]:
    """The examples of a folder; 2.in comes before 10.in."""
    inputs, outputs = ({path.stem for path in folder.glob(f"[!.]*{suffix}")} for suffix in (".in", ".out"))
    for stem in sorted(inputs ^ outputs):
        here, missing = (".in", ".out") if stem in inputs else (".out", ".in")
        raise UserError(f"{stem}{here} has no {stem}{missing} beside it: add that or remove {stem}{here}")
    in_order = sorted(inputs, key=lambda stem: [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", stem)])
    return tuple(Example(_read_of(folder, f"{stem}.in"), _read_of(folder, f"{stem}.out")) for stem in in_order)


def _example(item: object, number: int) -> Example:
    table = _item(item, dict, f"example {number}")
    with _about(f"example {number}"):
        _refuse_unknown(table, ("input", "output"))
        for key in ("input", "output"):
            if key not in table:
                raise UserError(f'no {key}: add {key} = "..."')
        return Example(_value(table, "input", str, ""), _value(table, "output", str, ""))


def _refuse_unknown(table: Collection[str], known: Collection[str]) -> None:
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            raise UserError(
                f"unknown key {key!r}: " + (f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}")
            )


def _seconds(table: dict[str, object]) -> float:
    value = table.get("time_limit_s", CodeTask(prompt="").time_limit_s)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"time_limit_s must be a number of seconds, not {_kind(value)}")
    return value


def _value(table: dict[str, object], key: str, kind: type[T], default: T) -> T:
    return _item(table.get(key, default), kind, key)


def _item(value: object, kind: type[T], what: str) -> T:
    if not isinstance(value, kind):
        raise UserError(f"{what} must be {_KINDS[kind]}, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "a date or time")


def _read_of(folder: Path, name: str) -> str:
    with _about(name):
        return _read(folder / name)


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror}): check what it is and its permissions") from error
    return _decode(data)


def _read_stdin(stdin: TextIO) -> str:
    # subtle: under a C locale the text layer would turn bad bytes into lone surrogates, which fail far from here
    buffer: BinaryIO | None = getattr(stdin, "buffer", None)
    return stdin.read() if buffer is None else _decode(buffer.read())


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(f"not UTF-8 text (byte {error.start + 1}): save it as UTF-8") from error
