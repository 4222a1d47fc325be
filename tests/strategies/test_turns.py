"""CodeAct and ReAct: a turn a node; variables and tools with a state as the turns before left them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import virtual_time
from scripted_tools import ScriptedTool, ScriptedToolbox
from tools_desk import Chatter, code, toolbox_of
from treewright.core.budget import Budget, Limits
from treewright.core.events import NodeEvaluated
from treewright.core.orders import breadth_first
from treewright.core.search import Answer, Result, search
from treewright.roles.asking import Asker
from treewright.roles.tool_programs import ProgramRun, program_runner
from treewright.roles.tool_turns import Act, call_turn, code_turn, with_state
from treewright.roles.turns import codeact, react
from treewright.sandbox.base import Limits as ProgramLimits
from treewright.sandbox.process import ProcessSandbox
from treewright.strategies.baselines.turns import TURNS, Turns
from treewright.strategies.tree_of_code_settings import Draw, ProgramOutcome
from treewright.tools.base import Card, Toolbox
from treewright.tools.decorator import tool
from treewright.tools.effects import Effects


@dataclass(slots=True, eq=False)
class Acts:
    """An `Act` that does what it was told, and remembers."""

    runs: Sequence[ProgramRun] = ()
    seen: list[tuple[str, tuple[str, ...], str]] = field(default_factory=list)

    async def __call__(self, node: str, before: Sequence[str], act: str) -> ProgramRun:
        self.seen.append((node, tuple(before), act))
        return self.runs[min(len(self.seen), len(self.runs)) - 1]


Found = Result[Draw, ProgramOutcome]


def turns(model: Chatter, act: Act, *, most: int = TURNS, role: str = "codeact") -> Turns:
    actor = codeact(Asker(model), "look()") if role == "codeact" else react(Asker(model), "look()")
    return Turns("How many?", actor, act, breadth_first(), most)


def play(strategy: Turns, *, executions: int | None = None, parallel: int = 3) -> Found:
    budget = Budget(Limits(executions=executions))
    made = search(strategy, budget=budget, parallel=parallel, emit=lambda _: None, tree=_tree())
    return virtual_time.run(made)


def _tree() -> Any:
    from treewright.core.tree import Tree

    return Tree()


SAID = ProgramRun("ok", "seen", "seen\n")
FINAL = ProgramRun("ok", "5", final=True)


def test_a_turn_follows_the_other_until_one_gives_the_answer() -> None:
    acts, model = (
        Acts([SAID, ProgramRun("error", error="KeyError: 'a'"), FINAL]),
        Chatter([code(f"turn{k}()") for k in range(9)]),
    )
    found = play(turns(model, acts))
    assert [node for node, _, _ in acts.seen] == ["0.0", "0.0.0", "0.0.0.0"]
    assert acts.seen[2][1:] == (("turn0()", "turn1()"), "turn2()"), "a turn that failed has left its state too"
    assert (found.reason, found.answer) == ("accepted", Answer("5", True, "answered in turn 3", node="0.0.0.0"))


def test_each_turn_is_shown_all_turns_before_as_a_chat() -> None:
    model = Chatter([code(f"turn{k}()") for k in range(9)])
    play(turns(model, Acts([SAID, ProgramRun("error", error="KeyError: 'a'"), FINAL])))
    messages = model.asked[2].messages
    assert [message.speaker for message in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [("turn0()" in m.text, "turn1()" in m.text) for m in messages[2::2]] == [(True, False), (False, True)]
    assert "It printed:\nseen" in messages[3].text
    assert "KeyError: 'a'" in messages[5].text
    assert model.asked[0].temperature == 0.0


def test_there_are_10_turns_and_then_what_the_last_one_showed_unverified() -> None:
    acts = Acts([*[SAID] * 9, ProgramRun("ok", "the last", "the last\n")])
    found = play(turns(Chatter([code("x()")] * 30), acts))
    assert (TURNS, len(acts.seen), found.reason) == (10, 10, "exhausted")
    assert (found.answer.text, found.answer.verified) == ("the last", False)
    assert len(list(play(turns(Chatter([code("x()")] * 30), Acts([SAID]), most=2)).tree.candidates())) == 2


def test_there_is_never_more_than_one_branch() -> None:
    found = play(turns(Chatter([code("x()")] * 30), Acts([SAID])), parallel=5)
    assert [len(node.children) for node in found.tree.nodes.values()] == [1] * 10 + [0]


def test_an_empty_answer_is_none() -> None:
    found = play(turns(Chatter([code("x()")] * 30), Acts([ProgramRun("ok", "", final=True), FINAL])))
    assert (found.answer.text, found.answer.evidence) == ("5", "answered in turn 2")


def test_what_was_only_printed_is_no_answer() -> None:
    assert not play(turns(Chatter([code("x()")] * 9), Acts([SAID]), most=3)).answer.verified


def test_a_reply_that_cannot_be_read_costs_a_turn_and_the_next_is_told() -> None:
    acts, model = Acts([FINAL]), Chatter(["No.", "Never.", code("x()")])
    found = play(turns(model, acts))
    assert acts.seen == [("0.0.0", (), "x()")]
    assert found.answer.evidence == "answered in turn 2"
    assert "the reply could not be read" in model.asked[2].messages[-1].text


def test_a_block_that_was_killed_is_not_repeated_by_the_turns_after_it() -> None:
    acts = Acts([ProgramRun("timeout", error="it ran too long"), ProgramRun("memory"), ProgramRun("error", error="x"), FINAL])
    play(turns(Chatter([code(f"turn{k}()") for k in range(9)]), acts))
    assert acts.seen[3][1] == ("turn2()",)


def test_a_budget_that_is_spent_ends_the_turns() -> None:
    found = play(turns(Chatter([code("x()")] * 9), Acts([SAID])), executions=2)
    assert (found.reason, found.answer.text, found.answer.verified) == ("executions", "seen", False)


def test_without_a_turn_there_is_no_answer() -> None:
    strategy = turns(Chatter(()), Acts([SAID]))
    assert asyncio.run(strategy.answer(_tree())) == Answer("", False, "no turn was taken")


# Code, in a real interpreter.


def code_runs(*blocks: str, toolbox: Toolbox | None = None) -> ProgramRun:
    """What the last of some blocks comes to, each repeated in the turns after it."""

    async def go() -> ProgramRun:
        async with Effects(toolbox or toolbox_of(), mode="ask") as effects:
            act = code_turn(program_runner(ProcessSandbox(), effects, ProgramLimits(wall_s=20)))
            return await act("0.0", blocks[:-1], blocks[-1])

    return asyncio.run(go())


def test_variables_functions_and_imports_stay() -> None:
    first = "import math\ntotal = 2\ndef double(x):\n    return total * x"
    assert code_runs(first, "total += math.floor(1.5)", "final_answer(double(total))").answer == "9"


def test_what_earlier_turns_printed_and_answered_is_silent() -> None:
    ran = code_runs("print('loud')\nimport sys\nprint('louder', file=sys.stderr)\nfinal_answer('old')", "print('now')")
    assert (ran.output, ran.answer, ran.final) == ("now\n", "now", False)


def test_a_turn_that_failed_keeps_what_it_had_done_and_fails_no_later_turn() -> None:
    broken = "found = [1]\nfound.append(2)\nraise KeyError('a')\nfound.append(3)"
    ran = code_runs(broken, "import sys\nsys.exit(3)", "final_answer(found)")
    assert (ran.ended, ran.answer) == ("ok", "[1, 2]")


def test_a_turn_with_a_syntax_error_fails_no_later_turn() -> None:
    assert code_runs("x = 1", "x = = 2", "final_answer(x)").answer == "1"


def test_the_line_of_an_error_is_that_of_its_own_block() -> None:
    ran = code_runs("x = 1", "y = 2\nraise KeyError(x)")
    assert ran.ended == "error"
    assert "KeyError: 1" in ran.error
    assert "raise KeyError(x)" in ran.error
    assert "again" not in ran.error


def test_a_first_turn_is_the_block_and_nothing_else() -> None:
    assert with_state((), "x = 1") == "x = 1"


def test_pure_tools_are_called_once_and_others_again_by_each_turn_that_repeats_them() -> None:
    box = ScriptedToolbox([ScriptedTool("look", lambda: 1, "pure"), ScriptedTool("count", lambda: 2)])

    async def go() -> None:
        async with Effects(box, mode="ask") as effects:
            act = code_turn(program_runner(ProcessSandbox(), effects, ProgramLimits(wall_s=20)))
            for number in range(3):
                await act("0", ["look(); count()"] * number, "look(); count()")

    asyncio.run(go())
    assert (len(box.named("look")), len(box.named("count"))) == (1, 6)


def test_calls_noted_in_any_turn_are_noted_once_by_the_last() -> None:
    box = ScriptedToolbox([ScriptedTool("send", effect="commit", card=SEND)])
    ran = code_runs("send(to='ann')", "send(to='bob')", "final_answer('sent')", toolbox=box)
    assert [(call.number, call.arguments) for call in ran.planned] == [(1, {"to": "ann"}), (2, {"to": "bob"})]
    assert box.calls == []


SEND = Card("send", "Send.", {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}, effect="commit")


# One call a turn.


def act_of(name: str, **arguments: Any) -> str:
    return json.dumps({"tool": name, "arguments": arguments})


def call_runs(toolbox: Toolbox, *calls: str) -> ProgramRun:
    async def go() -> ProgramRun:
        async with Effects(toolbox, mode="ask") as effects:
            return await call_turn(effects)("0.0", calls[:-1], calls[-1])

    return asyncio.run(go())


def test_a_react_turn_calls_one_tool_and_shows_its_result() -> None:
    box = ScriptedToolbox([ScriptedTool("look", lambda x: {"seen": x}), ScriptedTool("text", lambda: "über")])
    ran = call_runs(box, act_of("look", x=3))
    assert (ran.ended, ran.output, ran.calls, ran.tool_errors, ran.final) == ("ok", '{"seen": 3}', 1, 0, False)
    assert call_runs(box, act_of("text")).output == "über"


def test_a_react_turn_whose_tool_fails_says_so() -> None:
    ran = call_runs(ScriptedToolbox([ScriptedTool("look")]), act_of("lok"))
    assert (ran.ended, ran.error, ran.tool_errors) == ("error", "no tool lok", 1)
    said = call_runs(ScriptedToolbox([ScriptedTool("look", lambda: "Error: no such page")]), act_of("look"))
    assert (said.ended, said.tool_errors) == ("ok", 1), "a tool that reports its error as a result"


@pytest.mark.parametrize(
    ("given", "answer", "final"),
    [({"answer": 5}, "5", True), ({"value": "five"}, "five", True), ({"answer": [1, 2]}, "[1, 2]", True), ({}, "", False),
     ({"answer": "  "}, "", False)],
)  # fmt: skip
def test_a_react_turn_answers_with_final_answer(given: dict[str, Any], answer: str, final: bool) -> None:
    ran = call_runs(ScriptedToolbox(), act_of("final_answer", **given))
    assert (ran.ended, ran.answer, ran.final) == ("ok", answer, final)


def test_react_repeats_only_what_keeps_a_state() -> None:
    @tool
    class Counter:
        """Counts."""

        def __init__(self) -> None:
            self.count = 0

        def up(self) -> int:
            """Count one up."""
            self.count += 1
            return self.count

    looked = list[str]()

    def look(word: str) -> str:
        """Look."""
        looked.append(word)
        return word

    async def go() -> list[str]:
        async with toolbox_of(Counter, look) as opened, Effects(opened, mode="ask") as effects:
            act, calls = call_turn(effects), [act_of("up"), act_of("look", word="a"), act_of("up"), act_of("up")]
            return [(await act("0", calls[:place], call)).output for place, call in enumerate(calls)]

    assert asyncio.run(go()) == ["1", "a", "2", "3"]
    assert looked == ["a"]


def test_calls_noted_in_earlier_react_turns_are_in_the_notes_of_the_answer_once() -> None:
    box = ScriptedToolbox([ScriptedTool("send", effect="commit", card=SEND), ScriptedTool("look")])
    before = [act_of("send", to="ann"), act_of("look"), act_of("send", to="bob"), act_of("send")]
    ran = call_runs(box, *before, act_of("final_answer", answer="sent"))
    assert [(call.number, call.arguments) for call in ran.planned] == [(1, {"to": "ann"}), (2, {"to": "bob"})]
    assert box.calls == []


def test_react_reads_a_call_and_answers_over_the_whole_loop() -> None:
    box = ScriptedToolbox([ScriptedTool("look", lambda x: x + 1)])
    replies = ['{"thought": "see", "tool": "look", "arguments": {"x": 4}}', "nothing", "still nothing",
               '{"thought": "so", "tool": "final_answer", "arguments": {"answer": "5"}}']  # fmt: skip
    model = Chatter(replies)
    shown = list[str]()

    async def go() -> Found:
        async with Effects(box, mode="ask") as effects:
            strategy = turns(model, call_turn(effects), role="react")
            return await search(
                strategy, budget=Budget(), parallel=2, tree=_tree(),
                emit=lambda e: shown.append(e.outcome.run.result) if isinstance(e, NodeEvaluated) else None,
            )  # fmt: skip

    found = asyncio.run(go())
    assert (found.answer.text, found.answer.evidence) == ("5", "answered in turn 3")
    assert "It printed:\n5" in shown[0]
    assert "It printed:\n5" in model.asked[3].messages[3].text
