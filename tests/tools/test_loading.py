"""Sources as a user gives them: what is found in them, and one sentence for what cannot be used while the rest goes on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from scripted_tools import ScriptedTool, ScriptedToolbox
from treewright.core.errors import UserError
from treewright.tools.base import Result
from treewright.tools.combined import Combined
from treewright.tools.loading import load_tools

PLAIN = '''
from helper import double

CONSTANT = 3

def twice(n: int) -> int:
    """Double it."""
    return double(n)

def _hidden(n: int) -> int: ...

class Ignored: ...
'''
DECORATED = """
from __future__ import annotations
from dataclasses import dataclass
from treewright.tools.decorator import tool

@dataclass
class Film:
    title: str

@tool(effect="pure")
def film(n: int) -> Film:
    return Film("x" * n)

again = film

def helper(untyped): ...

@tool
class Shop:
    def buy(self) -> None: ...

shop = Shop()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("def double(n):\n    return 2 * n\n")
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "decorated.py").write_text(DECORATED)
    return tmp_path


def loaded(*sources: object) -> Combined:
    async def run() -> Combined:
        combined = load_tools(sources)
        async with combined:
            return combined

    return asyncio.run(run())


def names(*sources: object) -> list[str]:
    combined = loaded(*sources)
    assert combined.lost == ()
    return [card.name for card in combined.cards]


def reason(source: str) -> str:
    combined = loaded(source)
    assert combined.cards == ()
    ((lost),) = combined.lost
    assert lost.exit_status == 2
    assert "Traceback" not in lost.reason
    assert "\n" not in lost.reason
    return lost.reason


def test_a_plain_file_gives_its_own_public_functions_and_can_import_its_neighbours(folder: Path) -> None:
    async def run() -> Result:
        async with load_tools([folder / "plain.py"]) as combined, combined.session() as session:
            assert [(card.name, card.source) for card in combined.cards] == [("twice", "plain.py")]
            return await session.call("twice", {"n": 4})

    assert asyncio.run(run()) == Result(8)


def test_a_file_with_decorated_functions_gives_these_once_each(folder: Path) -> None:
    assert names(f"{folder}/decorated.py") == ["film", "buy"]


def test_functions_can_be_named(folder: Path) -> None:
    assert names(f"{folder}/decorated.py:Shop, film") == ["buy", "film"]
    assert reason(f"{folder}/decorated.py:flim").endswith("decorated.py has no tool 'flim': did you mean film?")


def test_two_files_of_one_name_are_two(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other/plain.py").write_text("def twice(n: int) -> str:\n    return n * 'x'\n")
    assert names(folder / "plain.py", folder / "other/plain.py") == ["plain_twice", "plain_twice_2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(x: int:\n    pass\n", "cannot be imported: line 1: SyntaxError: invalid syntax"),
        ("import os\n\nimport nothing_of_that_name\n", "line 3: ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("def go():\n    return 1 / 0\n\ngo()\n", "line 2: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(4)\n", "line 2: SystemExit: 4"),
        ("import os\nKEY = os.environ['NO_SUCH_KEY_HERE']\n", "line 2: the environment variable NO_SUCH_KEY_HERE is not set"),
        ("x = 1\n", "has no function that could be a tool"),
        ("def f(x):\n    return x\n", "parameter x of f has no type hint"),
        ("\0", "source code string cannot contain null bytes"),
    ],
)
def test_a_file_that_cannot_be_used_costs_its_own_tools_and_says_why(folder: Path, text: str, said: str) -> None:
    (folder / "bad.py").write_text(text)
    assert said in reason(f"{folder}/bad.py")
    combined = loaded(f"{folder}/bad.py", f"{folder}/plain.py")
    assert [card.name for card in combined.cards] == ["twice"]
    assert [lost.source for lost in combined.lost] == [f"{folder}/bad.py"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("none.py", "none.py: there is no such file"),
        ("none.json", "none.json"),
        ("what is this", "is no source of tools: a source is tools.py"),
        ("mcp:", "mcp: needs the command"),
        ("mcp:say 'open", "the command cannot be read"),
        ("mcp+ftp://x", "an address begins with http"),
        ("openapi:none.yaml", "none.yaml"),
    ],
)
def test_what_is_no_source_is_said_to_be_none(source: str, said: str) -> None:
    assert said in reason(source)


def test_a_server_that_does_not_start_is_lost_under_its_name(tmp_path: Path) -> None:
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"files": {"command": "treewright-no-such-command"}}}))
    for source in (str(config), "mcp:treewright-no-such-command", "mcp:/no/such/npx -y @scope/server-treewright"):
        combined = loaded(source, lambda: None)
        assert len(combined.cards) == 1
        (lost,) = combined.lost
        assert lost.source in ("mcp:files", "mcp:treewright-no-such-command", "mcp:treewright")
        assert lost.exit_status == 3


def test_functions_and_toolboxes_can_be_given_as_they_are() -> None:
    def search(query: str) -> str:
        return query

    assert names(search, ScriptedToolbox([ScriptedTool("fetch")])) == ["search", "fetch"]
    with pytest.raises(UserError, match="no type hint"):
        load_tools([lambda x: x])


def test_an_openapi_document_is_known_by_its_content(tmp_path: Path) -> None:
    pytest.importorskip("fastmcp")
    document = {
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "servers": [{"url": "https://api.example.org"}],
        "paths": {"/films": {"get": {"operationId": "films", "responses": {"200": {"description": "ok"}}}}},
    }  # fmt: skip
    (tmp_path / "api.json").write_text(json.dumps(document))
    assert names(tmp_path / "api.json") == names(f"openapi:{tmp_path}/api.json") == ["films"]
