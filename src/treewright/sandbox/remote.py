"""In the checker: functions, classes and objects of the program, each use of which is carried out in the program's own process.

What comes back is plain data, or another such `Remote`. Comparing one with plain data never asks the program: it equals none, and
has no order. Operators between one and plain data (`v * 2`, `3 in s`) do ask it, but only for objects that come from a class
which the test itself constructs; for what a function gave back they are a TypeError. Otherwise a program could return an object
that makes `abs(f(x) - 0.5) < 1e-6` true.

Standard library only, and `values`, `encoding`, `frames`: part of the checker's program.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any

from treewright.sandbox.encoding import encode
from treewright.sandbox.frames import receive_frame, send_frame
from treewright.sandbox.values import Handle, Reference, message

_COMPARING = ("eq", "ne", "lt", "le", "gt", "ge")
_COMBINING = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift", "divmod")
_ASKING = {
    "len": int,
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "index": int,
    "hash": int,
    "str": str,
    "format": str,
    "neg": object,
    "pos": object,
    "abs": object,
    "invert": object,
    "round": object,
    "iter": object,
    "next": object,
    "reversed": object,
    "getitem": object,
    "setitem": object,
    "delitem": object,
    "call": object,
    "enter": object,
}


class Gone(BaseException):
    """The program's process has ended during this call, or the object belonged to one that has. No test can catch it by mistake."""


class Link:
    """The talk with the host that carries requests to the program."""

    def __init__(self) -> None:
        self._functions: list[Callable[..., object]] = []
        self._exceptions: dict[str, type[BaseException]] = {}
        self.life = 0

    def do(self, verb: str, *arguments: object, own: bool = False, **keywords: object) -> object:
        """Have `verb` done in the program's process; its value, with in-place changes of `arguments` made here too.

        Raises:
            Gone: the process has ended.
            BaseException: what the program raised, as the same built-in class or a class made after its own.
        """
        send_frame(encode(["do", verb, list(arguments), keywords, True], self._outgoing))
        while True:
            source, text = receive_frame().split(" ", 1)
            answer = message(text, lambda tag, content: self._incoming(tag, content, own))
            if source == "host":
                self.life += 1
                raise Gone
            match answer:
                case ["value", value, list(changes)]:
                    for at, new in changes:
                        _replace(arguments[at], new)
                    return value
                case ["raised", kinds, given, said, trace]:
                    raise self.exception(kinds, given, said, trace)
                case ["unsendable", why]:
                    raise self.exception(["ValueError"], [f"the program returned {why}"], f"the program returned {why}", "")
                case ["ask", int(number), list(given), dict(words)]:
                    self._answer(self._functions[number], given, words)
                case _:
                    raise self.exception(["RuntimeError"], ["the program interfered with its tests"], "", "")

    def _answer(self, function: Callable[..., object], given: list[object], words: dict[str, object]) -> None:
        try:
            reply: list[object] = ["answer", function(*given, **words)]
        except Exception as error:  # noqa: BLE001 - it is the test's own function; its error is the program's to see
            reply = ["fail", type(error).__name__, [str(error)]]
        send_frame(encode(reply, self._outgoing))

    def _outgoing(self, value: object) -> object:
        if isinstance(value, Remote):
            return value._tw_sent()
        if callable(value):
            self._functions.append(value)
            return Reference("k", len(self._functions) - 1)
        raise TypeError(f"the test uses an object of class {type(value).__name__}, which cannot be sent to the program")

    def _incoming(self, tag: str, content: Any, own: bool) -> object:
        if tag != "h":
            raise ValueError(tag)
        number, name = content
        return Remote(self, Handle(number, name), own)

    def exception_class(self, names: list[str]) -> type[BaseException]:
        """The class of that name: built in, or made here once, below the classes that follow it in `names`."""
        name, *rest = names
        found = vars(builtins).get(name)
        if isinstance(found, type) and issubclass(found, BaseException):
            return found
        if name not in self._exceptions:
            self._exceptions[name] = type(name, (self.exception_class(rest) if rest else Exception,), {})
        return self._exceptions[name]

    def exception(self, names: list[str], given: list[object], said: str, trace: str) -> BaseException:
        """What the program raised. `_tw_raised` is its description, and marks it as the program's."""
        kind = self.exception_class(names)
        try:
            error = kind(*given)
        except TypeError:  # a class with other arguments than those it keeps
            error = kind.__new__(kind)
            error.args = tuple(given)
        head = f"{names[0]}: {said}" if said else names[0]
        error._tw_raised = f"{head}\n{trace}" if trace else head  # type: ignore[attr-defined]
        return error


def _replace(old: object, new: object) -> None:
    """Give the test's own argument the content that the program's copy of it has now."""
    if isinstance(old, list) and isinstance(new, list):
        old[:] = new
    elif isinstance(old, bytearray) and isinstance(new, bytearray):
        old[:] = new
    elif isinstance(old, dict) and isinstance(new, dict):
        old.clear()
        old.update(new)
    elif isinstance(old, set) and isinstance(new, set):
        old.clear()
        old |= new
