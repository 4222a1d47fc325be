"""How nodes and costs look."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.cli.printing import costs, node_line, usage, visible
from treewright.core.budget import Spend
from treewright.core.tree import Evaluation, Proposal, Tree, Verdict
from treewright.sandbox.judging.report import Report, TestResult
from treewright.strategies.codetree_settings import CodeAction, CodeNode, CodeOutcome


def node(idea: str = "Use plus.", *verdicts: Verdict, passed: int = 1, opinion: bool = True) -> CodeNode:
    """A node of depth 1 with two tests; executed and judged if a verdict is given."""
    tree: Tree[CodeAction, CodeOutcome] = Tree()
    tree.expand(tree.root, [Proposal(CodeAction(idea))])
    made = tree.nodes["0.0"]
    for verdict in verdicts:
        report = Report(tuple(TestResult(f"t{i}", "pass" if i < passed else "fail") for i in range(2)))
        tree.record(made, CodeOutcome("x", report), Evaluation(0.5, verdict, opinion=opinion))
    return made


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (node(), "   ○ 0.0  Use plus."),
        (node(""), "   ○ 0.0  (no strategy)"),
        (node("Use plus.", Verdict.EXPAND), "   ◐ 0.0  1/2  0.50  Use plus."),
        (node("Use plus.", Verdict.KEEP, passed=2), "   ● 0.0  2/2  0.50  Use plus."),
        (node("Use plus.", Verdict.PRUNE, passed=0), "   ✕ 0.0  0/2  0.50  Use plus."),
        (node("Use plus.", Verdict.ACCEPT), "   ✔ 0.0  1/2  0.50  Use plus."),
        (node("Use plus.", Verdict.KEEP, opinion=False), "   ● 0.0  1/2  0.50 (no opinion)  Use plus."),
        (node("two\nlines"), "   ○ 0.0  two lines"),
    ],
)
def test_a_node_is_one_line(made: CodeNode, line: str) -> None:
    assert node_line(made).plain == line


def test_a_node_at_work_is_marked() -> None:
    made = node()
    made.running = True
    assert node_line(made).plain.startswith("   ▶ 0.0")


@given(st.text(st.characters(), max_size=300), st.integers(20, 200))
def test_a_line_fits_and_holds_nothing_that_steers_a_terminal(idea: str, width: int) -> None:
    line = node_line(node(idea), width)
    assert line.cell_len <= width
    assert not any((ord(c) < 32 and c != "\t") or 127 <= ord(c) < 160 for c in line.plain)


@given(st.text(st.characters()))
def test_what_is_made_visible_keeps_its_length_and_its_printable_characters(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    assert all(a == b or not b.isprintable() for a, b in zip(shown, text, strict=True))


@pytest.mark.parametrize(
    ("spent", "words"),
    [
        (Spend(), "0 executions, 0 calls, 0 tokens, 0.0 s"),
        (Spend(executions=1, calls=1, tokens=1204, seconds=12.34), "1 execution, 1 call, 1,204 tokens, 12.3 s"),
        (Spend(executions=3, calls=7, tokens=5, dollars=0.0012), "3 executions, 7 calls, 5 tokens, $0.0012, 0.0 s"),
    ],
)
def test_costs_in_words(spent: Spend, words: str) -> None:
    assert costs(spent) == words


def test_costs_for_programs() -> None:
    told = usage(Spend(1, 2, 3, 4, 0.12345678, 5.55555))
    assert told == {"executions": 1, "calls": 2, "tool_calls": 3, "tokens": 4, "dollars": 0.123457, "seconds": 5.556}
