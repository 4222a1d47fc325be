"""Turns that repeat what the turns before did, silently, and then act."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from noting_tools import NotingToolbox
from scripted_tools import ScriptedTool, ScriptedToolbox, failing
from treewright.core.errors import BudgetSpent
from treewright.roles.tool_programs import ProgramRun, program_runner
from treewright.roles.tool_turns import Act, call_turn, code_turn, with_state
from treewright.sandbox.base import Limits
from treewright.sandbox.process import ProcessSandbox
from treewright.tools.base import Card
from treewright.tools.functions import from_functions
from treewright.tools.planning import Planned

LIMITS = Limits(wall_s=60, cpu_s=60)


def taken(act: Act, turns: Sequence[str]) -> ProgramRun:
    async def last() -> ProgramRun:
        return await act("0.1", turns[:-1], turns[-1])

    return asyncio.run(last())


def code(*blocks: str, toolbox: ScriptedToolbox | None = None) -> ProgramRun:
    """What the last block does after the others."""
    run = program_runner(ProcessSandbox(), toolbox or ScriptedToolbox(), LIMITS)
    return taken(code_turn(run), blocks)


def call(toolbox: Any, *calls: tuple[str, dict[str, Any]]) -> ProgramRun:
    """What the last call comes to after the others."""
    texts = [json.dumps({"tool": name, "arguments": arguments}) for name, arguments in calls]
    return taken(call_turn(toolbox), texts)


def test_variables_functions_and_imports_of_earlier_blocks_are_there() -> None:
    done = code("import math\nx = 2", "def twice(n):\n    return 2 * n * x", "print(twice(math.floor(1.5)))")
    assert (done.ended, done.output, done.final) == ("ok", "4\n", False)


def test_earlier_blocks_neither_print_nor_answer_again() -> None:
    done = code("import sys\nprint('once')\nprint('once', file=sys.stderr)\nfinal_answer('old')", "print('now')")
    assert (done.output, done.answer, done.final, done.error) == ("now\n", "now", False, "")
    assert code("final_answer(1)", "final_answer(2)").answer == "2"


@pytest.mark.parametrize("block", ["x = 1\nraise ValueError", "x = 1\nimport sys; sys.exit(3)", "x = 1\n1 / 0"])
def test_a_block_that_failed_leaves_what_it_did_until_then(block: str) -> None:
    done = code(block, "print(x)")
    assert (done.ended, done.output) == ("ok", "1\n")


def test_a_block_that_was_no_python_is_passed_over() -> None:
    assert code("def (", "print(1)").output == "1\n"


def test_nothing_of_ours_is_left_among_the_names() -> None:
    done = code("x = 1", "print(sorted(name for name in globals() if not name.startswith('__')))")
    assert done.output == "['ToolError', 'final_answer', 'x']\n"


def test_earlier_blocks_call_their_tools_again() -> None:
    card = Card("tell", "", {"type": "object", "properties": {"value": {}}})
    toolbox = ScriptedToolbox([ScriptedTool("tell", lambda value=None: 7, card=card)])
    assert code("x = tell(1)", "print(x + tell(2))", toolbox=toolbox).output == "14\n"
    assert toolbox.named("tell") == [{"value": 1}, {"value": 2}]


def test_a_first_block_is_run_as_it_is() -> None:
    assert with_state((), "x = 1") == "x = 1"
    assert code("raise KeyError('first')").error.splitlines()[1] == '  File "program.py", line 1, in <module>'


def test_a_later_block_starts_at_the_second_line() -> None:
    text = with_state(("a = '''\n'''",), "x\ny")
    assert text.split("\n")[1:] == ["x", "y"]


class Counter:
    """Counts."""

    def __init__(self) -> None:
        self._count = 0

    def step(self) -> int:
        """One more."""
        self._count += 1
        return self._count


def test_calls_of_tools_with_a_state_are_made_again_in_a_session_of_their_own() -> None:
    async def run() -> list[str]:
        async with from_functions([Counter]) as toolbox:
            step = '{"tool": "step", "arguments": {}}'
            act = call_turn(toolbox)
            return [(await act("0", [step] * count, step)).output for count in (0, 2, 1)]

    assert asyncio.run(run()) == ["1", "3", "2"]


def test_other_calls_are_not_made_again() -> None:
    toolbox = ScriptedToolbox([ScriptedTool("look"), ScriptedTool("book", effect="commit")])
    call(toolbox, ("look", {"n": 1}), ("book", {"n": 2}), ("look", {"n": 3}))
    assert [arguments["n"] for _, _, arguments in toolbox.calls] == [2, 3]
    assert toolbox.sessions == 0


def test_a_call_is_told_as_a_run() -> None:
    toolbox = ScriptedToolbox(
        [
            ScriptedTool("look", lambda: {"a": "é"}),
            ScriptedTool("down", failing("raised", "it is down")),
            ScriptedTool("odd", lambda: "Error: no"),
        ]
    )
    found = call(toolbox, ("look", {}))
    assert (found.ended, found.output, found.answer, found.final) == ("ok", '{"a": "é"}', "", False)
    assert (found.calls, found.tool_errors) == (1, 0)
    down = call(toolbox, ("down", {}))
    assert (down.ended, down.error, down.calls, down.tool_errors) == ("error", "it is down", 1, 1)
    odd = call(toolbox, ("odd", {}))
    assert (odd.ended, odd.output, odd.tool_errors) == ("ok", "Error: no", 1)


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [({"answer": " Ann "}, "Ann"), ({"answer": [1, "é"]}, '[1, "é"]'), ({"value": 3}, "3"), ({}, ""), ({"answer": 0}, "0")],
)
def test_the_answer_is_no_call(arguments: dict[str, Any], answer: str) -> None:
    toolbox = ScriptedToolbox()
    done = call(toolbox, ("final_answer", arguments))
    assert (done.ended, done.answer, done.final, done.calls) == ("ok", answer, bool(answer), 0)
    assert toolbox.calls == []


def test_an_answer_brings_the_calls_noted_on_the_way() -> None:
    done = call(NotingToolbox(), ("book", {"n": 2}), ("final_answer", {"answer": "done"}))
    assert done.planned == (Planned(1, "book", {"n": 2}),)


def test_a_spent_budget_is_raised_and_the_session_closed() -> None:
    def spent() -> None:
        raise BudgetSpent("tool calls")

    toolbox = ScriptedToolbox([ScriptedTool("look", spent)])
    with pytest.raises(BudgetSpent):
        call(toolbox, ("look", {}))
    assert toolbox.sessions == 0
