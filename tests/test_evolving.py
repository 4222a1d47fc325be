"""Prompt evolution: what is scored, what is kept, what is never tried or paid twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from treewright.core.budget import Limits
from treewright.core.errors import ModelUnavailable, UserError
from treewright.core.task import ToolTask
from treewright.evolving import Exercise, Scored, evolve, evolve_async, load_exercises
from treewright.journal.sqlite import SQLiteJournal
from treewright.models.base import Reply, Request
from treewright.models.estimates import usual_usage


def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


EXERCISES = tuple(Exercise(ToolTask(f"Double {n}.", [double], f"double-{n}"), str(2 * n)) for n in (1, 2, 3, 4))


@dataclass(slots=True, eq=False)
class Author:
    """Writes programs that are right on as many exercises as the prompt says ("right on 3"), and the variants it was given.

    Args:
        variants: prompt that is shown -> variants of it.
        patience: calls after which it is gone.
    """

    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    patience: int = 1000
    programs: list[str] = field(default_factory=list)
    asked_for: list[str] = field(default_factory=list)
    name: str = "author"

    async def complete(self, request: Request) -> Reply:
        system, told = request.messages[0].text, request.messages[-1].text
        if self.patience <= 0:
            raise ModelUnavailable("the author is gone")
        self.patience -= 1
        if system.startswith("You write prompts"):
            parent = request.messages[1].text.partition("<prompt>\n")[2].partition("\n</prompt>")[0]
            self.asked_for.append(parent)
            text = "".join(f"<prompt>{each}</prompt>" for each in self.variants.get(parent, ())) or "none"
        else:
            number = int(told.partition("Double ")[2].partition(".")[0])
            self.programs.append(f"{system.partition(chr(10))[0]} {number}")
            right = number <= int(system.partition("right on ")[2][:1])
            text = f"<execute>\nfinal_answer(double({number if right else 100}))\n</execute>" + " " * system.count("wordy") * 99
            if "crash" in system:
                text = "<execute>\nprint(1)\nraise ValueError\n</execute>"
        return Reply(text, usual_usage(request, text))


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    folder = tmp_path / "pool"
    folder.mkdir()
    (folder / "a.md").write_text("right on 1\n")
    (folder / "b.md").write_text("right on 2\n")
    return folder


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SQLiteJournal]:
    opened = SQLiteJournal(tmp_path / "own.db")
    yield opened
    opened.close()


def run(author: Author, pool: Path, journal: SQLiteJournal, **settings: Any) -> list[Scored]:
    usual: dict[str, Any] = {"rounds": 1, "variants": 2, "keep": 2, "sandbox": "process", "out": pool.parent / "out"}
    usual |= {"exercises": EXERCISES, "pool": pool, "model": author, "journal": journal}
    return evolve(**(usual | settings))


def told(folder: Path) -> dict[str, Any]:
    known = json.loads((folder / "scores.json").read_text())
    assert isinstance(known, dict)
    return known


def files(folder: Path) -> dict[str, str]:
    return {file.stem: file.read_text() for file in sorted(folder.glob("*.md"))}


def test_the_best_are_kept_as_files_with_their_scores(pool: Path, journal: SQLiteJournal) -> None:
    author = Author({"right on 2": ("right on 4", "right on 0"), "right on 1": ("right on 3",)})
    scored = run(author, pool, journal)
    assert [one.right for one in scored] == [4, 3, 2, 1, 0]
    assert [one.kept for one in scored] == [True, True, False, False, False]
    best, second, *_ = scored
    assert (best.parent, best.round, best.tasks, best.score) == ("b", 1, 4, 1.0)
    assert best.name.startswith("b-")
    assert second.name.startswith("a-")
    assert files(pool.parent / "out") == {best.name: "right on 4\n", second.name: "right on 3\n"}
    known = told(pool.parent / "out")
    assert known["settings"]["model"] == "author"
    assert known["settings"]["budget"] == {"executions": 1}
    assert {row["name"]: row["right"] for row in known["prompts"]} == {one.name: one.right for one in scored}
    assert files(pool) == {"a": "right on 1\n", "b": "right on 2\n"}, "the prompts to begin with stay"


def test_every_prompt_is_run_on_the_same_tasks_under_the_same_seed_and_budget(pool: Path, journal: SQLiteJournal) -> None:
    run(Author({"right on 2": ("right on 4",)}), pool, journal, seed=5, budget=Limits(executions=1, tokens=9000))
    lines = journal.runs()
    assert len(lines) == 3 * len(EXERCISES)
    specs = [line.spec for line in lines]
    assert {spec["seed"] for spec in specs} == {5}
    assert {(spec["limits"]["executions"], spec["limits"]["tokens"]) for spec in specs} == {(1, 9000)}
    assert {spec["strategy"] for spec in specs} == {"code-program"}
    assert {spec["tools"]["commits"] for spec in specs} == {"dry_run"}
    assert sorted(spec["task"]["name"] for spec in specs) == sorted(3 * [one.task.name for one in EXERCISES])


def test_the_same_evolution_gives_the_same_files(pool: Path, tmp_path: Path) -> None:
    texts = []
    for number in (1, 2):
        own, out = SQLiteJournal(tmp_path / f"{number}.db"), tmp_path / f"out{number}"
        run(Author({"right on 2": ("right on 4", "right on 3")}), pool, own, out=out)
        own.close()
        texts.append({file.name: file.read_bytes() for file in out.iterdir() if file.is_file()})
    assert texts[0] == texts[1]


def test_nothing_is_paid_twice_when_it_is_taken_up(pool: Path, journal: SQLiteJournal, tmp_path: Path) -> None:
    variants = {"right on 2": ("right on 4", "right on 3")}
    whole = SQLiteJournal(tmp_path / "whole.db")
    expected = run(Author(variants), pool, whole, out=tmp_path / "whole")
    whole.close()
    calls: list[str] = []
    for patience in (6, 4, 5, 100):  # dies while scoring, asking, scoring again
        author = Author(variants, patience=patience)
        try:
            found = run(author, pool, journal)
        except ModelUnavailable:
            assert author.patience == 0
        calls += author.programs
    assert [(one.name, one.right, one.tokens) for one in found] == [(one.name, one.right, one.tokens) for one in expected]
    assert len(calls) == len(set(calls)) == 4 * len(EXERCISES)
    again = Author(variants)
    assert run(again, pool, journal) == found
    assert not again.programs
    assert not again.asked_for


def test_more_rounds_go_on_from_where_it_stands(pool: Path, journal: SQLiteJournal) -> None:
    variants = {"right on 2": ("right on 3",), "right on 3": ("right on 4",)}
    run(Author(variants), pool, journal, keep=1)
    further = Author(variants)
    scored = run(further, pool, journal, keep=1, rounds=2)
    assert further.asked_for == ["right on 3"]
    assert (scored[0].right, scored[0].round, scored[0].kept) == (4, 2, True)
    assert files(pool.parent / "out") == {scored[0].name: "right on 4\n"}, "what is not kept any more is taken away"


def test_a_variant_that_lost_or_is_no_use_is_not_tried_again(pool: Path, journal: SQLiteJournal) -> None:
    lost = {"right on 2": ("right on 0", "")}
    run(Author(lost), pool, journal, keep=1)
    again = Author({"right on 2": ("RIGHT on  0", "x" * 7000)})
    run(again, pool, journal, keep=1, rounds=2)
    assert again.asked_for == ["right on 2"]
    assert not again.programs
    refused = [list(ask["refused"].values()) for ask in told(pool.parent / "out")["asked"]]
    assert refused == [["it is empty"], ["it is known already", "it is longer than 6000 characters"]]


def test_a_model_without_variants_leaves_the_pool_as_it_is_and_is_not_asked_again(pool: Path, journal: SQLiteJournal) -> None:
    lines: list[str] = []
    scored = run(Author(), pool, journal, told=lines.append)
    assert [one.name for one in scored] == ["b", "a"]
    assert "round 1: the model wrote no variant of b that could be read" in lines
    again = Author()
    run(again, pool, journal)
    assert not again.asked_for


def test_ties_go_to_fewer_tokens(pool: Path, journal: SQLiteJournal) -> None:
    (pool / "a.md").write_text("right on 2 wordy wordy")
    assert [one.name for one in run(Author(), pool, journal, rounds=0)] == ["b", "a"]
    (pool / "b.md").write_text("right on 2 wordy wordy wordy")
    assert [one.name for one in run(Author(), pool, journal, rounds=0, out=pool.parent / "other")] == ["a", "b"]


def test_without_expected_answers_a_run_to_the_end_counts(pool: Path, journal: SQLiteJournal) -> None:
    (pool / "a.md").write_text("right on 4 but crash")
    open_ended = [Exercise(one.task) for one in EXERCISES]
    assert {one.name: one.right for one in run(Author(), pool, journal, rounds=0, exercises=open_ended)} == {"a": 0, "b": 4}


def test_answers_are_compared_in_their_normal_form(pool: Path, journal: SQLiteJournal) -> None:
    loose = [Exercise(EXERCISES[0].task, "The answer is 2.0")]
    assert {one.right for one in run(Author(), pool, journal, rounds=0, exercises=loose)} == {1}


def test_several_tasks_at_once_give_the_same_scores(pool: Path, journal: SQLiteJournal) -> None:
    scored = asyncio.run(
        evolve_async(
            EXERCISES,
            out=pool.parent / "out",
            pool=pool,
            model=Author(),
            journal=journal,
            sandbox="process",
            rounds=0,
            parallel=4,
        )
    )
    assert {one.name: one.right for one in scored} == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"exercises": ()}, "there is no task to score prompts on"),
        ({"rounds": -1}, "rounds is -1: give at least 0"),
        ({"variants": 0}, "variants is 0: give at least 1"),
        ({"keep": 0}, "keep is 0: give at least 1"),
        ({"parallel": 0}, "parallel is 0: give at least 1"),
        ({"out": "pool"}, "holds the prompts to begin with"),
        ({"out": "foreign"}, "holds prompts already"),
        ({"pool": Path("nowhere")}, "there is no prompt"),
        ({"out": "broken"}, "holds no scores that this version knows"),
        ({"out": "pool/a.md/x"}, "cannot be written"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(pool: Path, journal: SQLiteJournal, settings: dict[str, Any], says: str) -> None:
    usual: dict[str, Any] = {"exercises": EXERCISES, "out": pool.parent / "out", "pool": pool}
    for name, file, text in (("foreign", "mine.md", "x"), ("broken", "scores.json", "{}")):
        (pool.parent / name).mkdir()
        (pool.parent / name / file).write_text(text)
    if "out" in settings:
        settings = settings | {"out": pool.parent / settings["out"]}
    with pytest.raises(UserError, match=says) as caught:
        evolve(**(usual | {"model": Author(), "journal": journal, "sandbox": "process"} | settings))
    assert "\n" not in str(caught.value)
    assert not journal.runs()


@pytest.mark.parametrize("changes", [{"seed": 1}, {"budget": 2}, {"exercises": EXERCISES[:2]}, {"model": Author(name="other")}])
def test_scores_under_other_settings_are_not_mixed(pool: Path, journal: SQLiteJournal, changes: dict[str, Any]) -> None:
    run(Author(), pool, journal, rounds=0)
    with pytest.raises(UserError, match="name another folder with --out"):
        run(changes.pop("model", Author()), pool, journal, **({"rounds": 0} | changes))


def test_a_prompt_that_has_changed_is_not_taken_for_the_old_one(pool: Path, journal: SQLiteJournal) -> None:
    run(Author(), pool, journal, rounds=0)
    (pool / "a.md").write_text("right on 4")
    with pytest.raises(UserError, match="the prompt a has changed since"):
        run(Author(), pool, journal, rounds=0)


def test_exercises_are_read_from_json_lines_and_toml(tmp_path: Path) -> None:
    lines = tmp_path / "tasks.jsonl"
    rows = [{"query": "How many?", "tools": ["tools.py", "mcp:run it"], "answer": 4}, {"query": "Why?", "name": "why"}]
    lines.write_text("\n\n".join(map(json.dumps, rows)))
    first, second = load_exercises(lines, tools=["other.py"])
    assert (first.task.tools, first.answer, first.task.name) == ((str(tmp_path / "tools.py"), "mcp:run it"), "4", "How many?")
    assert (second.task.tools, second.answer, second.task.name) == (("other.py",), None, "why")
    table = tmp_path / "tasks.toml"
    table.write_text('tools = ["openapi:api.json"]\n[[tasks]]\nquery = "How many?"\nanswer = [1, 2]\n[[tasks]]\nquery = "Why?"')
    first, second = load_exercises(table)
    assert (first.task.tools, first.answer, second.answer) == ((f"openapi:{tmp_path / 'api.json'}",), "[1, 2]", None)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.jsonl", "", "there is no task in"),
        ("t.jsonl", "{", "line 1 is no JSON"),
        ("t.jsonl", "[1]", "line 1: a task is an object such as"),
        ("t.jsonl", '{"query": " ", "tools": ["t.py"]}', "line 1 has no query"),
        ("t.jsonl", '{"query": "a", "tool": ["t.py"]}', "unknown key 'tool'; did you mean 'tools'"),
        ("t.jsonl", '{"query": "a", "tools": "t.py"}', "the tools must be a list"),
        ("t.jsonl", '{"query": "a", "tools": ["t.py"], "name": 3}', "the name must be a text"),
        ("t.jsonl", '{"query": "a"}', "line 1 has no tools"),
        ("t.toml", "x", "is no TOML"),
        ("t.toml", "task = 1", r"must hold \[\[tasks\]\]"),
        ("none/t.toml", None, "cannot be read as text: No such file"),
    ],
)
def test_a_file_that_holds_something_else_is_one_sentence(tmp_path: Path, name: str, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=says):
        load_exercises(tmp_path / name)
