"""The example tasks are sound: a right program passes all their tests, a wrong one does not, and nothing hidden is visible."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from treewright.bench.hidden import graded_task, load_hidden
from treewright.cli.tasks import load_task
from treewright.core.task import CodeTask
from treewright.sandbox.harness import run_tests
from treewright.sandbox.process import ProcessSandbox

ROOT = Path(__file__).parents[1]
HIDDEN = ROOT / "benchmarks" / "hidden"
TASKS = sorted((ROOT / "examples" / "tasks").iterdir())
every_task = pytest.mark.parametrize("path", TASKS, ids=lambda path: path.stem)


def visible_and_hidden(path: Path) -> tuple[CodeTask, CodeTask]:
    task = load_task(str(path))
    return task, graded_task(task, load_hidden(HIDDEN, path.stem))


def outcome(program: str, task: CodeTask) -> tuple[bool, str]:
    """Whether the program passes all tests, and what is said of those that it fails."""
    report = asyncio.run(run_tests(ProcessSandbox(), program, task))
    assert report.total >= task.visible
    return report.all_passed, f"{report.error} {[result for result in report.results if result.verdict != 'pass']}"


def test_there_are_tasks_in_every_form() -> None:
    assert len(TASKS) >= 14
    assert {path.suffix for path in TASKS} == {".toml", ".py", ""}
    assert [path.stem[:2] for path in TASKS] == [f"{number:02}" for number in range(1, len(TASKS) + 1)]


@every_task
def test_visible_and_hidden_tests_are_enough_and_apart(path: Path) -> None:
    task, graded = visible_and_hidden(path)
    assert 2 <= task.visible <= 4
    assert graded.visible >= 8
    assert not {*task.tests, *task.examples} & {*graded.tests, *graded.examples}


@every_task
def test_the_reference_solution_passes_all_tests(path: Path) -> None:
    program = (HIDDEN / "solutions" / f"{path.stem}.py").read_text()
    for task in visible_and_hidden(path):
        all_passed, failures = outcome(program, task)
        assert all_passed, failures


@every_task
def test_a_program_that_does_nothing_fails(path: Path) -> None:
    for task in visible_and_hidden(path):
        program = f"def {task.entry_point}(*arguments):\n    return None\n" if task.kind == "function" else "pass\n"
        assert not outcome(program, task)[0]
