"""`treewright tools`: the cards as a model sees them, and what is wrong with a source while the others are listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import here

TOOLS = '''
from treewright.tools.decorator import tool

@tool(effect="pure")
def weather(city: str, days: int = 3) -> str:
    """Forecast the weather.

    Args:
        city: Where.
    """
    return city

@tool
class Cart:
    def put(self, item: str) -> None:
        """Put it in."""
'''


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.py"
    path.write_text(TOOLS)
    return path


def test_cards_are_listed_as_a_model_sees_them(tools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = here(capsys, "tools", tools)
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        "weather(city: str, days: int = 3) -> str\n    Forecast the weather.\n\n    Args:\n        city: Where.\n"
        "    [pure; tools.py]\n\nput(item: str) -> None\n    Put it in.\n"
        "    [idempotent, each program has its own state; tools.py]\n\n"
    )


def test_json_holds_the_cards_and_what_is_lost(tools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = here(capsys, "tools", tools, "none.py", "--json")
    found = json.loads(done.out)
    assert done.status == 2
    assert [(card["name"], card["effect"], card["stateful"]) for card in found["tools"]] == [
        ("weather", "pure", False), ("put", "idempotent", True),
    ]  # fmt: skip
    assert found["tools"][0]["parameters"]["required"] == ["city"]
    assert [one["source"] for one in found["lost"]] == ["none.py"]


def test_a_source_that_cannot_be_used_is_told_and_the_others_are_listed(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tools.parent / "bad.py"
    bad.write_text("def f(x):\n    return x\n")
    done = here(capsys, "tools", bad, tools)
    assert (done.status, "weather(" in done.out) == (2, True)
    assert done.said.startswith("bad.py: parameter x of f has no type hint")


def test_a_server_that_does_not_answer_has_the_status_of_what_is_unavailable(capsys: pytest.CaptureFixture[str]) -> None:
    done = here(capsys, "tools", "mcp:treewright-no-such-command")
    assert (done.status, done.out) == (3, "")
    assert "treewright-no-such-command" in done.said


def test_without_a_source_it_says_what_to_name(capsys: pytest.CaptureFixture[str]) -> None:
    done = here(capsys, "tools")
    assert (done.status, done.said) == (2, "name a source of tools, as in: treewright tools tools.py")
