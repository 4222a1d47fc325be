"""The rules of the house that a machine can hold: sizes, purity, what strategies may not know, what may not be committed."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "treewright").rglob("*.py"))
FILE_LINES, FUNCTION_LINES, SCREEN = 300, 40, 50


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body without the docstring: what has to be understood."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_and_no_function_is_too_long_to_read(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= FILE_LINES
    long = {f.name: body_lines(f) for f in functions(ast.parse(text)) if body_lines(f) > FUNCTION_LINES}
    assert not long


def test_the_loop_fits_on_a_screen_and_the_readme_names_it() -> None:
    text = (ROOT / "src/treewright/core/search.py").read_text()
    search = next(f for f in functions(ast.parse(text)) if f.name == "search")
    assert body_lines(search) <= FUNCTION_LINES <= SCREEN
    assert "src/treewright/core/search.py" in (ROOT / "README.md").read_text()


def test_the_core_awaits_only_in_its_loop() -> None:
    for path in (ROOT / "src/treewright/core").glob("*.py"):
        if path.name != "search.py":
            waiting = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.AsyncFunctionDef | ast.Await)]
            assert not waiting, path.name


def test_strategies_and_roles_know_nothing_of_budget_cache_retries_or_storage() -> None:
    known = re.compile(r"\b(budget|cache|retry|retries|journal|record(?:ed|er)|throttl\w*|meter\w*|sqlite)\b", re.I)
    for room in ("strategies", "roles"):
        for path in (ROOT / "src/treewright" / room).rglob("*.py"):
            tree = ast.parse(path.read_text())
            names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
            names |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
            names |= {a.arg for n in ast.walk(tree) if isinstance(n, ast.arguments) for a in (*n.args, *n.kwonlyargs)}
            modules = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
            names |= {n.module or "" for n in modules}
            names -= {alias.name for n in modules if n.module == "functools" for alias in n.names}
            assert not [name for name in names if known.search(name.replace("_", " ").replace(".", " "))], path.name


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ["pydantic", "sqlalchemy", "rich", "cyclopts", "markdown_it", "asyncio", "xllamacpp", "genai_prices"]
    script = f"import sys, treewright; print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([str(ROOT / ".venv/bin/python"), "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_no_committed_file_names_a_registry_or_this_machine() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    forbidden = re.compile(r"https?://[^\s\"')]*(?:/simple|pypi|npmjs|packages)/?", re.I)
    home = str(Path.home())
    for name in tracked:
        path = ROOT / name
        if path.suffix in {".lock", ".txt", ".toml", ".py", ".md", ".cfg", ".yaml", ".json", ""} and path.is_file():
            text = path.read_text(errors="replace")
            assert not forbidden.search(text), name
            assert len(home) < 6 or home not in text, name
            assert path.stat().st_size < 1_000_000, name
