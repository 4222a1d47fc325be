"""Our program around a program that calls tools: gives it a function for each tool, and carries the calls to the host.

It runs in the untrusted program's own process and holds nothing worth stealing: no key, no connection, no other program's
answer. What the program can reach here lets it forge its own calls, which it could make anyway.

Frames on descriptor 3 are JSON, after 4 bytes of length. First the host sends

    {"program": text, "functions": [[name, [[name here, name there, required, default, annotation] ...], doc] ...]}

then each side speaks when it has something to say:

    here -> host    ["call", number, function, {name there: value}]    ["answer", value]    ["raised", class, message, trace]
    host -> here    [number, true, value]    [number, false, message]

Threads of the program may call at the same time: whoever waits first reads for all.

`_json` is what `json` does its work with; importing all of that would take longer than many a program runs.
"""

from __future__ import annotations

import _json
import _queue
import _thread
import posix
import sys
from types import ModuleType

from treewright.sandbox.judging.frames import receive_frame, send_frame

TYPE_CHECKING = False
if TYPE_CHECKING:  # not the one of typing, for importing that takes longer than all the rest
    from collections.abc import Callable
    from typing import Any

_FILE = "program.py"
_MAX_MESSAGE = 2000
_MAX_FRAME = 1 << 20
_MAX_SAID = 20_000


class ToolError(Exception):
    """A tool failed; the message is its own."""


class _Absent:
    """An argument that was not given and has no default that is known."""

    def __repr__(self) -> str:
        return "..."


_ABSENT = _Absent()


class _Reading:
    """How JSON of the host is read: as `json.loads` does."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_int = int
    parse_float = parse_constant = float


_scan = _json.make_scanner(_Reading)  # type: ignore[arg-type]  # whatever has these attributes


class Line:
    """The talk with the host, shared by all threads of the program."""

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._sending = _thread.allocate_lock()
        self._waiting: dict[int, _queue.SimpleQueue[list[Any] | None]] = {}  # but for the call that reads for all
        self._leader = 0  # number of that call; 0 for none
        self._number = 0
        self._process = posix.getpid()

    def call(self, name: str, arguments: dict[str, object]) -> object:
        """Have the host call a tool, and wait for what it gives.

        Raises:
            ToolError: the tool failed.
            TypeError: an argument is no plain data.
        """
        self._check_process()
        given = {key: value for key, value in arguments.items() if value is not _ABSENT}
        text = _text(given, f"the arguments of {name}")
        inbox: _queue.SimpleQueue[list[Any] | None] | None = None
        with self._lock:
            self._number += 1
            number = self._number
            if self._leader:
                inbox = self._waiting[number] = _queue.SimpleQueue()
            else:
                self._leader = number
        try:
            self.send(f'["call",{number},"{name}",{text}]')
            reply = inbox.get() if inbox else None
            return _value(reply or self._read_until(number))
        finally:  # also when a signal handler of the program's raises while we wait
            with self._lock:
                self._waiting.pop(number, None)
                if self._leader == number:
                    self._pass_on()

    def send(self, text: str) -> None:
        """Send one frame, whole, whichever threads send."""
        self._check_process()
        with self._sending:
            send_frame(text)

    def _check_process(self) -> None:
        if posix.getpid() != self._process:
            raise RuntimeError("only the first process of a program can call tools and answer")

    def _read_until(self, number: int) -> list[Any]:
        """Read for all until the reply to our own call is there."""
        while True:
            read: list[Any] = _scan(receive_frame(), 0)[0]
            if read[0] == number:
                return read
            with self._lock:
                theirs = self._waiting.pop(read[0], None)
            if theirs is not None:
                theirs.put(read)

    def _pass_on(self) -> None:
        """Let another caller read, if one waits: None in its queue says that it is its turn."""
        self._leader = next(iter(self._waiting), 0)
        if self._leader:
            self._waiting.pop(self._leader).put(None)


def _value(reply: list[Any]) -> object:
    if not reply[1]:
        raise ToolError(reply[2])
    found: object = reply[2]
    return found


def _text(value: object, what: str) -> str:
    """As JSON.

    Raises:
        TypeError: it is no plain data, or too much.
    """
    try:
        text = _encoded(value)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise TypeError(f"{what} must be plain data (numbers, text, lists, dicts): {error}") from None
    if len(text) > _MAX_FRAME:
        raise TypeError(f"{what} are {len(text)} characters of JSON, more than {_MAX_FRAME}")
    return text


def _encoded(value: object) -> str:
    # markers for loops, default, strings, indent, separators, sort_keys, skipkeys, allow_nan
    encode = _json.make_encoder({}, _plain, _json.encode_basestring_ascii, None, ":", ",", False, False, False)
    return "".join(encode(value, 0))


def _plain(value: object) -> object:
    """Plain data for what is nearly plain: sets, numpy's values, dates, dataclasses' kin."""
    if isinstance(value, (set, frozenset)):
        return list(value)
    for name in ("tolist", "isoformat", "_asdict"):
        convert = getattr(value, name, None)
        if callable(convert):
            return convert()
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    raise TypeError(f"{type(value).__name__} is none")


def _function(line: Line, name: str, parameters: list[list[Any]], doc: str) -> Callable[..., object]:
    """A function with the tool's signature that calls the tool."""
    heads, pairs = [], []
    defaults: dict[str, object] = {}
    for number, (here, there, required, default, _) in enumerate(parameters):
        defaults[f"_{number}"] = _ABSENT if default is None else default[0]
        heads.append(here if required else f"{here}=_{number}")
        pairs.append(f"{there!r}: {here}")
    source = f"def {name}({', '.join(heads)}):\n    return _call({name!r}, {{{', '.join(pairs)}}})"
    scope: dict[str, Any] = {**defaults, "_call": line.call}
    exec(compile(source, "<tool>", "exec", dont_inherit=True), scope)
    made: Callable[..., object] = scope[name]
    made.__doc__ = doc
    made.__annotations__ = {here: annotation for here, _, _, _, annotation in parameters}
    return made


