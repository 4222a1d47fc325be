"""Programs with the user's tools: what they are offered, what their calls come to, what is told of a run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from noting_tools import NotingToolbox
from scripted_tools import ScriptedTool, ScriptedToolbox, failing
from treewright.core.errors import BudgetSpent
from treewright.roles.tool_programs import (
    OUTPUT_CHARS,
    ProgramRun,
    as_text,
    describe,
    functions,
    looks_failed,
    program_runner,
)
from treewright.sandbox.base import Limits
from treewright.sandbox.calling import Parameter
from treewright.sandbox.process import ProcessSandbox
from treewright.tools.base import Card, Result
from treewright.tools.functions import from_functions
from treewright.tools.planning import Planned

LIMITS = Limits(wall_s=60, cpu_s=60)
ANY = {"type": "object", "properties": {"value": {}}}
FLIGHTS = Card(
    "flights",
    "Finds flights.",
    {
        "type": "object",
        "properties": {
            "from": {"type": "string", "description": "An airport."},
            "max-stops": {"type": "integer", "default": 1},
            "day": {"type": "string"},
        },
        "required": ["from"],
    },
)


def scripted(*tools: tuple[str, Any]) -> ScriptedToolbox:
    return ScriptedToolbox([ScriptedTool(name, act, card=Card(name, "", ANY)) for name, act in tools])


def run(program: str, toolbox: Any, limits: Limits = LIMITS) -> ProgramRun:
    async def once() -> ProgramRun:
        return await program_runner(ProcessSandbox(), toolbox, limits)("0.1", program)

    return asyncio.run(once())


def test_a_tool_is_a_function_with_python_names_for_its_own() -> None:
    (function,) = functions([FLIGHTS])
    assert function.parameters == (
        Parameter("from_", "from", True, (), "str"),
        Parameter("max_stops", "max-stops", False, (1,), "int"),
        Parameter("day", "day", False, (), "str"),
    )
    assert "An airport." in function.doc


def test_a_model_reads_the_signature_and_the_docstring_and_that_a_commit_is_noted() -> None:
    sends = Card("send", "Sends.\nFor good.", effect="commit")
    first, second = describe([FLIGHTS, sends]).split("\n\nsend")
    assert first.startswith("flights(from_: str, max_stops: int = 1, day: str = ...) -> Any\n    Finds flights.")
    assert second.startswith("() -> Any\n    Sends.\n    For good.\n")
    assert "carried out once" in second
    assert "carried out once" not in first


def test_a_long_description_is_cut() -> None:
    words = {f"p{number}": {"description": "word " * 100} for number in range(30)}
    text = describe([Card("talk", "line\n" * 400, {"type": "object", "properties": words})])
    assert len(text.partition("\n")[2]) < 2400 + 4 * 2400 / 5 + 100  # with the indent of each line


def test_a_program_calls_tools_by_name_and_its_answer_is_text() -> None:
    toolbox = scripted(("add", lambda value: sum(value)))
    done = run("print('working')\nfinal_answer({'sum': add([1, 2]), 'é': None})", toolbox)
    assert done.answer == '{"sum": 3, "é": null}'
    assert (done.ended, done.output, done.error, done.final) == ("ok", "working\n", "", True)
    assert (done.calls, done.tool_errors, done.planned) == (1, 0, ())
    assert done.seconds > 0
    assert toolbox.calls == [("0.1", "add", {"value": [1, 2]})]
    assert toolbox.sessions == 0


def test_what_is_printed_is_the_answer_of_a_program_that_gives_none() -> None:
    done = run("print(' 42 ')", scripted())
    assert (done.answer, done.output, done.final) == ("42", " 42 \n", False)
    assert run("pass", scripted()).answer == ""


class Counter:
    """Counts."""

    def __init__(self) -> None:
        self._count = 0

    def step(self) -> int:
        """One more."""
        self._count += 1
        return self._count


def test_tools_with_a_state_are_new_for_every_program() -> None:
    async def both() -> list[str]:
        async with from_functions([Counter]) as toolbox:
            runner = program_runner(ProcessSandbox(), toolbox, LIMITS)
            return [(await runner(node, "step()\nfinal_answer(step())")).answer for node in ("0", "1")]

    assert asyncio.run(both()) == ["2", "2"]


def test_a_failed_call_counts_though_the_program_goes_on() -> None:
    toolbox = scripted(
        ("down", failing("timeout", "it took too long")), ("odd", lambda: {"error": "no such id"}), ("good", lambda: 1)
    )
    done = run("try: down()\nexcept ToolError as error: print(error)\nodd()\nfinal_answer(good())", toolbox)
    assert (done.ended, done.output, done.calls, done.tool_errors) == ("ok", "it took too long\n", 3, 2)


def test_a_program_that_fails_tells_why_without_our_frames() -> None:
    done = run("print('before')\nx = 1\nx.y", scripted())
    assert done.ended == "error"
    assert done.error == (
        'Traceback (most recent call last):\n  File "program.py", line 3, in <module>\n    x.y\n'
        "AttributeError: 'int' object has no attribute 'y'"
    )
    assert (done.answer, done.final) == ("before", False)


def test_a_limit_is_named_in_the_error() -> None:
    done = run("while True: pass", scripted(), Limits(wall_s=0.3))
    assert (done.ended, done.error) == ("timeout", "more than 0.3 s of its own time")
    left = run("import sys\nsys.exit('nothing found')", scripted())
    assert (left.ended, left.error) == ("error", "exit code 1\nnothing found")


def test_output_is_cut_and_holds_no_control_characters() -> None:
    done = run("print('\\x1b[2J' + 'x' * 50_000)", scripted())
    assert len(done.output) == OUTPUT_CHARS
    assert done.output.startswith("\\x1b[2Jxxx")
    assert run("final_answer('a\\x00\\ud800')", scripted()).answer == "a\\x00\\ud800"


def test_calls_that_were_noted_are_told_in_order() -> None:
    done = run("book(1)\nbook(n=2)\nfinal_answer('booked')", NotingToolbox())
    assert done.planned == (Planned(1, "book", {"n": 1}), Planned(2, "book", {"n": 2}))


def test_a_spent_budget_is_raised_and_the_session_closed() -> None:
    def spent() -> None:
        raise BudgetSpent("tool calls")

    toolbox = scripted(("look", spent))
    with pytest.raises(BudgetSpent):
        run("look()", toolbox)
    assert toolbox.sessions == 0


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        (Result(failure="raised", message="x"), True),
        (Result("Error: no such city"), True),
        (Result(" failed to load"), True),
        (Result("Exception in tool"), True),
        (Result({"error": "x"}), True),
        (Result({"exception": "x"}), True),
        (Result({"error": None, "value": 1}), False),
        (Result({"error": "", "value": 1}), False),
        (Result("Errors: 0"), False),
        (Result("No error"), False),
        (Result("failures are rare"), False),
        (Result(["error"]), False),
        (Result(None), False),
    ],
)
def test_results_that_say_that_something_failed_are_known(result: Result, failed: bool) -> None:
    assert looks_failed(result) is failed


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (1, "1"), (True, "true"), (None, "null"), ([1, "é"], '[1, "é"]'), ({"a": 1.5}, '{"a": 1.5}')],
)
def test_an_answer_is_text_or_json(value: object, text: str) -> None:
    assert as_text(value) == text


@pytest.mark.parametrize(
    ("ran", "shown"),
    [
        (ProgramRun("ok"), "It printed nothing."),
        (ProgramRun("ok", "1", "1\n"), "It printed:\n1"),
        (ProgramRun("ok", "2", "1\n", final=True), "It printed:\n1\nIt gave this final answer: 2"),
        (ProgramRun("error", "", "", "KeyError"), "It printed nothing.\nIt failed: KeyError"),
    ],
)
def test_a_model_is_shown_what_was_printed_answered_and_went_wrong(ran: ProgramRun, shown: str) -> None:
    assert ran.result == shown
