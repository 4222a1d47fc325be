"""Prompt evolution (Tree-of-Code, appendix A.2.2): variants of prompts, scored on exercises, of which the best make the pool.

    score the pool; then, each round: write variants of each kept prompt, score them, keep the best of all

Every prompt is scored on the same exercises under the same budget and seed. The exercises must be no test set: a pool that was
chosen on tasks says nothing about how well it does on them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

from treewright.core.budget import Budget, Limits
from treewright.core.errors import UserError
from treewright.core.events import Event, ModelCalled
from treewright.evolving.exercises import Exercise, load_exercises
from treewright.evolving.scores import Asked, Scored, Scores
from treewright.evolving.trial import STRATEGY, Trial
from treewright.journal.base import Journal
from treewright.journal.places import default_path, open_journal
from treewright.models.base import Model
from treewright.models.factory import build
from treewright.models.metered import Metered, free
from treewright.models.prices import pricing
from treewright.models.throttled import Throttled
from treewright.roles.asking import Asker
from treewright.roles.prompt_evolution import PromptWriter, digest, refusal
from treewright.roles.prompts import BUILT_IN, Prompt, read_pool
from treewright.sandbox.base import Sandbox
from treewright.sandbox.select import Home, select
from treewright.solving import default_model

__all__ = ["Exercise", "Scored", "evolve", "evolve_async", "load_exercises"]

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Plan:
    """How long it goes on, and how wide."""

    rounds: int
    variants: int
    keep: int
    seed: int


async def evolve_async(
    exercises: Sequence[Exercise],
    *,
    out: Path,
    pool: Path = BUILT_IN,
    model: str | Model | None = None,
    budget: int | Limits = 1,
    rounds: int = 2,
    variants: int = 3,
    keep: int = 3,
    parallel: int = 1,
    seed: int = 0,
    sandbox: Sandbox | str = "auto",
    base_url: str | None = None,
    journal: str | Path | Journal | None = None,
    told: Told = lambda line: None,
) -> list[Scored]:
    """Evolve a pool of prompts and write it to `out`, as `NAME.md` beside `scores.json`.

    At most `len(pool) + rounds * keep * variants` prompts are scored, each with one run an exercise. Taken up with the same
    `out`, nothing that was written or scored is paid again; more rounds may be asked for.

    Args:
        exercises: what prompts are scored on; no test set.
        out: a folder of its own.
        pool: the prompts to begin with.
        model: writes variants and programs: its name, or an open model; None for the environment's, else the embedded one.
        budget: of each run of one exercise.
        rounds: how often variants are written, >= 0.
        variants: of each kept prompt in each round, >= 1.
        keep: prompts of the pool that is written, >= 1.
        parallel: most runs at once, >= 1.
        seed: of all randomness.
        sandbox: isolation of the programs: a level, or an open sandbox.
        base_url: address of an OpenAI-compatible server, for models "openai:NAME".
        journal: file the runs are recorded in, or an open journal; None for the user's own.
        told: is told in a line what has happened.

    Returns:
        All prompts that were scored, best first; the kept ones say so.

    Raises:
        UserError: a number, a task, its tools or a folder cannot be used.
        ModelUnavailable: the model cannot answer; the evolution can be taken up.
        SandboxUnavailable: programs cannot be run in the way asked for.
        JournalError: the runs cannot be recorded.
    """
    plan = _Plan(rounds, variants, keep, seed)
    limits = Limits(executions=budget) if isinstance(budget, int) else budget
    _check(exercises, plan, parallel, out, pool)
    async with AsyncExitStack() as stack:
        if model is None or isinstance(model, str):
            model = await stack.enter_async_context(build(model or default_model(), base_url=base_url))
        scores = Scores(out, _settings(exercises, model, limits, seed))
        if isinstance(sandbox, str):
            sandbox = await select(sandbox, slots=parallel)
            if isinstance(sandbox, Home):
                stack.callback(sandbox.close)
        if journal is None or isinstance(journal, str | Path):
            path = Path(journal) if journal is not None else default_path()
            journal = stack.enter_context(closing(open_journal(path)))
        trial = Trial(
            exercises=exercises, model=model, sandbox=sandbox, journal=journal, limits=limits, parallel=parallel, seed=seed
        )
        return await _evolved(read_pool(pool), plan, trial, scores, told)


def evolve(exercises: Sequence[Exercise], **settings: Any) -> list[Scored]:
    """`evolve_async` for programs that are not asynchronous; same arguments, result and errors."""
    return asyncio.run(evolve_async(exercises, **settings))


async def _evolved(pool: Sequence[Prompt], plan: _Plan, trial: Trial, scores: Scores, told: Told) -> list[Scored]:
    for prompt in pool:
        scores.add(prompt)
    for number in range(plan.rounds + 1):
        for parent in scores.best(plan.keep, number - 1) if number else ():
            if not any(ask.round == number and ask.parent == parent.name for ask in scores.asked):
                await _write_variants(parent, number, plan, trial.model, scores, told)
        await _score_all(trial, scores, number, told)
        scores.keep(frozenset(one.name for one in scores.best(plan.keep, number)))
    return scores.best(len(scores.prompts), plan.rounds)


async def _score_all(trial: Trial, scores: Scores, number: int, told: Told) -> None:
    """Score what has no score yet."""
    scores.save()
    for one in list(scores.prompts.values()):
        if one.right is None and one.round <= number:
            right, tokens = await trial.score(scores.text(one.name), scores.pool(one.name))
            scores.score(one.name, right, len(trial.exercises), tokens)
            told(f"round {number}: {one.name}: {right} of {len(trial.exercises)} right, {tokens:,} tokens")


async def _write_variants(parent: Scored, number: int, plan: _Plan, model: Model, scores: Scores, told: Told) -> None:
    """Ask for variants of one prompt and take in those worth a try; one save for all, so that none is asked for twice."""
    tokens = 0

    def paid(event: Event) -> None:
        nonlocal tokens
        tokens += event.spent.tokens if isinstance(event, ModelCalled) else 0

    metered = Metered(model, Budget(), paid, count(1), pricing(model.name) or free)
    writer = PromptWriter(Asker(Throttled(metered), plan.seed))
    known = [scores.text(name) for name in scores.prompts]
    prompt = Prompt(parent.name, scores.text(parent.name))
    texts = await writer.variants(prompt, plan.variants, f"{number}.{parent.digest}", known)
    refused: dict[str, str] = {}
    for text in texts or ():
        if why := refusal(text, scores.known):
            refused[digest(text)] = why
            told(f"round {number}: a variant of {parent.name} is refused: {why}")
        else:
            scores.add(Prompt(f"{_origin(parent, scores)}-{digest(text)[:6]}", text), parent=parent.name, round=number)
    if not texts:
        told(f"round {number}: the model wrote no variant of {parent.name} that could be read")
    scores.asked.append(Asked(number, parent.name, tokens, refused))
    scores.save()


def _origin(one: Scored, scores: Scores) -> str:
    """The name of the prompt at the start that it comes from."""
    while one.parent:
        one = scores.prompts[one.parent]
    return one.name


def _settings(exercises: Sequence[Exercise], model: Model, limits: Limits, seed: int) -> dict[str, Any]:
    told = blake2b("".join(exercise.digest for exercise in exercises).encode(), digest_size=6).hexdigest()
    budget = {name: most for name, most in asdict(limits).items() if most is not None}
    return {"model": model.name, "tasks": told, "budget": budget, "seed": seed, "strategy": STRATEGY}


def _check(exercises: Sequence[Exercise], plan: _Plan, parallel: int, out: Path, pool: Path) -> None:
    if not exercises:
        raise UserError("there is no task to score prompts on: give one at least")
    for what, number, least in (
        ("rounds", plan.rounds, 0), ("variants", plan.variants, 1), ("keep", plan.keep, 1), ("parallel", parallel, 1),
    ):  # fmt: skip
        if number < least:
            raise UserError(f"{what} is {number}: give at least {least}")
    if out.absolute() == pool.absolute():
        raise UserError(f"{out} holds the prompts to begin with: name another folder with --out")
