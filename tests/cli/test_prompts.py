"""`treewright prompts`: pools looked at, compared and evolved."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from adding import write_script
from command import here
from treewright.roles.prompts import BUILT_IN, read_pool

Capture = pytest.CaptureFixture[str]
PAGE = Path(__file__).parents[2] / "docs/guide/prompts.md"
TOOLS = 'def price(item: str) -> int:\n    """Price of an item in cents."""\n    return {"apple": 30, "pear": 50}[item]\n'
EVOLVE = ("prompts", "evolve", "tasks.jsonl", "--out", "new", "--prompts", "old", "--model", "scripted:talk.jsonl")
SMALL = ("--rounds", "1", "--variants", "2", "--keep", "1", "--sandbox", "process")


def program(expression: str) -> dict[str, str]:
    return {"when": "Question:", "reply": f"<execute>\nfinal_answer({expression})\n</execute>"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tasks, a pool of one prompt that is right on one of them, and a model that writes a better one and a worse one."""
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", str(tmp_path / "own.db"))
    monkeypatch.chdir(tmp_path)
    Path("tools.py").write_text(TOOLS)
    tasks = [("What do two pears cost?", 100), ("What does an apple cost?", "30")]
    Path("tasks.jsonl").write_text("\n".join(json.dumps({"query": query, "answer": answer}) for query, answer in tasks))
    Path("old").mkdir()
    Path("old/plan.md").write_text("Plan first.\nThen write.\n")
    variants = "<prompt>Count first.\nThen write.</prompt><prompt>Guess.</prompt>"
    talk = [program("100"), program("0"), {"when": "Write 2 variants", "reply": variants}]
    talk += [program("2 * price('pear')"), program("price('apple')"), program("0"), program("0")]
    write_script(Path("talk.jsonl"), talk)
    return tmp_path


@pytest.fixture
def new(home: Path, capsys: Capture) -> tuple[str, str]:
    """Names of the variants after an evolution: the one that is kept, the one that lost."""
    done = here(capsys, *EVOLVE, *SMALL, "--tools", "tools.py", "--json", "--quiet")
    assert (done.status, done.err) == (0, "")
    scored = [json.loads(line) for line in done.out.splitlines()]
    assert [(one["parent"], one["score"], one["kept"]) for one in scored] == [
        ("plan", 1.0, True), ("", 0.5, False), ("plan", 0.0, False)
    ]  # fmt: skip
    return scored[0]["name"], scored[2]["name"]


def test_the_packages_own_pool_is_listed(home: Path, capsys: Capture) -> None:
    done = here(capsys, "prompts", "list")
    first = {prompt.name: prompt.text.splitlines()[0] for prompt in read_pool(BUILT_IN)}
    assert done.out.splitlines() == [f"{name}  -  {line}" for name, line in first.items()]
    told = [json.loads(line) for line in here(capsys, "prompts", "list", "--json").out.splitlines()]
    assert {one["name"]: one["text"] for one in told} == {prompt.name: prompt.text for prompt in read_pool(BUILT_IN)}


def test_an_evolution_says_what_happens_and_prints_what_it_kept(home: Path, capsys: Capture) -> None:
    done = here(capsys, *EVOLVE, *SMALL, "--tools", "tools.py")
    assert done.status == 0
    assert re.fullmatch(r"plan-\w{6}  2/2\n", done.out)
    lines = done.err.splitlines()
    assert re.fullmatch(r"round 0: plan: 1 of 2 right, \d+ tokens", lines[0])
    assert len(lines) == 3
    again = here(capsys, *EVOLVE, *SMALL, "--tools", "tools.py")
    assert (again.out, again.err) == (done.out, ""), "nothing was left to do"


def test_an_evolved_pool_is_listed_with_its_scores(new: tuple[str, str], capsys: Capture) -> None:
    assert here(capsys, "prompts", "list", "--prompts", "new").out == f"{new[0]}  2/2  Count first.\n"
    (told,) = map(json.loads, here(capsys, "prompts", "list", "--prompts", "new", "--json").out.splitlines())
    assert (told["score"], told["parent"], told["round"], told["tasks"]) == (1.0, "plan", 1, 2)


def test_a_prompt_is_shown(new: tuple[str, str], capsys: Capture) -> None:
    assert here(capsys, "prompts", "show", new[0], "--prompts", "new").out == "Count first.\nThen write.\n"
    assert json.loads(here(capsys, "prompts", "show", new[0], "--prompts", "new", "--json").out)["right"] == 2
    assert here(capsys, "prompts", "show", new[1], "--prompts", "new").out == "Guess.\n", "one that lost, too"
    assert here(capsys, "prompts", "show", "careful", "--prompts", "new").out.startswith("You look for what could go wrong"), (
        "the package's own, too"
    )


def test_two_prompts_are_compared_line_by_line(new: tuple[str, str], capsys: Capture) -> None:
    done = here(capsys, "prompts", "diff", "plan", new[0], "--prompts", "new")
    assert done.status == 0
    assert done.out.splitlines() == [
        "--- plan.md", f"+++ {new[0]}.md", "@@ -1,2 +1,2 @@", "-Plan first.", "+Count first.", " Then write."
    ]  # fmt: skip
    assert here(capsys, "prompts", "diff", "plan", "plan").out == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("prompts", "show", "plam"), "there is no prompt 'plam'; did you mean 'plan'?"),
        (("prompts", "show", "../x", "--prompts", "old"), "there is no prompt '../x'; there are "),
        (("prompts", "list", "--prompts", "none"), "there is no prompt (*.md) in none"),
        ((*EVOLVE, *SMALL), "tasks.jsonl, line 1 has no tools: name a source in it, or with --tools SOURCE"),
        ((*EVOLVE[:2], "none.jsonl", *EVOLVE[3:]), "the tasks none.jsonl cannot be read as text: No such file"),
        ((*EVOLVE, *SMALL, "--tools", "none.py"), "there is no tool to work with"),
        ((*EVOLVE, "--tools", "tools.py", "--budget", "0"), "a budget of 0 executions allows nothing"),
        ((*EVOLVE, "--tools", "tools.py", "--keep", "0"), "keep is 0: give at least 1"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(home: Path, capsys: Capture, arguments: tuple[str, ...], says: str) -> None:
    done = here(capsys, *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.said.startswith(says)


def test_a_model_that_is_gone_leaves_what_was_scored(home: Path, capsys: Capture) -> None:
    write_script(Path("talk.jsonl"), [program("100"), program("0")])
    done = here(capsys, *EVOLVE, *SMALL, "--tools", "tools.py", "--quiet")
    assert done.status == 3
    assert "has no reply left" in done.said
    (row,) = json.loads(Path("new/scores.json").read_text())["prompts"]
    assert (row["right"], row["tasks"], row["kept"]) == (1, 2, True)


def test_the_commands_of_the_guide_exist(capsys: Capture) -> None:
    found = re.findall(r"^(?:\$ )?treewright (prompts .*)$", PAGE.read_text(), re.M)
    assert len(found) >= 5
    for line in found:
        words = shlex.split(line)
        told = here(capsys, *words[:2], "--help").out
        assert [word for word in words if word.startswith("--") and word not in told] == []
