"""Our program in the checker's process: runs the task's trusted tests, with the program's functions elsewhere.

The host sends one message, `tests setup names modules blocks`, and gets `result number verdict expected actual detail` for each
check as soon as it is known, then `done`. In between it carries the requests of `remote` to the program's process and back. The
program's process sees the arguments of its calls, never a test or an expected value; this process sees plain data, never the
program's code.
"""

from __future__ import annotations

import importlib
import operator

from treewright.sandbox.judging.encoding import encode
from treewright.sandbox.judging.frames import receive_frame, send_frame
from treewright.sandbox.judging.remote import Gone, Link, Remote
from treewright.sandbox.judging.stand_ins import install
from treewright.sandbox.judging.values import Reference, message, show

TYPE_CHECKING = False
if TYPE_CHECKING:  # not the one of typing, for importing that takes longer than all the rest
    from collections.abc import Callable
    from typing import Any

_MAX_SAID = 1000
_ASSUMED = ("math", "pytest")  # tests use them without importing them
_SIGNS: dict[str, Callable[..., object]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}


class Failed(AssertionError):
    """An assert that does not hold, with its two sides as text."""

    def __init__(self, said: object, expected: str, actual: str) -> None:
        super().__init__(*(() if said is None else (said,)))
        self.expected, self.actual = expected, actual


def _compare(sign: str, left: object, right: object, expected_first: bool, said: Callable[[], object]) -> None:
    """What `assert left sign right, said` has become."""
    if not _SIGNS[sign](left, right):
        expected, actual = (left, right) if expected_first else (right, left)
        raise Failed(said(), show(expected) if sign in ("==", "is") else f"{sign} {show(expected)}", show(actual))


def _true(value: object, said: Callable[[], object]) -> None:
    """What any other `assert value, said` has become."""
    if not value:
        raise Failed(said(), "true", show(value))


class Checker:
    """Runs the checks of each test in the variables of that test."""

    def __init__(self) -> None:
        self._link = Link()

    def run(self, setup: str, names: list[list[str]], modules: list[str], blocks: list[list[Any]]) -> None:
        """Run all checks and report each."""
        install(modules)
        for aliases, checks in blocks:
            variables: dict[str, object] = {"__name__": "tests", "_tw_compare": _compare, "_tw_true": _true}
            variables.update((module, importlib.import_module(module)) for module in modules if module in _ASSUMED)
            broken = self._attempt(self._prepare, variables, setup, names, aliases)
            for number, code in checks:
                result = broken or self._attempt(_execute, code, variables) or ["pass", "", "", ""]
                send_frame(encode(["result", number, *result]))
        send_frame(encode(["done"]))

    def _prepare(self, variables: dict[str, object], setup: str, names: list[list[str]], aliases: list[list[str]]) -> None:
        """The trusted setup, then what the program defines, then the names by which the test calls it."""
        _execute(setup, variables)
        for name, value in list(variables.items()):
            # A class of the setup exists in both processes. Its objects must live where the program can use them; what is
            # raised there must be caught here.
            if not isinstance(value, type) or value.__module__ != "tests":
                continue
            if issubclass(value, BaseException):
                self._link.exceptions[name] = value
            else:
                variables[name] = Remote(self._link, Reference("n", name), own=True)
        for name, kind, bases in names:
            variables[name] = self._of_program(name, kind, bases)
        for alias, name in aliases:
            variables[alias] = variables[name]

    def _of_program(self, name: str, kind: str, bases: str) -> object:
        if kind == "exception":
            return self._link.exception_class([name, *bases.split(",")])
        if kind == "value":
            return self._link.do("self", [Reference("n", name)], {})
        # A class, going by its name in the test: what the program has made of that name decides nothing here.
        return Remote(self._link, Reference("n", name), own=name.lstrip("_")[:1].isupper())

    def _attempt(self, action: Callable[..., object], *arguments: object) -> list[str]:
        """Nothing if `action` succeeds, else the verdict, the two sides and the detail."""
        try:
            action(*arguments)
        except Gone:
            return ["gone", "", "", ""]
        except BaseException as error:  # noqa: BLE001 - a test may end in any way; the next one runs all the same
            if raised := getattr(error, "_tw_raised", ""):
                return ["memory" if isinstance(error, MemoryError) else "error", "", "", raised]
            if isinstance(error, Failed):
                return ["fail", error.expected, error.actual, str(error)[:_MAX_SAID]]
            if isinstance(error, AssertionError):
                return ["fail", "", "", str(error)[:_MAX_SAID]]
            return ["fail", "", "", f"{type(error).__name__}: {error}"[:_MAX_SAID]]
        return []


def _execute(text: str, variables: dict[str, object]) -> None:
    exec(compile(text, "tests.py", "exec", dont_inherit=True), variables)


def main() -> None:
    """Take the tests, run them, and stay until the host is gone."""
    send_frame('["ready"]')
    _, *order = message(receive_frame().removeprefix("host "))
    Checker().run(*order)
    receive_frame()
