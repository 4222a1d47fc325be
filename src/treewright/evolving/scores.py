"""The record of an evolution: `scores.json` beside the prompts it kept. Written before the next step, so it can be taken up.

Nothing in it depends on the time: the same evolution gives the same file. A variant that lost stays in it with its digest, and
is not tried again; its text stays in `tried/NAME/NAME.md`, a pool of one, which is also what its runs draw from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from treewright.core.errors import UserError
from treewright.roles.prompt_evolution import digest
from treewright.roles.prompts import Prompt, read_pool

FILE = "scores.json"
TRIED = "tried"


@dataclass(frozen=True, slots=True)
class Scored:
    """A prompt and how it did.

    Args:
        name: of its file, without the ending.
        digest: of its text.
        parent: name of the prompt it is a variant of; "" for one that was there at the start.
        round: when it was written; 0 at the start.
        right: exercises whose program was right; None until it is scored.
        tasks: exercises.
        tokens: spent on all of them.
        kept: it is in the pool now.
    """

    name: str
    digest: str
    parent: str = ""
    round: int = 0
    right: int | None = None
    tasks: int = 0
    tokens: int = 0
    kept: bool = False

    @property
    def score(self) -> float | None:
        """Share of the exercises that were right, in [0, 1]; None until it is scored."""
        return None if self.right is None else self.right / self.tasks

    @property
    def rank(self) -> tuple[float, int, int, str]:
        """Best first: the higher score, then fewer tokens, then the older prompt."""
        return -(self.score or 0.0), self.tokens, self.round, self.name


@dataclass(frozen=True, slots=True)
class Asked:
    """Variants were asked for: in which round, of which prompt, for how many tokens, and which were refused (digest: why)."""

    round: int
    parent: str
    tokens: int
    refused: Mapping[str, str]


class Scores:
    """The folder of an evolution.

    Args:
        folder: made if it is not there.
        settings: what scores depend on; a folder is taken up with the same only.

    Attributes:
        prompts: by name, in the order they came in.
        asked: in the order of the asks.

    Raises:
        UserError: the folder cannot be used, holds prompts of somebody else, or scores under other settings.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self.settings = dict(settings)
        self.prompts: dict[str, Scored] = {}
        self.asked: list[Asked] = []
        if (folder / FILE).exists():
            self._take_up(read_scores(folder))
        elif any(folder.glob("*.md")):
            raise UserError(f"{folder} holds prompts already: name a folder of its own with --out")
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def _take_up(self, known: Mapping[str, Any]) -> None:
        for key, value in self.settings.items():
            if known["settings"].get(key) != value:
                was = f"{key} {known['settings'].get(key)!r}"
                raise UserError(f"the scores in {self.folder} are of {was}, not {value!r}: name another folder with --out")
        self.prompts = {one.name: one for one in prompts_of(known)}
        self.asked = [Asked(**one) for one in known["asked"]]

    @property
    def known(self) -> frozenset[str]:
        """Digests of every prompt that was tried, those that lost too."""
        return frozenset(one.digest for one in self.prompts.values())

    def text(self, name: str) -> str:
        """The text of a prompt that was tried."""
        return read_pool(self.pool(name))[0].text

    def pool(self, name: str) -> Path:
        """The folder that holds this prompt alone."""
        return self.folder / TRIED / name

    def add(self, prompt: Prompt, *, parent: str = "", round: int = 0) -> None:
        """Take a prompt in, unscored. Nothing changes for one that is there.

        Raises:
            UserError: another prompt has that name.
        """
        known = self.prompts.get(prompt.name)
        if known is not None and known.digest != digest(prompt.text):
            raise UserError(f"the prompt {prompt.name} has changed since {self.folder} began: name another folder with --out")
        if known is None:
            with _writing(self.folder):
                self.pool(prompt.name).mkdir(parents=True, exist_ok=True)
                (self.pool(prompt.name) / f"{prompt.name}.md").write_text(f"{prompt.text}\n", encoding="utf-8")
            self.prompts[prompt.name] = Scored(prompt.name, digest(prompt.text), parent, round)

    def score(self, name: str, right: int, tasks: int, tokens: int) -> None:
        """Note how a prompt did."""
        self.prompts[name] = replace(self.prompts[name], right=right, tasks=tasks, tokens=tokens)
        self.save()

    def best(self, most: int, round: int) -> list[Scored]:
        """The best `most` of those written up to that round, best first."""
        there = [one for one in self.prompts.values() if one.right is not None and one.round <= round]
        return sorted(there, key=lambda one: one.rank)[:most]

    def keep(self, names: frozenset[str]) -> None:
        """Make these the pool. Only files that an earlier call wrote are taken away."""
        with _writing(self.folder):
            for name in sorted(names):
                (self.folder / f"{name}.md").write_text(f"{self.text(name)}\n", encoding="utf-8")
            for one in self.prompts.values():
                if one.kept and one.name not in names:
                    (self.folder / f"{one.name}.md").unlink(missing_ok=True)
        self.prompts = {name: replace(one, kept=name in names) for name, one in self.prompts.items()}
        self.save()

    def save(self) -> None:
        """Write the file anew, whole or not at all."""
        rows = [asdict(one) | {"score": one.score} for one in self.prompts.values()]
        told = {"settings": self.settings, "prompts": rows, "asked": [asdict(one) for one in self.asked]}
        with _writing(self.folder):
            part = self.folder / f"{FILE}.part"
            part.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            part.replace(self.folder / FILE)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """What fails in the block is said of the folder."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{folder} cannot be written ({error.strerror}): name another folder with --out") from error


def read_scores(folder: Path) -> dict[str, Any]:
    """What `scores.json` holds.

    Raises:
        UserError: it cannot be read, or is none of ours.
    """
    try:
        known = json.loads((folder / FILE).read_text(encoding="utf-8"))
        _ = prompts_of(known), known["settings"].keys(), [Asked(**one) for one in known["asked"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{folder / FILE} holds no scores that this version knows: name another folder") from error
    return dict(known)


def prompts_of(known: Mapping[str, Any]) -> list[Scored]:
    """The prompts of such a file."""
    names = [field.name for field in fields(Scored)]
    return [Scored(**{name: row[name] for name in names}) for row in known["prompts"]]
