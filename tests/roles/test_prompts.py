from __future__ import annotations

from pathlib import Path

import pytest

from treewright.core.errors import UserError
from treewright.roles.prompts import BUILT_IN, Prompt, read_pool


def test_a_pool_is_its_files_by_name_without_the_ending(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("\n Zuerst größer denken. \n\n", "utf-8")
    (tmp_path / "a.md").write_text("Think.", "utf-8")
    (tmp_path / "scores.json").write_text("{}")
    assert read_pool(tmp_path) == (Prompt("a", "Think."), Prompt("b", "Zuerst größer denken."))


def test_the_pool_that_comes_along_has_three_prompts_that_differ() -> None:
    pool = read_pool()
    assert read_pool(BUILT_IN) == pool
    assert len({prompt.text for prompt in pool}) == len(pool) >= 3


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_without_prompts_is_refused_and_named(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path if exists else tmp_path / "nowhere"
    with pytest.raises(UserError, match=str(folder)):
        read_pool(folder)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "0 characters"),
        (b" \n", "0 characters"),
        (b"x" * 20_001, "20001 characters"),
        (b"\xff\xfe\x00", "cannot be read as text"),
    ],
)
def test_a_file_that_is_no_prompt_is_refused_and_named(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "good.md").write_text("Think.")
    (tmp_path / "odd.md").write_bytes(content)
    with pytest.raises(UserError, match=rf"odd\.md.*{problem}"):
        read_pool(tmp_path)


def test_a_prompt_may_be_as_long_as_the_limit(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("x" * 20_000)
    assert len(read_pool(tmp_path)[0].text) == 20_000


def test_a_folder_with_the_ending_of_a_prompt_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.md").mkdir()
    with pytest.raises(UserError, match=r"odd\.md"):
        read_pool(tmp_path)
