"""`treewright prompts`: pools of prompts, looked at and evolved."""

from __future__ import annotations

import json as json_
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from treewright.cli import VERIFIED
from treewright.cli.solve import FLAG, JSON

if TYPE_CHECKING:
    from treewright.evolving import Scored
    from treewright.roles.prompts import Prompt

app = App(name="prompts", help="Pools of prompts that programs with tools are written under.", help_format="plaintext")


@app.command(name="list")
def list_(*, prompts: Path | None = None, json: JSON = False) -> int:
    """List the prompts of a pool, with their scores where they are known.

    Parameters
    ----------
    prompts
        A folder of prompts. Default: the pool that comes with the package.
    json
        Print one JSON object a prompt.
    """
    from treewright.roles.prompts import BUILT_IN, read_pool

    scores = _scores(prompts)
    for prompt in read_pool(prompts or BUILT_IN):
        scored = scores.get(prompt.name)
        if json:
            print(json_.dumps(_as_json(prompt, scored), ensure_ascii=False))
        else:
            known = f"{scored.right}/{scored.tasks}" if scored is not None and scored.right is not None else "-"
            print(f"{prompt.name}  {known}  {_plain(prompt.text.partition(chr(10))[0])}")
    return VERIFIED


@app.command
def show(name: str, /, *, prompts: Path | None = None, json: JSON = False) -> int:
    """Print a prompt.

    Parameters
    ----------
    name
        Of its file, without the ending.
    prompts
        A folder of prompts. Default: the pool that comes with the package.
    json
        Print one JSON object with what is known of it.
    """
    prompt = _prompt(name, prompts)
    print(json_.dumps(_as_json(prompt, _scores(prompts).get(name)), ensure_ascii=False) if json else _plain(prompt.text))
    return VERIFIED


@app.command
def diff(a: str, b: str, /, *, prompts: Path | None = None) -> int:
    """Print what differs between two prompts, line by line.

    Parameters
    ----------
    a
        Name of a prompt: of the pool, tried and not kept, or of the package's own pool.
    b
        Name of the other.
    prompts
        A folder of prompts. Default: the pool that comes with the package.
    """
    from difflib import unified_diff

    one, other = _prompt(a, prompts), _prompt(b, prompts)
    for line in unified_diff(one.text.splitlines(), other.text.splitlines(), f"{a}.md", f"{b}.md", lineterm=""):
        print(_plain(line))
    return VERIFIED


@app.command
def evolve(
    tasks: Path,
    /,
    *,
    out: Path,
    prompts: Path | None = None,
    tools: Annotated[list[str] | None, Parameter(negative="")] = None,
    model: str | None = None,
    budget: Annotated[list[str] | None, Parameter(negative="", allow_leading_hyphen=True)] = None,
    rounds: int = 2,
    variants: int = 3,
    keep: int = 3,
    seed: int = 0,
    parallel: int = 1,
    sandbox: str = "auto",
    base_url: str | None = None,
    journal: Path | None = None,
    json: JSON = False,
    quiet: Annotated[bool, FLAG] = False,
) -> int:
    """Let a model write variants of prompts, score them on tasks, and keep the best. The tasks must be no test set.

    Parameters
    ----------
    tasks
        A JSON Lines file with query, tools, answer and name in each line, or a TOML file with the same in [[tasks]].
    out
        Folder for the prompts that are kept and their scores; taken up again, it is gone on with.
    prompts
        Folder of the prompts to begin with. Default: the pool that comes with the package.
    tools
        A source of tools for tasks that name none; see `treewright ask`. May be repeated.
    model
        Writes variants and programs. Default: TREEWRIGHT_MODEL, else local.
    budget
        The most that one task may cost under one prompt, as for `treewright ask`. Default: 1 program.
    rounds
        How often variants are written.
    variants
        Variants of each kept prompt in each round.
    keep
        Prompts that are kept.
    seed
        Of all randomness.
    parallel
        Most tasks at work at once.
    sandbox
        Isolation of the programs; see `treewright sandbox`.
    base_url
        Address of an OpenAI-compatible server.
    journal
        File the runs are recorded in. Default: TREEWRIGHT_JOURNAL, else the user's own.
    json
        Print one JSON object a prompt that was scored.
    quiet
        Show no progress.
    """
    from treewright.cli.options import read_budget
    from treewright.cli.streams import Screen
    from treewright.core.budget import Limits
    from treewright.evolving import evolve as evolved
    from treewright.evolving import load_exercises
    from treewright.roles.prompts import BUILT_IN

    limits = read_budget(budget or (), default=Limits(executions=1))
    screen = Screen(sys.stderr)
    scored = evolved(
        load_exercises(tasks, tools=tools or ()), out=out, pool=prompts or BUILT_IN, model=model, budget=limits, rounds=rounds,
        variants=variants, keep=keep, seed=seed, parallel=parallel, sandbox=sandbox, base_url=base_url, journal=journal,
        told=lambda line: None if quiet else _tell(screen.write, line),
    )  # fmt: skip
    for one in scored:
        if json:
            print(json_.dumps(_told(one), ensure_ascii=False))
        elif one.kept:
            print(f"{one.name}  {one.right}/{one.tasks}")
    return VERIFIED


def _tell(write: Any, line: str) -> None:
    write(f"{line}\n")


def _plain(text: str) -> str:
    """Text for the screen, where it could steer a terminal; a file gets it as it is."""
    from treewright.cli.printing import visible

    return visible(text) if sys.stdout.isatty() else text


def _prompt(name: str, folder: Path | None) -> Prompt:
    """A prompt of the folder, of those that were tried there, or of the package's pool."""
    from difflib import get_close_matches

    from treewright.core.errors import UserError
    from treewright.evolving.scores import TRIED
    from treewright.roles.prompts import BUILT_IN, read_pool

    pool = {prompt.name: prompt for prompt in read_pool(folder or BUILT_IN)}
    if name in pool:
        return pool[name]
    own = folder / TRIED / name if folder is not None and Path(name).name == name else None
    if own is not None and own.is_dir():
        return read_pool(own)[0]
    known = {prompt.name: prompt for prompt in read_pool(BUILT_IN)} | pool
    if name in known:
        return known[name]
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known))}"
    raise UserError(f"there is no prompt {name!r}; {hint}")


def _scores(folder: Path | None) -> dict[str, Scored]:
    from treewright.evolving.scores import FILE, prompts_of, read_scores

    if folder is None or not (folder / FILE).exists():
        return {}
    return {one.name: one for one in prompts_of(read_scores(folder))}


def _as_json(prompt: Prompt, scored: Scored | None) -> dict[str, Any]:
    return {"name": prompt.name, "text": prompt.text, **({} if scored is None else _told(scored))}


def _told(scored: Scored) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(scored) | {"score": scored.score}
