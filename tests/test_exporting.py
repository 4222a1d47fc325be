"""Training data: which calls and programs become rows, that nothing private is in them, and that large runs fit into memory."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adding import ANSWER, TASK, Teller, block
from run_desk import REPLIES, Oracle, at_desk
from treewright.core.budget import Spend
from treewright.core.errors import JournalError, UserError
from treewright.core.events import Event, ModelCalled, NodeEvaluated, NodeExpanded, RunEnded, RunStarted
from treewright.core.task import ToolTask
from treewright.core.tree import Evaluation, Proposal, Verdict
from treewright.exporting import LICENCE, Row, export
from treewright.exporting.record import Recorded
from treewright.journal.base import PLAIN, Entry, Journal, Shapes
from treewright.journal.sqlite import SQLiteJournal
from treewright.opening import Given
from treewright.roles.tool_programs import ProgramRun
from treewright.runs import start
from treewright.spec import RunSpec, ToolChoices, plain_spec
from treewright.strategies.tree_of_code_settings import Draw, ProgramOutcome
from treewright.tools.loading import load_tools


def total(numbers: list[int]) -> int:
    """Their sum."""
    return sum(numbers)


def wrote(code: str, thought: str = "Think.") -> str:
    return f"{thought}\n<execute>\n{code}\n</execute>"


RIGHT, WRONG, CRASH = wrote("final_answer(total([2, 3]))"), wrote("final_answer(6)"), wrote("final_answer(total([2]) / 0)")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SQLiteJournal]:
    opened = SQLiteJournal(tmp_path / "own.db")
    yield opened
    opened.close()


def asked(journal: Journal, *replies: str, run: str = "run", **changes: Any) -> str:
    """A recorded run of Tree-of-Code, one program at a time."""
    task = ToolTask("What is 2 plus 3?", ("given:total",), "sum")
    usual: dict[str, Any] = {"task": task, "model": "teller", "strategy": "tree-of-code", "sandbox": "process"}
    given = Given(models=(Teller(replies),), toolbox=load_tools([total]))
    asyncio.run(start(RunSpec(**(usual | changes)), journal=journal, run_id=run, given=given).go())
    return run


def solved(folder: Path, **changes: Any) -> SQLiteJournal:
    """A recorded run of CodeTree: a program that fails, one that is doubted, one that is accepted."""
    with at_desk(folder) as desk:
        path = folder / "0.db"
        desk.solve(desk.journal(), **changes)
    return SQLiteJournal(path)


def rows(journal: Journal, form: Any, *runs: str, **settings: Any) -> list[Row]:
    return list(export(journal, runs or ("run",), form, **settings))


def replies(found: Sequence[Row]) -> list[str]:
    return [row["messages"][-1]["content"] for row in found]


def narrow(**changes: Any) -> ToolChoices:
    return replace(ToolChoices(layers=2, width=3, history="full", adaptive=False), **changes)


def test_sft_is_what_was_said_on_the_way_to_the_accepted_program(tmp_path: Path) -> None:
    journal = solved(tmp_path)
    found = rows(journal, "sft")
    assert all(row["messages"][-1]["role"] == "assistant" for row in found)
    assert [row["messages"][0]["role"] for row in found] == ["system"] * len(found)
    wanted = [reply for number, reply in enumerate(REPLIES) if number not in (1, 4)]  # programs that were not chosen
    assert replies(found) == wanted
    assert [row["metadata"]["role"] for row in found if row["metadata"]["node"] == "0.0.0.0"] == [
        "debugger",
        "critic.verification",
    ]
    assert found[0]["metadata"] == {
        "run_id": "run", "node": "0", "role": "thinker.strategies", "strategy": "codetree", "model": "teller", "task": "add",
        "score": None, "licence": LICENCE,
    }  # fmt: skip
    journal.close()


def test_sft_of_a_vote_keeps_the_programs_that_agree_with_it(journal: SQLiteJournal) -> None:
    other = wrote("final_answer(5.0)", "Another way.")
    asked(journal, WRONG, RIGHT, other, tools=narrow(layers=1))
    assert replies(rows(journal, "sft")) == [RIGHT, other]


def test_an_answer_in_other_words_is_counted_again(journal: SQLiteJournal) -> None:
    asked(journal, WRONG, RIGHT, RIGHT + " ", "It is five.", tools=narrow(layers=1), preset="paper")
    assert replies(rows(journal, "sft")) == [RIGHT, RIGHT + " ", "It is five."]


def test_a_reply_that_could_not_be_read_is_no_example(journal: SQLiteJournal) -> None:
    asked(journal, "I will not.", RIGHT, tools=narrow(layers=1, width=1))
    (row,) = rows(journal, "sft")
    assert row["messages"][-1]["content"] == RIGHT
    assert row["messages"][-3]["content"] == "I will not.", "it stands in what the second reply answers"


def test_what_could_not_be_read_at_all_is_no_example_either(tmp_path: Path) -> None:
    with at_desk(tmp_path) as desk:
        desk.model = Teller(("No idea.", "Still none.", block("a + b"), "It is right.\nTrue"))
        journal = desk.journal()
        desk.solve(journal)
        assert [row["metadata"]["role"] for row in rows(journal, "sft")] == ["solver", "critic.verification"]


def test_preference_sets_a_program_against_one_that_failed_under_the_same_messages(
    journal: SQLiteJournal, tmp_path: Path
) -> None:
    (tmp_path / "only.md").write_text("Write a program.")
    asked(journal, CRASH, RIGHT, RIGHT, tools=narrow(layers=1, prompts=str(tmp_path)))
    (row,) = rows(journal, "preference")
    assert row["chosen"] == [{"role": "assistant", "content": RIGHT}]
    assert row["rejected"] == [{"role": "assistant", "content": CRASH}]
    assert row["prompt"][0]["content"].startswith("Write a program.")
    told = row["metadata"]
    assert (told["pair"], told["node"], told["rejected_node"]) == ("same_prompt", "0.1", "0.0")
    assert (told["chosen_reward"], told["rejected_reward"]) == (1.0, 0.0)


def test_preference_falls_back_to_the_same_question(journal: SQLiteJournal) -> None:
    asked(journal, CRASH, RIGHT, tools=narrow(width=1))
    (row,) = rows(journal, "preference")
    assert (row["metadata"]["pair"], row["metadata"]["node"]) == ("same_question", "0.0.0")
    (question,) = row["prompt"]
    assert question["content"].endswith("Question:\nWhat is 2 plus 3?")
    assert "def total" in question["content"] or "total(numbers" in question["content"]
    assert row["chosen"][0]["content"] == "```python\nfinal_answer(total([2, 3]))\n```"
    assert row["rejected"][0]["content"] == "```python\nfinal_answer(total([2]) / 0)\n```"


def test_preference_of_programs_for_tests(tmp_path: Path) -> None:
    journal = solved(tmp_path)
    (row,) = rows(journal, "preference")
    assert "Write a Python function `add(a, b)`" in row["prompt"][0]["content"]
    assert row["chosen"][0]["content"] == f"```python\n{ANSWER}```"
    assert row["rejected"][0]["content"] == "```python\ndef add(a, b):\n    return a - b\n```"
    assert row["metadata"]["rejected_reward"] == pytest.approx(1 / 3, abs=1e-6)
    journal.close()


def test_without_a_right_program_there_is_no_pair(journal: SQLiteJournal) -> None:
    asked(journal, CRASH, CRASH + " ", wrote("1/0"), tools=narrow(layers=1))
    assert rows(journal, "preference") == []
    assert rows(journal, "sft") == []
    assert len(rows(journal, "reward")) == 3


def test_reward_is_what_the_execution_came_to(journal: SQLiteJournal, tmp_path: Path) -> None:
    asked(journal, CRASH, RIGHT, "no program", "no program", tools=narrow(layers=1))
    failed, right, nothing = rows(journal, "reward")
    assert (failed["reward"], failed["program"], failed["completion"]) == (0.0, "final_answer(total([2]) / 0)", CRASH)
    assert failed["outcome"]["status"] == "error"
    assert "ZeroDivisionError" in failed["outcome"]["error"]
    assert (right["reward"], right["outcome"]) == (1.0, {"status": "ok", "result": "5", "error": ""})
    assert (nothing["reward"], nothing["program"]) == (0.0, "")
    journal_of_code = solved(tmp_path)
    assert [row["reward"] for row in rows(journal_of_code, "reward")] == [pytest.approx(1 / 3, abs=1e-6), 1.0, 1.0]
    first = rows(journal_of_code, "reward")[0]
    assert first["outcome"]["status"] == "fail"
    assert "Passed 1 of 3 tests." in first["outcome"]["result"]
    journal_of_code.close()


def test_without_tests_nothing_says_which_program_is_right(tmp_path: Path) -> None:
    talk = (block("a + b"), "It is right.\nTrue")
    with at_desk(tmp_path) as desk:
        desk.model = Teller(talk)
        journal = desk.journal()
        desk.solve(journal, task=replace(TASK, tests=()), strategy="direct")
        desk.model = Oracle()
        other = desk.journal()
        desk.solve(other, task=replace(TASK, tests=()), seed=1)
        assert len(Recorded(other, "run").past.tree.nodes) > 3
        for one in (journal, other):
            assert rows(one, "reward") == []
            assert rows(one, "preference") == []


def test_turns_are_exported_as_the_one_path_they_are(journal: SQLiteJournal) -> None:
    look = wrote("print(total([1]))")
    asked(journal, look, RIGHT, strategy="codeact")
    assert replies(rows(journal, "sft")) == [look, RIGHT]
    assert [row["reward"] for row in rows(journal, "reward")] == [1.0, 1.0]
    assert rows(journal, "preference") == []


def test_no_row_comes_twice_and_the_order_is_that_of_the_runs(journal: SQLiteJournal) -> None:
    asked(journal, RIGHT, tools=narrow(layers=1, width=1), run="one")
    asked(journal, RIGHT, tools=narrow(layers=1, width=1), run="two")
    asked(journal, RIGHT + " ", tools=narrow(layers=1, width=1), run="three")
    assert [row["metadata"]["run_id"] for row in rows(journal, "sft", "two", "three", "one", "two")] == ["two", "three"]
    assert rows(journal, "reward", "one", "two", "three") == rows(journal, "reward", "one", "two", "three")


def test_secrets_and_machine_paths_are_not_in_the_rows(journal: SQLiteJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    home, secret = str(Path.home()), "s3cr3t-value-of-mine"
    reply = wrote(f"final_answer(5)  # {secret} sk-abcdefgh1234567890 {home}/notes.txt Bearer abcdef123456")
    asked(journal, CRASH, reply, tools=narrow(width=1), task=ToolTask(f"Sum? {secret}", (), f"sum {secret}"))
    assert secret in json.dumps([event.reply for event in events(journal) if isinstance(event, ModelCalled)])
    monkeypatch.setenv("SOME_API_KEY", secret)
    for form in ("sft", "preference", "reward"):
        text = json.dumps(rows(journal, form))
        assert text != "[]"
        for private in (secret, "sk-abcdefgh", f"{home}/", "abcdef123456"):
            assert private not in text, (form, private)
        assert "[secret]" in text


def test_the_address_of_a_server_is_not_in_the_rows(journal: SQLiteJournal) -> None:
    asked(journal, RIGHT, tools=narrow(layers=1, width=1))
    named = "openai:mine@http://10.0.0.7:8000/v1"
    some = [replace(event, model=named) if isinstance(event, ModelCalled) else event for event in events(journal)]
    for event in some:
        journal.append("other", event)
    (row,) = rows(journal, "sft", "other")
    assert row["metadata"]["model"] == "openai:mine"


def test_the_licence_is_what_the_user_says(journal: SQLiteJournal) -> None:
    asked(journal, CRASH, RIGHT, tools=narrow(width=1))
    for form in ("sft", "preference", "reward"):
        assert {row["metadata"]["licence"] for row in rows(journal, form)} == {LICENCE}
        assert {row["metadata"]["licence"] for row in rows(journal, form, licence="CC0")} == {"CC0"}


def test_a_run_that_never_ended_gives_what_it_has(journal: SQLiteJournal) -> None:
    asked(journal, CRASH, RIGHT, RIGHT + " ", tools=narrow(layers=1))
    some = [event for event in events(journal) if not isinstance(event, RunEnded)]
    for event in some[:-1]:
        journal.append("killed", event)
    assert len(rows(journal, "reward", "killed")) == 2
    assert replies(rows(journal, "sft", "killed")) == [RIGHT]
    journal.append("begun", some[0])
    assert rows(journal, "sft", "begun") == []


def test_a_run_that_is_not_there_or_not_known_is_one_sentence(journal: SQLiteJournal) -> None:
    with pytest.raises(UserError, match="no run 'none' in this journal"):
        rows(journal, "sft", "none")
    asked(journal, RIGHT, tools=narrow(layers=1, width=1))
    begun = events(journal)[0]
    assert isinstance(begun, RunStarted)
    journal.append("newer", RunStarted(begun.spec | {"strategy": "forest"}))
    with pytest.raises(JournalError, match="the run newer is of the strategy 'forest', which this version does not know"):
        rows(journal, "sft", "newer")


def events(journal: Journal, run: str = "run") -> list[Event]:
    from treewright.assembly import PROGRAMS

    return [entry.event for entry in journal.read(run, PROGRAMS)]


class Wide:
    """A journal with one run of `width` programs, half of them right, made up event by event as it is read.

    Args:
        width: programs.
        padding: characters of each call's messages.
    """

    def __init__(self, width: int, padding: int) -> None:
        self._width, self._padding = width, padding

    def read(self, run: str, shapes: Shapes = PLAIN) -> Iterator[Entry]:
        for seq, event in enumerate(self._events(), 1):
            yield Entry(seq, 0.0, event)

    def _events(self) -> Iterator[Event]:
        spec = RunSpec(task=ToolTask("Sum?", ("given:total",)), model="teller", strategy="tree-of-code")
        yield RunStarted(plain_spec(spec))
        yield NodeExpanded("0", tuple(Proposal(Draw(0, "plan")) for _ in range(self._width)))
        for number in range(self._width):
            node, right = f"0.{number}", number % 2 == 0
            told = f"{number} " + "x" * self._padding
            yield ModelCalled(
                number, node, "programmer", 0, "", "teller", (("user", told),), wrote(f"f({number})"), spent=Spend()
            )
            run = ProgramRun("ok", "5") if right else ProgramRun("error", error="no")
            verdict = Evaluation(float(right), Verdict.KEEP)
            yield NodeEvaluated(node, ProgramOutcome("", f"f({number})", run), verdict)

    def append(self, run: str, event: Event) -> None: ...

    def runs(self) -> list[Any]:
        return []

    def close(self) -> None: ...


def peak(work: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("form", "count"), [("sft", 1000), ("preference", 1000), ("reward", 2000)])
def test_a_large_run_needs_little_more_than_its_tree(form: Any, count: int) -> None:
    journal = Wide(2000, padding=20_000)  # 40 MB of messages
    tree = peak(lambda: Recorded(journal, "run"))
    found = 0

    def write() -> None:
        nonlocal found
        found = sum(1 for _ in export(journal, ["run"], form))

    assert peak(write) < tree + 4_000_000
    assert found == count
