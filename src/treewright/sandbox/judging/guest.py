"""Our program in the candidate's process: loads the candidate's source, does what the host asks with it, sends back data.

It judges nothing and knows nothing worth stealing: no expected value and no test is ever in this process. The candidate can
reach everything here (frames, the descriptor, the interpreter itself) and thereby change its own answers, or break the
talk with the host, which ends the job. Both are failures of the candidate.

Frames on descriptor 3 are lists (`values`), after 4 bytes of length:

    at the start                      -> ready
    load setup source names           -> loaded [[name, kind, bases], ...] defined | raised ...
    do verb args keywords echo        -> value v changes | raised classes args message trace | unsendable why
    many [[name, args, keywords] ...] -> the reply of a `do` for each, in order
    while it does something           -> ask number args keywords; then the host sends: answer v | fail class args

`echo` asks for `changes`: pairs of position and new value of the arguments that the call has changed in place.
"""

from __future__ import annotations

import builtins
import operator
import sys
from types import ModuleType, TracebackType

from treewright.sandbox.judging.encoding import MAX_CHARS, Unsendable, encode
from treewright.sandbox.judging.frames import receive_frame, send_frame
from treewright.sandbox.judging.values import Handle, message

TYPE_CHECKING = False
if TYPE_CHECKING:  # not the one of typing, for importing that takes longer than all the rest
    from collections.abc import Callable
    from typing import Any

_FILES = ("program.py", "setup.py")
_MAX_MESSAGE = 2000
_MAX_CARRIED = 1 << 23  # what the host only hands on to a checker may be longer than what it reads itself
_FRAMES_SHOWN = 6


class Guest:
    """The candidate's names and objects, and the talk with the host about them."""

    def __init__(self) -> None:
        self._objects: list[object] = []
        self._numbers: dict[int, int] = {}
        self._program = ModuleType("program")
        self._lines: dict[str, list[str]] = {}
        self._verbs = _verbs()
        self._flush = sys.stdout.flush

    def serve(self) -> object:
        """Do what the host asks until it is gone, or until it answers what this program has asked it."""
        while True:
            order, *rest = message(receive_frame(), self._resolve)
            if order == "do":
                self._send_reply(*rest)
            elif order == "many":
                for target, arguments, keywords in rest[0]:
                    self._send_reply("call", [target, *arguments], keywords, False)
            elif order == "load":
                self._send(self._load(*rest))
            elif order == "answer":
                return rest[0]
            else:
                raise _exception(*rest)

    def _load(self, setup: str, source: str, names: list[str]) -> list[object]:
        # dataclasses, typing and pickle look a class's module up here.
        sys.modules["program"] = self._program
        self._program.__dict__.update({"__builtins__": builtins, "__file__": "program.py"})
        try:
            for file, text in (("setup.py", setup), ("program.py", source)):
                self._lines[file] = text.splitlines()
                exec(compile(text, file, "exec", dont_inherit=True), self._program.__dict__)
        except BaseException as error:  # noqa: BLE001 - SystemExit too: nothing the candidate raises may end the talk
            return self._raised(error)
        finally:
            self._flush_output()
        return ["loaded", [[name, *self._kind(name)] for name in names], self._defined()]

    def _defined(self) -> list[str]:
        return [name for name in self._program.__dict__ if isinstance(name, str) and not name.startswith("__")][:50]

    def _kind(self, name: str) -> list[str]:
        try:
            value = self._program.__dict__[name]
        except KeyError:
            return ["missing", ""]
        if isinstance(value, type) and issubclass(value, BaseException):
            return ["exception", ",".join(kind.__name__ for kind in value.__mro__[1:])]
        if isinstance(value, type):
            return ["class", ""]
        return ["function" if callable(value) else "value", ""]

    def _send_reply(self, verb: str, arguments: list[object], keywords: dict[str, object], echo: bool) -> None:
        before = [_text_if_mutable(value) for value in arguments] if echo else []
        try:
            reply = ["value", self._verbs[verb](*arguments, **keywords)]
            if echo:
                texts = map(_text_if_mutable, arguments)
                reply.append(
                    [[at, arguments[at]] for at, (old, new) in enumerate(zip(before, texts, strict=True)) if old != new]
                )
        except BaseException as error:  # noqa: BLE001 - as above
            reply = self._raised(error)
        self._flush_output()
        self._send(reply, _MAX_CARRIED if echo else MAX_CHARS)

    def _send(self, reply: list[object], max_chars: int = MAX_CHARS) -> None:
        try:
            text = encode(reply, self._keep, max_chars)
        except Unsendable as error:
            text = encode(["unsendable", str(error)])
        except BaseException:  # noqa: BLE001 - a class that breaks when looked at, a recursion limit set too low
            text = encode(["unsendable", "a value that could not be read"])
        send_frame(text)

    def _flush_output(self) -> None:
        try:
            self._flush()
        except BaseException:  # noqa: BLE001 - the candidate may have closed it
            return

    def _keep(self, value: object) -> Handle:
        number = self._numbers.setdefault(id(value), len(self._objects))
        if number == len(self._objects):
            self._objects.append(value)
        return Handle(number, type(value).__name__)

    def _resolve(self, tag: str, content: Any) -> object:
        if tag == "h":
            return self._objects[content[0]]
        if tag == "n":
            try:
                return self._program.__dict__[content]
            except KeyError:
                return _Missing(content)
        return _Callback(self, content)

    def _raised(self, error: BaseException) -> list[object]:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        message = _message(error)
        try:
            encode(error.args)
            arguments: list[object] = list(error.args)
        except BaseException:  # noqa: BLE001 - its arguments are the candidate's own objects
            arguments = [message]
        return ["raised", kinds, arguments, message, self._trace(error)]

    def _trace(self, error: BaseException) -> str:
        """The frames of the candidate's own file, and of the task's setup, as Python would print them."""
        shown = [self._frame_text(step) for step in _steps(error.__traceback__) if step.tb_frame.f_code.co_filename in _FILES]
        if isinstance(error, SyntaxError) and error.filename in _FILES and error.text:
            mark = " " * (max(error.offset or 1, 1) - 1) + "^"
            shown.append(f'  File "{error.filename}", line {error.lineno}\n    {error.text.rstrip()[:200]}\n    {mark[:200]}')
        if len(shown) > 2 * _FRAMES_SHOWN:
            shown[_FRAMES_SHOWN:-_FRAMES_SHOWN] = [f"  ... {len(shown) - 2 * _FRAMES_SHOWN} more ..."]
        return "\n".join(shown)

    def _frame_text(self, step: TracebackType) -> str:
        code = step.tb_frame.f_code
        lines = self._lines[code.co_filename]
        line = lines[step.tb_lineno - 1].strip()[:200] if 0 < step.tb_lineno <= len(lines) else ""
        return f'  File "{code.co_filename}", line {step.tb_lineno}, in {code.co_name}\n    {line}'


