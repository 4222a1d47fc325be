"""In the checker: functions, classes and objects of the program, each use of which is carried out in the program's own process.

What comes back is plain data, or another such `Remote`. Comparing one with plain data never asks the program: it equals none,
and has no order. Other operators (`v * 2`, `3 in s`, `v == w`) ask the program only if they concern an object of a class which
the test itself constructs; for what functions gave back there is identity, and otherwise a TypeError. If it were not so, a
program could return an object that makes `abs(f(x) - 0.5) < 1e-6` true.

Standard library only, and `values`, `encoding`, `frames`: part of the checker's program.
"""

from __future__ import annotations

import builtins

from treewright.sandbox.judging.encoding import encode
from treewright.sandbox.judging.frames import receive_frame, send_frame
from treewright.sandbox.judging.values import Handle, Reference, message

TYPE_CHECKING = False
if TYPE_CHECKING:  # not the one of typing, for importing that takes longer than all the rest
    from collections.abc import Callable, Generator
    from typing import Any

_COMPARING = ("eq", "ne", "lt", "le", "gt", "ge")
_COMBINING = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
_ASKING: dict[str, type] = {  # with the type that Python wants from each
    **dict.fromkeys(("len", "int", "index", "hash"), int),
    **dict.fromkeys(("str", "format"), str),
    "bool": bool,
    "float": float,
    "complex": complex,
    **dict.fromkeys(("neg", "pos", "abs", "invert", "round", "iter", "next", "reversed"), object),
    **dict.fromkeys(("getitem", "setitem", "delitem", "enter"), object),
}


_MAX_REQUEST = 1 << 23


class Gone(BaseException):
    """The program's process has ended, or the object belonged to one that has. `except Exception` does not catch it."""


class Link:
    """The talk with the host that carries requests to the program."""

    def __init__(self) -> None:
        self._functions: list[Callable[..., object]] = []
        self.exceptions: dict[str, type[BaseException]] = {}
        self.life = 0

    def do(self, verb: str, arguments: list[object], keywords: dict[str, object], own: bool = False) -> object:
        """Have `verb` done in the program's process; its value, with in-place changes of `arguments` made here too.

        Args:
            own: whether objects in the value come from a class that the test constructs.

        Raises:
            Gone: the process has ended.
            BaseException: what the program raised, as the same built-in class or a class made after its own.
        """
        send_frame(encode(["do", verb, arguments, keywords, True], self._outgoing, _MAX_REQUEST))
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
                    raise self.exception(["Unsendable"], [], f"the program returned {why}", "")
                case ["ask", int(number), list(given), dict(words)]:
                    self._answer(self._functions[number], given, words)
                case _:
                    raise self.exception(["Interference"], [], "the program interfered with its tests", "")

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
        remote = Remote(self, Handle(number, name), own)
        return _awaited(remote) if name == "coroutine" else remote  # asyncio.run takes none but a real one

    def exception_class(self, names: list[str]) -> type[BaseException]:
        """The class of that name: built in, or made here once, below the classes that follow it in `names`."""
        name, *rest = names
        found = vars(builtins).get(name)
        if isinstance(found, type) and issubclass(found, BaseException):
            return found
        if name not in self.exceptions:
            self.exceptions[name] = type(name, (self.exception_class(rest) if rest else Exception,), {})
        return self.exceptions[name]

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


_END = object()


class Remote:
    """Something in the program's process.

    Args:
        link: the way there.
        target: which object, or the name of something that the program defines.
        own: whether it is a class that the test constructs, or comes from one.
    """

    __slots__ = ("_tw_life", "_tw_link", "_tw_own", "_tw_target")

    def __init__(self, link: Link, target: Handle | Reference, own: bool) -> None:
        # `object.__setattr__`: setting an attribute in the usual way would set it on the program's object.
        for name, value in (("link", link), ("target", target), ("own", own), ("life", link.life)):
            object.__setattr__(self, f"_tw_{name}", value)

    def _tw_sent(self) -> Handle | Reference:
        target: Handle | Reference = self._tw_target
        if isinstance(target, Handle) and self._tw_life != self._tw_link.life:
            raise Gone
        return target

    def __repr__(self) -> str:
        target = self._tw_target
        return repr(target) if isinstance(target, Handle) else f"<{target.target} of the program>"

    def __getattr__(self, name: str) -> Any:
        return self._tw_link.do("get", [self, name], {}, self._tw_own)

    def __setattr__(self, name: str, value: object) -> None:
        self._tw_link.do("set", [self, name, value], {})

    def __delattr__(self, name: str) -> None:
        self._tw_link.do("del", [self, name], {})

    def __call__(self, *arguments: object, **keywords: object) -> object:
        """Call it, in its own process."""
        return self._tw_link.do("call", [self, *arguments], keywords, self._tw_own)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, Remote) and self._tw_link.do("isinstance", [instance, self], {}) is True

    def __contains__(self, item: object) -> bool:
        if self._tw_own or (isinstance(item, Remote) and item._tw_own):
            return self._tw_link.do("contains", [self, item], {}) is True
        return any(item is part or item == part for part in iter(self._tw_link.do("iter", [self], {}).__next__, _END))

    def __exit__(self, *error: object) -> None:
        self._tw_link.do("exit", [self, None, None, None], {})

    def __await__(self) -> Generator[None, None, object]:
        return _awaited(self).__await__()


async def _awaited(remote: Remote) -> object:
    return remote._tw_link.do("await", [remote], {}, remote._tw_own)


def _asking(verb: str, kind: type) -> Callable[..., object]:
    def method(self: Remote, *arguments: object) -> object:
        value = self._tw_link.do(verb, [self, *arguments], {}, self._tw_own)
        if not isinstance(value, kind):
            raise TypeError(f"__{verb}__ gave a value of type {type(value).__name__}")
        return value

    return method


def _comparing(verb: str) -> Callable[..., object]:
    def method(self: Remote, other: object) -> object:
        if not (isinstance(other, Remote) and (self._tw_own or other._tw_own)):
            return NotImplemented
        return self._tw_link.do(verb, [self, other], {})

    return method


def _combining(verb: str, *, reflected: bool = False) -> Callable[..., object]:
    def method(self: Remote, other: object) -> object:
        if not (self._tw_own or (isinstance(other, Remote) and other._tw_own)):
            return NotImplemented
        return self._tw_link.do(verb, [other, self] if reflected else [self, other], {}, self._tw_own)

    return method


for _verb, _kind in _ASKING.items():
    setattr(Remote, f"__{_verb}__", _asking(_verb, _kind))
for _verb in _COMPARING:
    setattr(Remote, f"__{_verb}__", _comparing(_verb))
for _verb in _COMBINING:
    setattr(Remote, f"__{_verb}__", _combining(_verb))
    setattr(Remote, f"__r{_verb}__", _combining(_verb, reflected=True))
    setattr(Remote, f"__i{_verb}__", _combining(f"i{_verb}"))


def _replace(old: object, new: object) -> None:
    """Give the test's own argument the content that the program's copy of it has now."""
    if (isinstance(old, list) and isinstance(new, list)) or (isinstance(old, bytearray) and isinstance(new, bytearray)):
        old[:] = new
    elif isinstance(old, dict) and isinstance(new, dict):
        old.clear()
        old.update(new)
    elif isinstance(old, set) and isinstance(new, set):
        old.clear()
        old |= new
