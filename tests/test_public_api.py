"""What the package offers: every name is there, typed, and costs nothing until it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import treewright
from adding import TASK, rows, write_script

ROOT = Path(__file__).parent.parent

USE = """
import asyncio
from pathlib import Path

from treewright import (
    CodeTask, Example, JournalError, Limits, ModelUnavailable, Run, RunSpec, SandboxUnavailable, Solution, Spend,
    TreewrightError, UserError, resume, solve, solve_async, start,
)

task = CodeTask("Write add(a, b).", tests=["assert add(1, 2) == 3"], entry_point="add")
whole: CodeTask = CodeTask("Echo.", examples=[Example("1\\n", "1\\n")])


def sync() -> str:
    try:
        solution: Solution = solve(task, model="openai:gpt-4o-mini", budget=Limits(executions=5, dollars=0.1), parallel=2)
    except (UserError, ModelUnavailable, SandboxUnavailable, JournalError) as error:
        status: int = error.exit_status
        ours: TreewrightError = error
        return f"{ours} {status}"
    spent: Spend = solution.usage
    for node in solution.tree.nodes.values():
        if node.outcome is not None:
            passed: int = node.outcome.report.passed
            print(node.id, node.action.idea, node.outcome.program, passed)
    return solution.answer if solution.verified else f"{spent.executions} {spent.dollars}"


async def waiting() -> bool:
    solutions = await asyncio.gather(solve_async(task, journal=Path("j.db")), solve_async(whole, preset="paper"))
    return all(solution.solved for solution in solutions)


def run(spec: RunSpec) -> Run:
    from treewright.journal.places import open_journal

    journal = open_journal(Path("j.db"))
    return resume(start(spec, journal=journal).id, journal=journal, limits=Limits(tokens=1000))
"""
MISUSE = """
from treewright import CodeTask, solve

solution = solve(CodeTask("x"), budget="many")
solution.anwser
solve("a prompt")
solve(CodeTask("x"), preset="best")
CodeTask("x").hidden_tests
"""


def test_every_name_that_is_offered_is_there() -> None:
    assert sorted(treewright.__all__) == list(treewright.__all__)
    for name in treewright.__all__:
        thing = getattr(treewright, name)
        assert thing.__name__ == name
        assert thing.__doc__
        assert thing.__module__.startswith("treewright.")


def test_what_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="module 'treewright' has no attribute 'slove'"):
        _ = treewright.slove


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert treewright.__version__ == version("treewright")


def mypy(folder: Path, code: str) -> tuple[int, str]:
    (folder / "use.py").write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(ROOT / ".mypy_cache" / "use")]
    done = subprocess.run([*command, "use.py"], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_typed_use_passes_a_type_checker_and_misuse_does_not(tmp_path: Path) -> None:
    status, said = mypy(tmp_path, USE)
    assert (status, said) == (0, "")
    status, said = mypy(tmp_path, MISUSE)
    wrong = {int(line.split(":")[1]) for line in said.splitlines() if "error:" in line}
    assert (status, wrong) == (1, {4, 5, 6, 7, 8})


def test_five_lines_solve_a_task(tmp_path: Path) -> None:
    model = write_script(tmp_path / "talk.jsonl", rows())
    code = f"""
from treewright import CodeTask, solve
task = CodeTask("Write a Python function `add(a, b)`.", tests={list(TASK.tests)!r})
solution = solve(task, model={model!r}, sandbox="process", journal={str(tmp_path / "j.db")!r})
print(solution.verified, solution.answer)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True def add(a, b):\n    return b + a\n\n"
    assert done.stderr == ""
