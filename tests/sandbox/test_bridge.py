"""What a program sees of its tools, and what comes back of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bridged import LEVELS, answer, at_level, ran
from scripted_sandbox import Script, ScriptedSandbox
from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Exit, Limits, Sandbox
from treewright.sandbox.calling import Failed, Function, Parameter, Returned

WEATHER = Function(
    "weather",
    (
        Parameter("city", "city", annotation="str"),
        Parameter("from_", "from-day", required=False, default=(3,), annotation="int"),
        Parameter("units", "units", required=False, annotation="str | None"),
    ),
    "Tells the weather.\n\nArgs:\n    city: where.",
)


@pytest.fixture(scope="module", params=LEVELS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with at_level(request.param) as home:
        yield home


async def arguments_of(name: str, arguments: dict[str, Any]) -> Returned | Failed:
    return Returned([name, arguments])


def test_a_function_has_the_signature_the_types_and_the_docstring_of_its_tool(sandbox: Sandbox) -> None:
    program = "import inspect\nfinal_answer([str(inspect.signature(weather)), weather.__annotations__, weather.__doc__])"
    signature, annotations, doc = answer(sandbox, program, functions=[WEATHER])
    assert signature == "(city: 'str', from_: 'int' = 3, units: 'str | None' = ...)"
    assert annotations == {"city": "str", "from_": "int", "units": "str | None"}
    assert doc == WEATHER.doc


def test_help_tells_of_a_tool(sandbox: Sandbox) -> None:
    told = answer(sandbox, "import pydoc\nfinal_answer(pydoc.plain(pydoc.render_doc(weather)))", functions=[WEATHER])
    assert "weather(city: 'str', from_: 'int' = 3, units: 'str | None' = ...)" in told
    assert "Tells the weather." in told


@pytest.mark.parametrize(
    ("call", "sent"),
    [
        ("weather('Ulm')", {"city": "Ulm", "from-day": 3}),
        ("weather(city='Ulm', units=None)", {"city": "Ulm", "from-day": 3, "units": None}),
        ("weather('Ulm', 1, 'C')", {"city": "Ulm", "from-day": 1, "units": "C"}),
        ("weather('Ulm', units='C', from_=0)", {"city": "Ulm", "from-day": 0, "units": "C"}),
    ],
)
def test_arguments_go_out_under_the_names_of_the_tool_and_absent_ones_do_not(
    sandbox: Sandbox, call: str, sent: dict[str, Any]
) -> None:
    assert answer(sandbox, f"final_answer({call})", arguments_of, [WEATHER]) == ["weather", sent]


@pytest.mark.parametrize(
    "call", ["weather()", "weather('Ulm', day=1)", "weather('Ulm', 1, 'C', 4)", "weather('Ulm', city='Ulm')"]
)
def test_a_wrong_call_is_a_type_error_and_does_not_leave_the_program(sandbox: Sandbox, call: str) -> None:
    done = ran(sandbox, call, functions=[WEATHER])
    assert done.exit.status == "error"
    assert done.raised.startswith("TypeError: weather() ")
    assert done.calls == 0


def test_a_failed_call_is_a_tool_error_with_its_message(sandbox: Sandbox) -> None:
    async def fails(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        return Failed("no such city: Ölm")

    caught = "try:\n    echo()\nexcept ToolError as error:\n    final_answer(str(error))"
    done = ran(sandbox, f"{caught}\necho()", fails)
    assert done.answer == ("no such city: Ölm",)
    assert done.raised == "ToolError: no such city: Ölm"
    assert done.trace == (
        "Traceback (most recent call last):\n"
        '  File "program.py", line 5, in <module>\n    echo()\nToolError: no such city: Ölm\n'
    )
    assert (done.calls, done.failed_calls) == (2, 2)


VALUES = """\
import collections, dataclasses, datetime
Pair = collections.namedtuple("Pair", "a b")
@dataclasses.dataclass
class Point:
    x: int
    y: object
class Array:
    def tolist(self): return [1, 2]
