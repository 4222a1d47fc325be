"""What a run with tools opens: sources, lost ones, tools given in Python, and budgets that hold over all of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scripted_tools import ScriptedTool, ScriptedToolbox, failing
from tools_desk import SPEC, ByNode, Chatter, Desk, code, ended, events, scripted, tool_calls, tools_desk
from tree_checks import facts
from treewright.core.budget import Limits
from treewright.core.errors import ModelUnavailable, UserError
from treewright.core.events import ModelCalled, NodeEvaluated, RunStarted
from treewright.core.task import ToolTask
from treewright.core.tree import Tree
from treewright.opening import GIVEN
from treewright.runs import past_of
from treewright.spec import ToolChoices
from treewright.tools.base import Card
from treewright.tools.loading import load_tools

ALONE = ToolChoices(layers=1, width=1)
ASKING = "final_answer(look(city='Rome'))"
TOOLS = '''
def look(city: str) -> str:
    """Look at a city."""
    return city.upper()
'''


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with tools_desk(tmp_path) as desk:
        yield desk


def task(*tools: object) -> ToolTask:
    return ToolTask("How many?", tools, "how many")


def test_a_file_is_opened_by_its_name(desk: Desk) -> None:
    file = desk.folder / "tools.py"
    file.write_text(TOOLS)
    solution = desk.go(desk.journal(), ByNode(otherwise=ASKING), None, task=task(str(file)))
    assert (solution.answer, solution.verified) == ("ROME", True)


def test_what_cannot_be_used_is_told_with_the_answer_and_the_rest_goes_on(desk: Desk) -> None:
    file, broken = desk.folder / "tools.py", desk.folder / "broken.py"
    file.write_text(TOOLS)
    broken.write_text("import nothing_of_that_name")
    journal = desk.journal()
    solution = desk.go(journal, ByNode(otherwise=ASKING), None, task=task(str(broken), str(file), "gone.py"))
    assert (solution.answer, solution.verified) == ("ROME", True)
    for name, why in ((str(broken), "nothing_of_that_name"), ("gone.py", "gone.py")):
        assert re.search(rf"the tools of {re.escape(name)} cannot be used: [^;]*{why}", solution.reason)
    assert ended(journal).evidence in solution.reason


def test_a_tool_with_a_schema_that_cannot_be_used_is_told_with_the_answer(desk: Desk) -> None:
    bad = Card("bad", "Bad.", {"type": "object", "properties": {"x": {"type": "nonsense"}}})
    box = ScriptedToolbox([ScriptedTool("bad", card=bad), scripted("look", lambda city: city.upper(), city="string")])
    solution = desk.go(desk.journal(), ByNode(otherwise=ASKING), box)
    assert solution.answer == "ROME"
    assert "the tool bad is left out: " in solution.reason
    with pytest.raises(UserError, match="there is no tool to work with: the tool bad is left out: "):
        desk.go(desk.journal(), ByNode(otherwise=ASKING), ScriptedToolbox([ScriptedTool("bad", card=bad)]))


def test_without_a_tool_left_there_is_one_sentence_and_no_run(desk: Desk) -> None:
    journal, model = desk.journal(), ByNode()
    with pytest.raises(UserError, match=r"there is no tool to work with: .*gone\.py") as caught:
        desk.go(journal, model, None, task=task("gone.py", "also gone.py"))
    assert "\n" not in str(caught.value)
    assert (journal.runs(), model.asked) == ([], [])


def test_a_question_that_names_no_tools_is_answered_without(desk: Desk) -> None:
    solution = desk.go(desk.journal(), ByNode(otherwise="final_answer(6 * 7)"), None)
    assert (solution.answer, solution.verified) == ("42", True)


def test_tools_that_were_python_functions_must_be_given_again(desk: Desk) -> None:
    journal, box = desk.journal(), ScriptedToolbox([scripted("look", lambda city: city.upper(), city="string")])
    given = task(f"{GIVEN}look", "tools.py")
    gone = Chatter([ModelUnavailable("gone")])
    with pytest.raises(ModelUnavailable):
        desk.go(journal, gone, box, task=given)
    with pytest.raises(UserError, match=r"were given in Python \(look\): take it up there, as in resume\(") as caught:
        desk.resume(journal, ByNode(otherwise=ASKING), None)
    assert "\n" not in str(caught.value)
    assert desk.resume(journal, ByNode(otherwise=ASKING), box).answer == "ROME"


def test_the_toolbox_is_closed_with_the_run_also_when_it_fails(desk: Desk) -> None:
    box = ScriptedToolbox([scripted("look", lambda city: city, city="string")])
    desk.go(desk.journal(), ByNode(otherwise=ASKING), box)
    assert (box.entered, box.sessions) == (False, 0)
    with pytest.raises(ModelUnavailable):
        desk.go(desk.journal(), Chatter([code(ASKING), ModelUnavailable("gone")]), box)
    assert (box.entered, box.sessions) == (False, 0)


def test_calls_of_tools_are_on_record_with_their_node(desk: Desk) -> None:
    journal, box = desk.journal(), ScriptedToolbox([scripted("look", lambda city: city.upper(), city="string")])
    solution = desk.go(journal, ByNode(otherwise=ASKING), box)
    called = tool_calls(events(journal))
    assert sorted((event.node, event.tool, event.arguments, event.result) for event in called) == [
        (f"0.{k}", "look", '{"city":"Rome"}', '"ROME"') for k in range(3)
    ]
    assert solution.usage.tool_calls == 3


def test_a_pure_tool_is_called_once_for_the_whole_tree(desk: Desk) -> None:
    box = ScriptedToolbox([scripted("look", lambda city: city.upper(), "pure", city="string")])
    assert desk.go(desk.journal(), ByNode(otherwise=f"x = look(city='Rome')\n{ASKING}"), box).usage.tool_calls == 1
    assert len(box.calls) == 1


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_budget_of_tool_calls_holds_with_programs_side_by_side(desk: Desk, limit: int) -> None:
    box = ScriptedToolbox([scripted("look", lambda k: 1, k="integer")])
    model = ByNode({"0.0": "final_answer('early')"}, "for k in range(9): look(k=k)\nfinal_answer('late')")
    solution = desk.go(desk.journal(), model, box, limits=Limits(tool_calls=limit), tools=ToolChoices(layers=1), parallel=3)
    assert len(box.calls) == solution.usage.tool_calls == limit
    assert (solution.ended, solution.reason.partition(";")[0]) == ("tool_calls", "the budget of tool calls is spent")


def test_more_tool_calls_may_be_allowed_later(desk: Desk) -> None:
    journal, box = desk.journal(), ScriptedToolbox([scripted("look", lambda k: k, k="integer")])
    model = ByNode(otherwise="for k in range(3): look(k=k)\nfinal_answer('done')")
    assert desk.go(journal, model, box, limits=Limits(tool_calls=2), tools=ALONE).ended == "tool_calls"
    solution = desk.resume(journal, ByNode(), box, limits=Limits(tool_calls=9))
    assert (solution.answer, solution.usage.tool_calls) == ("done", 5)


def test_taking_calls_back_is_on_record_and_costs_nothing_also_after_a_resume(desk: Desk) -> None:
    journal = desk.journal()
    box = ScriptedToolbox([scripted("hold", lambda: 7, "commit", undo=lambda: None)])
    solution = desk.go(journal, ByNode(otherwise="hold()\nraise KeyError"), box, tools=ToolChoices(layers=1))
    assert (len(box.calls), len(box.undone), solution.usage.tool_calls) == (3, 3, 3)
    assert past_of(journal, "run").spent == solution.usage


def test_what_could_not_be_taken_back_is_told_with_the_answer(desk: Desk) -> None:
    box = ScriptedToolbox([scripted("hold", lambda seat: 7, "commit", undo=failing("raised", "too late"), seat="integer")])
    solution = desk.go(desk.journal(), ByNode(otherwise="hold(seat=3)\nraise KeyError"), box, tools=ALONE)
    assert "hold called with {'seat': 3}: undoing it failed (raised): too late" in solution.reason


def facts_without_time(tree: Tree[Any, Any]) -> str:
    return re.sub(r"seconds=[\d.e-]+", "", str(facts(tree)))


def test_a_run_that_dies_after_any_event_pays_no_model_and_no_finished_node_twice(desk: Desk) -> None:
    model = ByNode({"0.1": "final_answer(look(city='Rome'))", "0.0.0": "final_answer('ROME')"}, "look(city='Oslo')\n1 / 0")
    box = ScriptedToolbox([scripted("look", lambda city: city.upper(), city="string")])
    whole = desk.journal()
    undisturbed = desk.go(whole, model, box, tools=ToolChoices(layers=2, width=2), parallel=1)
    record = events(whole)
    assert len(record) > 15
    for cut in range(1, len(record)):
        done = {event.node for event in record[:cut] if isinstance(event, NodeEvaluated)}
        replied = {event.node for event in record[:cut] if isinstance(event, ModelCalled)}
        model.asked.clear()
        box.calls.clear()
        solution = desk.resume(desk.cut(record[:cut]), model, box)
        assert facts_without_time(solution.tree) == facts_without_time(undisturbed.tree)
        assert (solution.answer, solution.verified) == (undisturbed.answer, undisturbed.verified)
        assert not {request.caller.node for request in model.asked} & replied, "what was replied is not asked again"
        assert not {node for node, _, _ in box.calls} & done, "what was carried out is not called again"


REFUSED = [
    ({"task": ToolTask(" \n")}, "the question is empty"),
    ({"preset": "small"}, "unknown preset 'small': choose one of paper, recommended"),
    ({"strategy": "codetree"}, "unknown strategy 'codetree': choose one of tree-of-code, codeact, react, code-program"),
    ({"tools": ToolChoices(layers=0)}, "layers is 0: give at least 1"),
    ({"tools": ToolChoices(width=-2)}, "width is -2: give at least 1"),
    ({"tools": ToolChoices(history="all")}, "unknown history 'all': choose one of full, summary"),  # type: ignore[arg-type]
    ({"tools": ToolChoices(commits="no")}, "unknown commits 'no': choose one of ask, yes, dry_run"),  # type: ignore[arg-type]
    ({"tools": ToolChoices(pool=["openai:m@http://me:secret@host/v1"])}, "the address of the server holds a password"),
    ({"tools": ToolChoices(prompts="no such folder")}, "there is no prompt (*.md) in no such folder"),
    ({"without": ("abort",)}, "tree-of-code has no abort to leave out"),
]


@pytest.mark.parametrize(("changes", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_what_makes_no_sense_is_refused_before_anything_is_recorded(desk: Desk, changes: dict[str, Any], says: str) -> None:
    journal, model = desk.journal(), ByNode()
    with pytest.raises(UserError, match=re.escape(says)) as caught:
        desk.go(journal, model, ScriptedToolbox(), **changes)
    assert "\n" not in str(caught.value)
    assert (journal.runs(), model.asked) == ([], [])


def test_a_model_that_goes_away_while_the_answer_is_worded_asks_nobody_else_and_can_be_resumed(desk: Desk) -> None:
    journal, model = desk.journal(), Chatter([*[code("final_answer(5)")] * 3, ModelUnavailable("gone")])
    with pytest.raises(ModelUnavailable, match="gone"):
        desk.go(journal, model, ScriptedToolbox(), preset="paper")
    assert len(model.asked) == 4
    assert (ended(journal).answer, ended(journal).finished, ended(journal).reason) == ("5", False, "gone")
    assert desk.resume(journal, Chatter(["It is 5."]), ScriptedToolbox()).answer == "It is 5."


def test_a_model_that_goes_away_in_the_middle_is_not_asked_to_word_what_is_there(desk: Desk) -> None:
    journal, model = desk.journal(), Chatter([code("final_answer(5)"), ModelUnavailable("gone"), "It is 5."])
    with pytest.raises(ModelUnavailable, match="gone"):
        desk.go(journal, model, ScriptedToolbox(), preset="paper", parallel=1)
    assert len(model.asked) == 2
    assert (ended(journal).answer, ended(journal).finished) == ("5", False)


def test_a_run_that_is_cancelled_asks_nobody_any_more(desk: Desk) -> None:
    journal, model = desk.journal(), Chatter([code("final_answer(5)"), code("import time; time.sleep(60)"), "It is 5."])

    async def cancel() -> None:
        from treewright.runs import start

        evaluated = asyncio.Event()
        run = start(
            replace(SPEC, preset="paper", parallel=1), journal=journal, run_id="run",
            sinks=[lambda event: evaluated.set() if isinstance(event, ModelCalled) and event.call == 2 else None],
            given=desk.given(model, ScriptedToolbox()),
        )  # fmt: skip
        going = asyncio.ensure_future(run.go())
        await evaluated.wait()
        await asyncio.sleep(0.1)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going

    asyncio.run(cancel())
    assert len(model.asked) == 2
    assert (ended(journal).answer, ended(journal).reason, ended(journal).finished) == ("5", "interrupted", False)


def test_a_run_starts_with_its_spec_on_record(desk: Desk) -> None:
    journal = desk.journal()
    desk.go(journal, ByNode(otherwise="final_answer(1)"), load_tools([]), tools=ALONE)
    first = events(journal)[0]
    assert isinstance(first, RunStarted)
    assert first.spec["tools"]["layers"] == 1
    assert first.spec["task"]["query"] == "How many?"
