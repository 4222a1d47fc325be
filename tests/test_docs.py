"""Docs cannot lie: their Python runs, their TOML loads, their commands and options exist, their links lead somewhere."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from treewright.cli.tasks import load_task

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
COMMAND = ROOT / ".venv/bin/treewright"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def cases(language: str) -> list[tuple[Path, str]]:
    return [(page, block) for page in PAGES for block in blocks(page, language)]


@pytest.mark.parametrize(("page", "block"), cases("python"), ids=lambda v: v.name if isinstance(v, Path) else "")
def test_python_in_the_docs_runs(page: Path, block: str, tmp_path: Path) -> None:
    environment = {**os.environ, "TREEWRIGHT_JOURNAL": str(tmp_path / "journal.db")}
    command = [str(ROOT / ".venv/bin/python"), "-W", "error", "-c", block]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    if page.name == "README.md":
        assert ran.stdout.startswith(("True def add(a, b):\n    return a + b\n", "True 22.0 "))


@pytest.mark.parametrize(("page", "block"), cases("toml"), ids=lambda v: v.name if isinstance(v, Path) else "")
def test_tasks_in_the_docs_load(page: Path, block: str, tmp_path: Path) -> None:
    path = tmp_path / "task.toml"
    path.write_text(block)
    assert load_task(str(path)).visible > 0


def test_commands_and_options_in_the_docs_exist() -> None:
    helps: dict[str, str] = {}
    for page in PAGES:
        for line in "\n".join(blocks(page, "console")).splitlines():
            words = line.removeprefix("$ ").partition("#")[0].split()
            words = [w for w in words if "=" not in w or w.startswith("-")]
            if words[:1] != ["treewright"] or len(words) < 2:
                continue
            if words[1] not in helps:
                ran = subprocess.run([str(COMMAND), words[1], "--help"], capture_output=True, text=True, check=False)
                assert ran.returncode == 0, line
                helps[words[1]] = ran.stdout
            for word in words[2:]:
                if word.startswith("--"):
                    assert word.partition("=")[0] in helps[words[1]], line
                if word.startswith("examples/"):
                    assert (ROOT / word).exists(), line
    assert {"solve", "runs", "show", "resume"} <= helps.keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_in_the_docs_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_table_in_the_docs_has_its_head(page: Path) -> None:
    lines = ["", *page.read_text().splitlines()]
    heads = [at for at, line in enumerate(lines) if line.startswith("|") and not lines[at - 1].startswith("|")]
    assert not [lines[at] for at in heads if not re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", "".join(lines[at + 1 : at + 2]))]


def test_every_strategy_and_preset_is_in_the_readme() -> None:
    from treewright.assembly import STRATEGIES
    from treewright.strategies.codetree_presets import PRESETS

    text = (ROOT / "README.md").read_text()
    assert not [name for name in (*STRATEGIES, *PRESETS) if f"`{name}`" not in text]
