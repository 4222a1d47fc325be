"""What a search looks like: a tree that is drawn on a terminal, plain lines elsewhere."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adding import ANSWER, TALK, TASK, TOML, rows, write_script
from command import COMMAND, environment
from run_desk import SPEC
from treewright.cli.live import plain_line, window
from treewright.core.budget import Spend
from treewright.core.events import BudgetChanged, Event, ModelCalled, NodeEvaluated, NodeExpanded, ProgramRan
from treewright.core.tree import Evaluation, Proposal, Verdict
from treewright.journal.sqlite import SQLiteJournal
from treewright.runs import Run, start
from treewright.sandbox.judging.report import Report, TestResult
from treewright.strategies.codetree_settings import CodeAction, CodeOutcome

PASSED = CodeOutcome("x", Report((TestResult("a", "pass"), TestResult("b", "fail"))))
CRASHED = CodeOutcome("x", Report((), error="Traceback\nValueError: no"))


def call(error: str) -> ModelCalled:
    return ModelCalled(1, "0.1", "solver", 0, "d", "m", (), None if error else "r", error)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (NodeExpanded("0", (Proposal(CodeAction("a")),) * 3), "node 0: 3 to try"),
        (NodeEvaluated("0.1", PASSED, Evaluation(0.5, Verdict.EXPAND)), "node 0.1: 1/2 tests, score 0.50, to refine"),
        (NodeEvaluated("0.1", PASSED, Evaluation(1.0, Verdict.ACCEPT)), "node 0.1: 1/2 tests, score 1.00, accepted"),
        (NodeEvaluated("0.1", PASSED, Evaluation(0.5, Verdict.KEEP, opinion=False)),
         "node 0.1: 1/2 tests, score 0.50, no opinion, kept"),
        (NodeEvaluated("0.1", CRASHED, Evaluation(0.0, Verdict.PRUNE)),
         "node 0.1: 0/0 tests, score 0.00, given up, ValueError: no"),
        (call("rate: slow down"), "node 0.1: solver failed: rate: slow down"),
        (call(""), ""),
        (ProgramRan("0.1", "process", 1, 2, 0.5), ""),
        (BudgetChanged(1, Spend()), ""),
    ],
)  # fmt: skip
def test_what_is_worth_a_line(event: Event, line: str) -> None:
    assert plain_line(event) == line


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteJournal]:
    with closing(SQLiteJournal(tmp_path_factory.mktemp("live") / "j.db")) as journal:
        yield journal


def a_run(widths: Sequence[int], journal: SQLiteJournal) -> Run:
    """A run whose tree has grown: each number expands the oldest open node and judges its children."""
    run = start(SPEC, journal=journal)
    ahead = [run.tree.root]
    for width in widths:
        if not ahead:
            break
        node = ahead.pop(0)
        run.tree.expand(node, [Proposal(CodeAction(f"{node.id} idea {index}")) for index in range(width)])
        for index, child in enumerate(node.children):
            if index % 3 != 2:
                run.tree.record(child, PASSED, Evaluation(index / 10, Verdict.EXPAND))
                ahead.append(child)
    return run


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 30))
def test_a_window_shows_no_more_than_fits_and_every_node_below_its_parents(
    journal: SQLiteJournal, widths: list[int], most: int
) -> None:
    run = a_run(widths, journal)
    shown = window(run, most)
    assert len(shown) <= most
    assert shown == sorted(shown, key=lambda node: node.path)
    ids = {node.id for node in shown}
    assert "0" in ids
    assert all(node.parent is None or node.parent.id in ids for node in shown)
    if len(run.tree.nodes) <= most:
        assert len(shown) == len(run.tree.nodes)


def on_a_terminal(command: Sequence[str], folder: Path, *, rows: int = 24, columns: int = 90) -> tuple[int, str, str]:
    """Run a command whose standard error is a terminal: exit status, standard output, and what the terminal got."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    variables = environment(TERM="xterm-256color", TREEWRIGHT_JOURNAL=str(folder / "own.db"))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, cwd=folder, env=variables, text=True) as process:
        os.close(theirs)
        got = b""
        with suppress(OSError):  # what a terminal gives when nobody holds its other end any more
            while more := os.read(ours, 65536):
                got += more
        os.close(ours)
        assert process.stdout is not None
        out = process.stdout.read()
    return process.returncode, out, got.decode()


def test_on_a_terminal_the_tree_is_drawn_and_its_last_state_stays(tmp_path: Path) -> None:
    (tmp_path / "add.toml").write_text(TOML)
    write_script(tmp_path / "talk.jsonl", rows(latency_s=0.15))
    command = [*COMMAND, "solve", "add.toml", "--model", "scripted:talk.jsonl", "--sandbox", "process"]
    status, out, got = on_a_terminal(command, tmp_path)
    assert (status, out) == (0, ANSWER)
    frames = got.split("\x1b[2K")
    assert len(frames) > 10, "it is drawn again and again"
    assert any("▶" in frame for frame in frames), "with what is at work"
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", got).replace("\r", "")
    last = plain[plain.rindex("● 0  problem") :].splitlines()
    assert [line.strip() for line in last[:6]] == [
        "● 0  problem",
        "● 0.0  1/3  0.45  (no strategy)",
        "● 0.0.0  3/3  1.00  Use plus instead of minus.",
        "✔ 0.0.0.0  3/3  1.00  Put the second number first.",
        "○ 0.1  Subtract the second number from the first.",
        "○ 0.2  Multiply the two numbers.",
    ]
    assert "verified: accepted; node 0.0.0.0" in " ".join(last)
    assert "\x1b[?25h" in got, "the cursor is shown again"
    assert got.rindex("\x1b[?25h") > got.rindex("\x1b[?25l")
    assert TASK.name in plain
    assert f"{len(TALK)} calls" in plain
