"""One prompt put to the test: a single program for each exercise, under the same budget and seed as every other prompt.

Each is a run in the journal, under an id that follows from what is run. So what was paid for is found there, and a run that was
stopped goes on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

from treewright.answering import own_tools, plain_task
from treewright.core.budget import Limits
from treewright.core.voting import normal_form
from treewright.evolving.exercises import Exercise
from treewright.journal.base import Journal
from treewright.models.base import Model
from treewright.opening import Given
from treewright.roles.prompt_evolution import digest
from treewright.runs import resume, start
from treewright.sandbox.base import Sandbox
from treewright.spec import RunSpec, Solution, ToolChoices
from treewright.strategies.tree_of_code_settings import ProgramOutcome

STRATEGY = "code-program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What every prompt is put to.

    Args:
        exercises: one or more.
        model: an open one.
        sandbox: an open one.
        journal: where the runs are recorded.
        limits: of each run.
        parallel: most runs at once, >= 1.
        seed: of each run.
    """

    exercises: Sequence[Exercise]
    model: Model
    sandbox: Sandbox
    journal: Journal
    limits: Limits
    parallel: int
    seed: int

    async def score(self, text: str, pool: Path) -> tuple[int, int]:
        """How many exercises came out right, and the tokens of all of them.

        Args:
            text: the prompt.
            pool: a folder that holds it alone.

        Raises:
            TreewrightError: what a run raises; those that ended are on record.
        """
        seats = asyncio.Semaphore(self.parallel)

        async def one(exercise: Exercise) -> Solution:
            async with seats:
                return await self._run(exercise, text, pool)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(exercise)) for exercise in self.exercises]
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from None  # the others stopped because of it
        solutions = [task.result() for task in tasks]
        right = sum(is_right(done, exercise.answer) for done, exercise in zip(solutions, self.exercises, strict=True))
        return right, sum(done.usage.tokens for done in solutions)

    async def _run(self, exercise: Exercise, text: str, pool: Path) -> Solution:
        spec = RunSpec(
            task=plain_task(exercise.task),
            model=self.model.name,
            strategy=STRATEGY,
            # Many prompts are tried on one task: what is not taken back must not happen at all.
            tools=ToolChoices(prompts=str(pool), commits="dry_run"),
            limits=self.limits,
            seed=self.seed,
            sandbox=self.sandbox.level,
        )
        given = Given(models=(self.model,), sandbox=self.sandbox, toolbox=own_tools(exercise.task))
        run_id = self.run_id(exercise, text)
        if next(self.journal.read(run_id), None) is None:
            return await start(spec, journal=self.journal, run_id=run_id, given=given).go()
        return await resume(run_id, journal=self.journal, given=given).go()

    def run_id(self, exercise: Exercise, text: str) -> str:
        """Equal for equal prompts, exercises, models, budgets and seeds."""
        told = json.dumps([digest(text), exercise.digest, self.model.name, asdict(self.limits), self.seed])
        return f"prompt-{blake2b(told.encode(), digest_size=8).hexdigest()}"


def is_right(done: Solution, answer: str | None) -> bool:
    """Whether its program ran to its end with an answer, and with the right one where that is known."""
    outcomes = (node.outcome for node in done.tree.nodes.values())
    ran = next((outcome.run for outcome in outcomes if isinstance(outcome, ProgramOutcome)), None)
    if ran is None or ran.ended != "ok" or not ran.answer:
        return False
    return answer is None or normal_form(ran.answer) == normal_form(answer)
