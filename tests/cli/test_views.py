"""How the nodes of each kind of search are shown."""

from __future__ import annotations

from typing import Any

import pytest

from treewright.cli.printing import node_line
from treewright.cli.views import Section, fields, good, result, sections, summary, title
from treewright.core.tree import Evaluation, Proposal, Tree, Verdict
from treewright.roles.tool_programs import ProgramRun
from treewright.sandbox.judging.report import Report, TestResult
from treewright.strategies.codetree_settings import CodeAction, CodeOutcome
from treewright.strategies.tree_of_code_settings import Draw, ProgramNode, ProgramOutcome, ProgramTree
from treewright.tools.planning import Planned

RAN = ProgramRun("ok", "22.0", "seen\n", calls=2, planned=(Planned(1, "send", {"to": "ann"}),), final=True)
RIGHT = ProgramOutcome("I look.", "final_answer(22.0)\n", RAN)
WRONG = ProgramOutcome("", "1 / 0", ProgramRun("error", error="Traceback:\n  1 / 0\n  ~~^~~\nZeroDivisionError: no", calls=1))
NONE = ProgramOutcome("", "", ProgramRun("error", error="the model wrote no program"))
SILENT = ProgramOutcome("", "pass", ProgramRun("ok"))
CODE = CodeOutcome("def f(): ...\n", Report((TestResult("a", "pass"), TestResult("b", "fail", expected="1", actual="2"))))


PLAN = Draw(0, "plan")


PLAN = Draw(0, "plan")


def node(outcome: ProgramOutcome | None = None, draw: Draw = PLAN) -> ProgramNode:
    tree: ProgramTree = Tree()
    tree.expand(tree.root, [Proposal(draw)])
    made = tree.nodes["0.0"]
    if outcome is not None:
        tree.record(made, outcome, Evaluation(1.0, Verdict.KEEP))
    return made


def test_a_title_says_what_a_node_tries() -> None:
    assert title(node()) == "prompt plan"
    assert title(node(draw=Draw(2, "plan"))) == "prompt plan, model 3"
    made = node()
    assert made.parent is not None
    assert title(made.parent) == "problem"
    other: Tree[Any, Any] = Tree()
    other.expand(other.root, [Proposal(CodeAction("Use plus.")), Proposal("plain")])
    assert [title(child) for child in other.root.children] == ["Use plus.", "plain"]


@pytest.mark.parametrize(
    ("outcome", "shown", "clause", "fine"),
    [
        (RIGHT, ("= 22.0", "green"), ("= 22.0 after 2 tool calls", ""), True),
        (WRONG, ("error", "red"), ("error after 1 tool call", "ZeroDivisionError: no"), False),
        (NONE, ("error", "red"), ("error after 0 tool calls", "the model wrote no program"), False),
        (SILENT, ("no answer", "yellow"), ("no answer after 0 tool calls", ""), False),
        (CODE, ("1/2", "yellow"), ("1/2 tests", ""), False),
        ("plain", ("", ""), ("done", ""), False),
    ],
)
def test_a_result_is_a_word_and_a_clause(outcome: object, shown: object, clause: tuple[str, str], fine: bool) -> None:
    assert result(outcome) == shown
    said, telling = summary(outcome)
    assert said == clause[0]
    assert telling == clause[1] or outcome is CODE
    assert good(outcome) is fine


def test_a_long_answer_is_one_short_line() -> None:
    word, _ = result(ProgramOutcome("", "x", ProgramRun("ok", "first line\n" + "word " * 50)))
    assert word.startswith("= first line word")
    assert len(word) <= 62
    assert word.endswith("…")
    assert "\n" not in word


def test_a_line_of_a_tree_cannot_steer_a_terminal() -> None:
    line = node_line(node(ProgramOutcome("", "x", ProgramRun("ok", "\x1b[2K 東京")), Draw(0, "pl\x07an"))).plain
    assert not [letter for letter in line if ord(letter) < 32]
    assert "東京" in line


def test_sections_hold_all_there_is_to_read() -> None:
    assert sections(RIGHT) == [
        Section("thoughts", "I look."),
        Section("program", "final_answer(22.0)", "python"),
        Section("result", "It printed:\nseen\nIt gave this final answer: 22.0"),
        Section("noted calls", "send({'to': 'ann'})"),
    ]
    assert [section.heading for section in sections(NONE)] == ["result"]
    assert [section.heading for section in sections(CODE)] == ["program", "tests"]
    assert sections("plain") == sections(None) == []


def test_json_has_what_is_particular_to_the_kind_of_search() -> None:
    told = fields(node(RIGHT, Draw(1, "plan")))
    assert told["draw"] == {"model": 1, "prompt": "plan"}
    assert (told["thought"], told["run"]["answer"], told["run"]["planned"][0]["tool"]) == ("I look.", "22.0", "send")
    assert fields(node()) == {"draw": {"model": 0, "prompt": "plan"}}
    other: Tree[CodeAction, CodeOutcome] = Tree()
    other.expand(other.root, [Proposal(CodeAction("Use plus."))])
    assert fields(other.nodes["0.0"]) == {"idea": "Use plus.", "program": None, "tests": None}
    other.record(other.nodes["0.0"], CODE, Evaluation(0.5, Verdict.KEEP))
    assert fields(other.nodes["0.0"])["program"] == "def f(): ...\n"
