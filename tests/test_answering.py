"""`answer`: a question answered with tools, in one call from Python."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from scripted_tools import ScriptedToolbox
from tools_desk import ByNode, Chatter, code, scripted
from treewright import ToolChoices, ToolTask, answer, answer_async, tool
from treewright.answering import EXECUTIONS, ToolAnswer, own_tools, plain_task
from treewright.core.budget import Limits
from treewright.core.errors import ModelUnavailable, UserError
from treewright.core.events import Event, RunStarted
from treewright.journal.sqlite import SQLiteJournal
from treewright.opening import Given
from treewright.runs import resume
from treewright.tools.loading import load_tools


def look(city: str) -> str:
    """Look at a city."""
    return city.upper()


@tool
class Notebook:
    """Remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> int:
        """Write a line."""
        self.lines.append(line)
        return len(self.lines)


ASKING = "final_answer(look(city='Rome'))"


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., ToolAnswer]:
    def ask(program: str, *tools: object, **settings: Any) -> ToolAnswer:
        usual: dict[str, Any] = {"model": ByNode(otherwise=program), "sandbox": "process", "journal": tmp_path / "j.db"}
        return answer(ToolTask("How many?", tools), **usual | settings)

    return ask


Ask = Callable[..., ToolAnswer]


def test_functions_are_tools(ask: Ask) -> None:
    found = ask(ASKING, look)
    assert (found.text, found.verified, found.ended) == ("ROME", True, "exhausted")
    assert (found.layers, found.programs, found.usage.tool_calls) == (1, 3, 3)
    assert found.output_words == 3 * len(f"I think. {ASKING}".split())
    assert found.reason == "nothing was left to try; 3 of 3 programs that ran to their end say so"


def test_functions_classes_files_and_toolboxes_are_tools_side_by_side(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "more.py"
    file.write_text('def twice(x: int) -> int:\n    """Twice."""\n    return 2 * x\n')
    program = "final_answer([look(city='a'), note(line='x'), note(line='y'), twice(x=4), far()])"
    box = ScriptedToolbox([scripted("far", lambda: "away")])
    assert ask(program, look, Notebook, str(file), box).text == '["A", 1, 2, 8, "away"]'
    assert ask("final_answer(twice(x=1))", file).text == "2", "a path is a source too"


def test_each_program_has_a_notebook_of_its_own(ask: Ask) -> None:
    assert "3 of 3" in ask("final_answer(note(line='x'))", Notebook).reason


def test_a_function_that_cannot_be_a_tool_is_one_sentence_and_no_run(ask: Ask, tmp_path: Path) -> None:
    def untyped(x):  # type: ignore[no-untyped-def]  # that is the mistake
        return x

    with pytest.raises(UserError, match="untyped") as caught:
        ask("1", untyped)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "j.db").exists()


def test_a_source_that_is_lost_is_told_and_all_lost_is_an_error(ask: Ask) -> None:
    found = ask(ASKING, look, "gone.py")
    assert found.text == "ROME"
    assert "the tools of gone.py cannot be used: " in found.reason
    with pytest.raises(UserError, match="there is no tool to work with: "):
        ask(ASKING, "gone.py")


def test_settings_reach_the_run(ask: Ask, tmp_path: Path) -> None:
    found = ask("1 / 0", look, choices=ToolChoices(layers=2, width=2, adaptive=False), seed=5, parallel=2, preset="paper")
    assert (found.text, found.verified, found.layers, found.programs) == ("", False, 2, 6)
    with closing(SQLiteJournal(tmp_path / "j.db")) as journal:
        spec = journal.runs()[0].spec
    assert (spec["seed"], spec["parallel"], spec["preset"], spec["tools"]["width"]) == (5, 2, "paper", 2)
    assert (spec["model"], spec["sandbox"], spec["task"]["tools"]) == ("chatter", "process", ["given:look"])


def test_the_budget_is_the_whole_tree_unless_told_otherwise(ask: Ask) -> None:
    signature = inspect.signature(answer_async).parameters
    assert signature["budget"].default == EXECUTIONS == 3 + 9 + 27
    assert ask("1 / 0", look, budget=2).programs == 2
    assert ask("1 / 0", look, budget=Limits(executions=1)).ended == "executions"