"""


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        ("{7}", [7]),
        ("frozenset()", []),
        ("(1, 'a', None, True, 1.5)", [1, "a", None, True, 1.5]),
        ("Pair(1, 2)", [1, 2]),
        ("Point(1, Array())", {"x": 1, "y": [1, 2]}),
        ("datetime.date(2026, 1, 2)", "2026-01-02"),
        ("{1: 2, None: 3}", {"1": 2, "null": 3}),
        ("'\\ud800é\\u0000\\U0001f600'", "\ud800é\x00\U0001f600"),
        ("10 ** 400", 10**400),
        ("len(echo('x' * 1_000_000))", 1_000_000),
    ],
)
def test_what_is_nearly_plain_data_arrives_as_plain_data(sandbox: Sandbox, value: str, arrives: Any) -> None:
    assert answer(sandbox, f"{VALUES}\nfinal_answer(echo({value}))") == arrives


@pytest.mark.parametrize(
    "value",
    [
        "float('nan')",
        "-1e999",
        "b'x'",
        "object()",
        "Point",
        "{(1, 2): 3}",
        "loop",
        "deep",
        "10 ** 9999",
        "'x' * (1 << 20)",
        "'\\0' * 300_000",
    ],
)
def test_what_is_no_plain_data_is_a_type_error_that_names_the_tool(sandbox: Sandbox, value: str) -> None:
    deep = "loop = []\nloop.append(loop)\ndeep = []\nfor _ in range(100_000): deep = [deep]"
    done = ran(sandbox, f"{VALUES}{deep}\necho({value})")
    assert done.raised.startswith("TypeError: the arguments of echo ")
    assert done.calls == 0


def test_a_call_of_bad_data_leaves_the_next_one_unharmed(sandbox: Sandbox) -> None:
    program = "value = [object()]\ntry: echo(value)\nexcept TypeError: value[0] = 1\nfinal_answer(echo(value))"
    assert answer(sandbox, program) == [1]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: "x" * (9 << 20), "the result is 9437"),
        (lambda: {1, 2}, "the result is no plain data"),
        (lambda: 10**5000, "the result is no plain data"),
    ],
)
def test_a_result_that_cannot_be_sent_fails_its_call_and_no_other(
    sandbox: Sandbox, value: Callable[[], object], message: str
) -> None:
    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        return Returned(arguments["value"] if arguments else value())

    program = "try: echo()\nexcept ToolError as error: final_answer([str(error), echo(1)])"
    told, after = answer(sandbox, program, call)
    assert told.startswith(message)
    assert after == 1


def test_a_result_of_several_megabytes_arrives(sandbox: Sandbox) -> None:
    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        return Returned(["é" * 1_000_000, float("inf")])

    assert answer(sandbox, "text, number = echo()\nfinal_answer([len(text), text[-1], number > 1e300])", call) == [
        1_000_000,
        "é",
        True,
    ]


@pytest.mark.parametrize(
    ("program", "given"),
    [
        ("pass", ()),
        ("final_answer(None)", (None,)),
        ("final_answer(1); final_answer([2])", ([2],)),
        ("final_answer(float('nan'))", ("nan",)),
        ("import fractions; final_answer(fractions.Fraction(1, 2))", ("1/2",)),
        ("class Odd: pass\nfinal_answer(Odd)", ("<class '__main__.Odd'>",)),
        ("final_answer(answer=3)", (3,)),
    ],
)
def test_the_last_answer_counts_and_what_is_no_data_is_given_as_text(
    sandbox: Sandbox, program: str, given: tuple[Any, ...]
) -> None:
    done = ran(sandbox, program)
    assert (done.exit.status, done.answer) == ("ok", given)


def test_an_answer_that_is_too_long_is_cut(sandbox: Sandbox) -> None:
    assert answer(sandbox, "final_answer('y' * (2 << 20))") == "y" * 20_000


@pytest.mark.parametrize(
    ("leaving", "status", "code", "said"),
    [
        ("sys.exit()", "ok", 0, b""),
        ("sys.exit(3)", "error", 3, b""),
        ("sys.exit('why')", "error", 1, b"why\n"),
        ("raise SystemExit(0)", "ok", 0, b""),
    ],
)
def test_a_program_may_leave_with_a_code(sandbox: Sandbox, leaving: str, status: str, code: int, said: bytes) -> None:
    done = ran(sandbox, f"import sys\nprint('out')\n{leaving}")
    assert (done.exit.status, done.exit.code, done.exit.stderr) == (status, code, said)
    assert (done.exit.stdout, done.raised, done.trace) == (b"out\n", "", "")


def test_a_traceback_shows_the_frames_of_the_program_alone_in_causes_and_groups_too(sandbox: Sandbox) -> None:
    async def fails(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        return Failed("down")

    program = (
        "def ask():\n    return echo()  # here\n"
        "try:\n    ask()\nexcept ToolError as error:\n    cause = error\n"
        "    raise ExceptionGroup('two', [KeyError(1), error]) from error"
    )
    done = ran(sandbox, program, fails)
    assert done.raised == "ExceptionGroup: two (2 sub-exceptions)"
    assert done.trace.count("return echo()  # here") >= 2
    assert {line.split('"')[1] for line in done.trace.splitlines() if 'File "' in line} == {"program.py"}
    assert done.exit.stderr.decode() == done.trace


def test_a_long_traceback_is_cut_in_the_middle(sandbox: Sandbox) -> None:
    done = ran(sandbox, "raise ValueError('é' * 100_000)")
    assert len(done.raised) < 2100
    assert len(done.trace) < 4100
    assert done.trace.startswith("Traceback")


def test_a_program_that_is_no_python_says_where(sandbox: Sandbox) -> None:
    done = ran(sandbox, "x = 1\nif x\n    pass")
    assert done.raised.startswith("SyntaxError: expected ':'")
    assert 'File "program.py", line 2' in done.trace
    assert "if x" in done.trace


@pytest.mark.parametrize(
    "program",
    [
        "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd",
        "import sys\nsys.stderr.close()\nraise KeyError",
        "raise BaseException",
    ],
)
def test_an_exception_that_resists_being_told_still_fails_the_program(sandbox: Sandbox, program: str) -> None:
    done = ran(sandbox, program)
    assert (done.exit.status, done.exit.code) == ("error", 1)
    assert done.raised in ("Odd", "KeyError", "BaseException")


def test_the_program_is_the_main_module_with_true_builtins_and_its_source(sandbox: Sandbox) -> None:
    program = (
        "import inspect, __main__, builtins\ndef f():\n    return 1\nclass C: pass\n"
        "final_answer([__name__, __main__.f(), __builtins__ is builtins, inspect.getsource(f), C.__module__])"
    )
    assert answer(sandbox, program) == ["__main__", 1, True, "def f():\n    return 1\n", "__main__"]


def test_a_traceback_that_the_program_prints_shows_its_lines(sandbox: Sandbox) -> None:
    program = "import traceback\ntry:\n    1 / 0  # here\nexcept ZeroDivisionError:\n    traceback.print_exc()"
    assert b"1 / 0  # here" in ran(sandbox, program).exit.stderr


def test_a_sandbox_that_fails_once_is_tried_again() -> None:
    away = Script(end=Exit("unavailable", detail="no room"))
    sandbox = ScriptedSandbox(away, Script([b'["answer",1]']))
    assert ran(sandbox, "").answer == (1,)
    assert len(sandbox.jobs) == 2


def test_a_sandbox_that_fails_twice_is_unavailable_and_says_why() -> None:
    sandbox = ScriptedSandbox(Script(end=Exit("unavailable", detail="no room")))
    with pytest.raises(SandboxUnavailable, match=r"scripted.*no room"):
        ran(sandbox, "")
    assert len(sandbox.jobs) == 2


def test_the_job_may_last_as_long_as_the_program_and_its_tools() -> None:
    sandbox = ScriptedSandbox(Script())
    ran(sandbox, "", limits=Limits(wall_s=2.0, memory_mb=99), tool_s=5.0)
    (job,) = sandbox.jobs
    assert job.limits == Limits(wall_s=7.0, memory_mb=99)
    assert job.trusted
    assert job.channel
