"""`solve`: a program for a task in one call, from code that waits and from code that does not."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adding import ANSWER, TALK, TASK, judged, rows, write_script
from treewright.core.budget import Limits
from treewright.core.errors import JournalError, UserError
from treewright.core.events import Event, RunEnded, RunStarted
from treewright.journal.sqlite import SQLiteJournal
from treewright.solving import default_model, default_preset, solve, solve_async


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's own journal that is nobody's, and no model in the environment."""
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", str(tmp_path / "own.db"))
    monkeypatch.delenv("TREEWRIGHT_MODEL", raising=False)
    monkeypatch.setattr("treewright.assembly.run_tests", judged)
    return tmp_path


@pytest.fixture
def model(tmp_path: Path) -> str:
    return write_script(tmp_path / "talk.jsonl", rows())


def runs_in(path: Path) -> list[str]:
    with closing(SQLiteJournal(path, must_exist=True)) as journal:
        return [line.run for line in journal.runs()]


def test_a_task_is_solved_in_one_call(model: str, home: Path) -> None:
    solution = solve(TASK, model=model, sandbox="process")
    assert (solution.answer, solution.verified, solution.solved) == (ANSWER, True, True)
    assert (solution.task, solution.strategy, solution.model, solution.ended) == ("add", "codetree", model, "accepted")
    assert solution.usage.calls == len(TALK)
    assert runs_in(home / "own.db") == [solution.run_id]


def test_it_can_be_awaited_many_at_once(home: Path) -> None:
    models = [write_script(home / f"{number}.jsonl", rows(latency_s=0.01)) for number in range(3)]

    async def all_of_them() -> list[str]:
        solutions = await asyncio.gather(*(solve_async(TASK, model=name, sandbox="process") for name in models))
        return [solution.answer for solution in solutions]

    assert asyncio.run(all_of_them()) == [ANSWER] * 3
    assert len(runs_in(home / "own.db")) == 3


def test_where_something_runs_already_it_says_what_to_do(model: str) -> None:
    async def wrong() -> None:
        solve(TASK, model=model, sandbox="process")

    with pytest.raises(RuntimeError, match=r"await solve_async\(\) there"):
        asyncio.run(wrong())


@pytest.mark.parametrize("kind", ["text", "path", "journal"])
def test_the_journal_can_be_named_or_given(model: str, home: Path, kind: str) -> None:
    path = home / "other.db"
    given: Any = {"text": str(path), "path": path, "journal": SQLiteJournal(path)}[kind]
    solution = solve(TASK, model=model, sandbox="process", journal=given)
    assert not (home / "own.db").exists()
    if kind == "journal":
        assert [line.run for line in given.runs()] == [solution.run_id], "what was given open stays open"
        given.close()
    assert runs_in(path) == [solution.run_id]


def test_sinks_see_all_that_happens(model: str) -> None:
    seen: list[Event] = []
    solve(TASK, model=model, sandbox="process", sinks=[seen.append])
    assert isinstance(seen[0], RunStarted)
    assert isinstance(seen[-1], RunEnded)


@pytest.mark.parametrize("budget", [1, Limits(executions=1)])
def test_a_number_is_a_budget_of_executions(model: str, budget: int | Limits) -> None:
    solution = solve(TASK, model=model, sandbox="process", budget=budget)
    assert (solution.ended, solution.usage.executions, solution.verified) == ("executions", 1, False)
    assert "the budget of executions is spent" in solution.reason
    assert solution.answer


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"budget": 0}, "a budget of 0 executions allows nothing"),
        ({"strategy": "magic"}, "unknown strategy 'magic'"),
        ({"preset": "magic"}, "unknown preset 'magic'"),
        ({"model": "magic:8b"}, "unknown model 'magic:8b'"),
        ({"sandbox": "magic"}, "no sandbox 'magic'"),
        ({"model": "scripted:/nowhere.jsonl"}, "/nowhere.jsonl cannot be read"),
    ],
)
def test_what_makes_no_sense_is_the_users_error_in_one_sentence(model: str, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError) as caught:
        solve(TASK, **({"model": model, "sandbox": "process"} | settings))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_journal_that_cannot_be_written_is_said_before_anything_is_paid(model: str) -> None:
    with pytest.raises(JournalError, match="cannot be written"):
        solve(TASK, model=model, sandbox="process", journal="/proc/none/j.db")


def test_the_environment_names_the_model(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_model() == "local"
    monkeypatch.setenv("TREEWRIGHT_MODEL", "  ")
    assert default_model() == "local"
    monkeypatch.setenv("TREEWRIGHT_MODEL", f" {model} ")
    assert default_model() == model
    assert solve(TASK, sandbox="process").model == model


def test_a_model_too_small_to_judge_is_not_asked_to() -> None:
    assert default_preset("local") == default_preset(" local ") == "small"
    assert default_preset("local:other.gguf") == default_preset("openai:gpt-4o-mini") == "recommended"
