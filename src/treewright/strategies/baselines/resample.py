"""Direct and Resample: programs for the plain problem, no strategies, no repairs, no Critic (CodeTree, section 4.1).

Both are trees of one layer on the same engine, so budgets, parallelism, resume and the record are those of the searches
they are compared with.
"""

from __future__ import annotations

from treewright.core.orders import depth_first
from treewright.core.task import CodeTask
from treewright.models.base import Model
from treewright.roles.asking import Asker
from treewright.roles.codetree import Critic, Debugger, Solver, Thinker
from treewright.strategies.codetree import CodeTree, Test
from treewright.strategies.codetree_settings import Settings

#: The paper's number of samples.
SAMPLES = 20


def direct(task: CodeTask, model: Model, test: Test, *, seed: int = 0) -> CodeTree:
    """One program at temperature 0, submitted whatever the tests say."""
    return _sampler(task, model, test, seed, samples=1, temperature=0.0)


def resample(task: CodeTask, model: Model, test: Test, *, seed: int = 0, samples: int = SAMPLES) -> CodeTree:
    """Independent programs at temperature 1 until one passes every visible test; else the best by pass rate.

    Args:
        task: what to solve.
        model: who writes.
        test: runs the visible tests.
        seed: of the run.
        samples: most programs, >= 1; the budget may end the search before.
    """
    return _sampler(task, model, test, seed, samples=samples, temperature=1.0)


def _sampler(task: CodeTask, model: Model, test: Test, seed: int, *, samples: int, temperature: float) -> CodeTree:
    ask = Asker(model, seed)
    settings = Settings(
        width=0, depth=1, verification=False, abort=False, scoring=False, plain=samples, plain_temperature=temperature
    )
    return CodeTree(task, Thinker(ask), Solver(ask, temperature), Debugger(ask), Critic(ask), test, depth_first(), settings)
