"""The methods that a benchmark measures: our strategies over one model and one sandbox, opened once for all items."""

from __future__ import annotations

from dataclasses import dataclass

from treewright.answering import EXECUTIONS, answer_async
from treewright.bench.items import Item, Outcome
from treewright.core.budget import Limits
from treewright.core.task import ToolTask
from treewright.journal.base import Journal
from treewright.models.base import Model
from treewright.sandbox.base import Sandbox
from treewright.strategies.tree_of_code_settings import ToolPreset


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A `Solve`: see `treewright.answering.answer_async` for what each part means.

    Args:
        model: an open one.
        sandbox: an open one.
        journal: what the runs are recorded in; None for the user's own.
        strategy: such as "tree-of-code".
        preset: "recommended" or "paper".
        limits: of each run.
        parallel: most steps of a run at once.
    """

    model: Model
    sandbox: Sandbox
    journal: Journal | None = None
    strategy: str = "tree-of-code"
    preset: ToolPreset = "recommended"
    limits: Limits = Limits(executions=EXECUTIONS)  # noqa: RUF009 - a frozen value
    parallel: int = 3

    async def __call__(self, item: Item, seed: int) -> Outcome:
        """One answer to the item."""
        found = await answer_async(
            ToolTask(item.query, name=item.name),
            model=self.model,
            toolbox=item.toolbox,
            strategy=self.strategy,
            preset=self.preset,
            budget=self.limits,
            parallel=self.parallel,
            seed=seed,
            sandbox=self.sandbox,
            journal=self.journal,
        )
        used = found.usage
        return Outcome(
            answer=found.text,
            verified=found.verified,
            ended=found.ended,
            layers=found.layers,
            programs=found.programs,
            words=found.output_words,
            tokens=used.tokens,
            calls=used.calls,
            tool_calls=used.tool_calls,
            seconds=round(used.seconds, 4),
            run=found.run_id,
        )
