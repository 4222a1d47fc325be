"""The prompt pool of Tree-of-Code (section 3.2.1): plain files, one instruction each, drawn for each program.

A pool is a folder of `NAME.md`. Ours comes with the package; `treewright prompts evolve` writes others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treewright.core.errors import UserError

#: The pool that comes with the package.
BUILT_IN = Path(__file__).parent / "prompt_pool"
_MAX_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """One instruction of a pool.

    Args:
        name: of its file, without the ending.
        text: what a model is told before the tools and the question.
    """

    name: str
    text: str


def read_pool(folder: Path = BUILT_IN) -> tuple[Prompt, ...]:
    """The prompts of a folder, by name.

    Raises:
        UserError: the folder is not there or holds no prompt, or a file is empty, too long or no text.
    """
    files = sorted(folder.glob("*.md"))
    if not files:
        raise UserError(f"there is no prompt (*.md) in {folder}: name a folder that `treewright prompts evolve` wrote")
    return tuple(_read(file) for file in files)


def _read(file: Path) -> Prompt:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the prompt {file} cannot be read as text: {error}") from error
    if not 0 < len(text) <= _MAX_CHARS:
        raise UserError(f"the prompt {file} has {len(text)} characters: it must have 1 to {_MAX_CHARS}")
    return Prompt(file.stem, text)