class _Missing:
    """A name that the program does not define."""

    def __init__(self, name: object) -> None:
        self.name = name


class _Callback:
    """A function of the test, called by the candidate: the call goes to the host, and its answer comes back."""

    def __init__(self, guest: Guest, number: object) -> None:
        self._guest, self._number = guest, number

    def __call__(self, *arguments: object, **keywords: object) -> object:
        self._guest._send(["ask", self._number, list(arguments), keywords])
        return self._guest.serve()


def _steps(trace: TracebackType | None) -> list[TracebackType]:
    steps = []
    while trace is not None:
        steps.append(trace)
        trace = trace.tb_next
    return steps


def _message(error: BaseException) -> str:
    try:
        return str(error)[:_MAX_MESSAGE]
    except BaseException:  # noqa: BLE001 - its __str__ is the candidate's
        return ""


def _exception(kind: str, arguments: list[object]) -> BaseException:
    """The exception that a function of the test has raised."""
    found = getattr(builtins, kind, None)
    return found(*arguments) if isinstance(found, type) and issubclass(found, BaseException) else Exception(kind, *arguments)


def _text_if_mutable(value: object) -> str | None:
    if not isinstance(value, list | dict | set | bytearray):
        return None
    try:
        return encode(value, lambda part: id(part), _MAX_CARRIED)
    except Unsendable:
        return None


def _call(target: Callable[..., object], *arguments: object, **keywords: object) -> object:
    if isinstance(target, _Missing):
        raise NameError(f"name {target.name!r} is not defined")
    return target(*arguments, **keywords)


def _run(awaitable: object) -> object:
    import asyncio

    async def wait() -> object:
        return await awaitable  # type: ignore[misc]  # the test says that it is one

    return asyncio.run(wait())


def _verbs() -> dict[str, Callable[..., object]]:
    """What can be done with an object by name: the operators of Python and its protocols."""
    verbs: dict[str, Callable[..., object]] = {
        name.strip("_"): function for name, function in vars(operator).items() if name.startswith("__") and callable(function)
    }
    plain: tuple[Callable[..., object], ...] = (
        len,
        iter,
        next,
        str,
        repr,
        hash,
        bool,
        int,
        float,
        complex,
        round,
        reversed,
        divmod,
    )
    verbs.update({function.__name__: function for function in plain})
    return verbs | {
        "call": _call,
        "get": getattr,
        "set": setattr,
        "del": delattr,
        "self": lambda value: value,
        "isinstance": isinstance,
        "issubclass": issubclass,
        "format": format,
        "dir": dir,
        "await": _run,
        "enter": lambda manager: manager.__enter__(),
        "exit": lambda manager, *error: manager.__exit__(*error),
    }


def main() -> None:
    """Serve until the host is gone."""
    send_frame('["ready"]')
    Guest().serve()