def test_calls_that_are_not_taken_back_are_asked_about_or_refused(ask: Ask) -> None:
    async def allow(card: object, arguments: object) -> bool:
        return True

    for settings, sent in (({}, 0), ({"allow": allow}, 1), ({"choices": ToolChoices(commits="yes")}, 1)):
        box = ScriptedToolbox([scripted("send", lambda: "sent", "commit")])
        ask("send()\nfinal_answer(1)", toolbox=box, **settings)
        assert len(box.calls) == sent


def test_sinks_see_what_happens_and_an_open_journal_stays_open(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, closed = list[Event](), list[object]()
    close = SQLiteJournal.close

    def noted(journal: SQLiteJournal) -> None:
        closed.append(journal)
        close(journal)

    monkeypatch.setattr(SQLiteJournal, "close", noted)
    with closing(SQLiteJournal(tmp_path / "mine.db")) as journal:
        found = ask(ASKING, look, journal=journal, sinks=[seen.append])
        assert not closed
        assert journal.runs()[0].run == found.run_id
    assert isinstance(seen[0], RunStarted)


def test_inside_a_running_loop_it_says_what_to_await(ask: Ask, tmp_path: Path) -> None:
    async def inside() -> ToolAnswer:
        with pytest.raises(RuntimeError, match="await answer_async"):
            ask(ASKING, look)
        model = ByNode(otherwise=ASKING)
        return await answer_async(ToolTask("How many?", [look]), model=model, sandbox="process", journal=tmp_path / "j.db")

    assert asyncio.run(inside()).text == "ROME"


def test_without_a_model_it_is_the_environments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "talk.jsonl"
    script.write_text('{"reply": "<execute>final_answer(4)</execute>"}\n')
    monkeypatch.setenv("TREEWRIGHT_MODEL", f"scripted:{script}")
    found = answer(ToolTask("How many?"), strategy="code-program", sandbox="process", journal=tmp_path / "j.db")
    assert (found.text, found.verified) == ("4", True)


def test_the_record_has_the_names_of_tools_that_no_text_can_say() -> None:
    assert plain_task(ToolTask("q", [look, Notebook, "tools.py", Path("a/b.py")])).tools == (
        "given:look", "given:Notebook", "tools.py", "a/b.py",
    )  # fmt: skip
    assert plain_task(ToolTask("q", [ScriptedToolbox()])).tools == ("given:ScriptedToolbox",)
    assert own_tools(ToolTask("q", ["tools.py"])) is None
    assert own_tools(ToolTask("q", [look, "tools.py"])) is not None


@pytest.mark.parametrize("how", ["functions", "toolbox"])
def test_a_run_with_tools_from_python_is_taken_up_in_python_with_the_same_tools(ask: Ask, tmp_path: Path, how: str) -> None:
    tools: dict[str, Any] = {"toolbox": load_tools([look])} if how == "toolbox" else {}
    gone = Chatter([ModelUnavailable("gone")])
    with pytest.raises(ModelUnavailable):
        ask("", *([] if tools else [look]), model=gone, **tools)
    with closing(SQLiteJournal(tmp_path / "j.db")) as journal:
        run, model = journal.runs()[0].run, ByNode(otherwise=ASKING)
        name = "Combined" if tools else "look"
        with pytest.raises(UserError, match=rf"given in Python \({name}\)"):
            asyncio.run(resume(run, journal=journal, given=Given(models=(model,))).go())
        solution = asyncio.run(resume(run, journal=journal, given=Given(models=(model,), toolbox=load_tools([look]))).go())
    assert solution.answer == "ROME"


@pytest.mark.parametrize("question", ["東京の気温は何度ですか？", "كم درجة الحرارة في القاهرة؟", "🌦 in Łódź?\u202e\x00"])
def test_a_question_in_any_script_reaches_the_model_and_the_answer_comes_back(tmp_path: Path, question: str) -> None:
    model = Chatter([code("final_answer(look(city='straße 東京 🌧'))")] * 3)
    found = answer(ToolTask(question, [look]), model=model, sandbox="process", journal=tmp_path / "j.db")
    assert found.text == "STRASSE 東京 🌧"
    assert question in model.asked[0].messages[-1].text
    with closing(SQLiteJournal(tmp_path / "j.db")) as journal:
        assert journal.runs()[0].spec["task"]["query"] == question