class _Source:
    """Where `linecache` finds the program's lines, once a traceback is shown."""

    def __init__(self, text: str) -> None:
        self._text = text

    def get_source(self, name: str) -> str:
        """The program."""
        return self._text


def main() -> None:
    """Take the program, run it as `__main__`, and tell the host what it raised."""
    order = _scan(receive_frame(), 0)[0]
    line, text = Line(), order["program"]
    program = ModuleType("__main__")
    program.__dict__.update(
        {"__builtins__": __import__("builtins"), "__file__": _FILE, "__loader__": _Source(text), "ToolError": ToolError}
    )
    for name, parameters, doc in order["functions"]:
        program.__dict__[name] = _function(line, name, parameters, doc)
    program.__dict__["final_answer"] = _final_answer(line)
    sys.modules["__main__"] = program
    try:
        exec(compile(text, _FILE, "exec", dont_inherit=True), program.__dict__)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - the program's, whatever it is
        _tell(line, error)
        raise SystemExit(1) from None


def _final_answer(line: Line) -> Callable[[object], None]:
    def final_answer(answer: object) -> None:
        """Give the answer. The last one given counts."""
        try:
            text = _text(answer, "the answer")
        except TypeError:
            text = _encoded(str(answer)[:_MAX_SAID])
        line.send(f'["answer",{text}]')

    return final_answer


def _tell(line: Line, error: BaseException) -> None:
    """What the program raised, to the host; the frames of its own file only."""
    import traceback

    try:
        shown = traceback.TracebackException(type(error), error, error.__traceback__)
        chain = [shown]
        for one in chain:  # grows: causes, and members of groups
            one.stack = traceback.StackSummary.from_list([step for step in one.stack if step.filename == _FILE])
            chain += filter(None, (one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())))
        trace, message = list(shown.format()), str(error)
    except BaseException:  # noqa: BLE001 - an exception of the program's that cannot be printed
        trace, message = [], ""
    text = "".join(trace)
    if len(text) > 2 * _MAX_MESSAGE:
        text = f"{text[:_MAX_MESSAGE]}\n...\n{text[-_MAX_MESSAGE:]}"
    told = _encoded(["raised", type(error).__name__, message[:_MAX_MESSAGE], text])
    for tell in (lambda: line.send(told), lambda: sys.stderr.write(text)):
        try:
            tell()
        except BaseException:  # noqa: BLE001 - the program has closed the place, put something else there, or forked
            continue
