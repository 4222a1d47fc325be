"""CodeTree as the paper has it, as the authors' script runs it, and as we recommend it; its variants without a Critic.

Every number that differs between them stands here, once. Depths count layers of programs: the scripts count differently
among themselves (the agent starts at 1 and allows 2 repairs at 3, BFS and DFS start at 0 and allow 3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

from treewright.core.errors import UserError
from treewright.core.orders import Frontier, best_first, breadth_first, by_score, depth_first
from treewright.core.task import CodeTask
from treewright.models.base import Model
from treewright.roles.asking import Asker
from treewright.roles.codetree import Critic, Debugger, Solver, Thinker
from treewright.strategies.codetree import CodeTree, Test
from treewright.strategies.codetree_settings import CodeNode, Settings, first_passing, last_failing

Preset = Literal["paper", "official", "recommended", "small"]
PRESETS: tuple[Preset, ...] = ("paper", "official", "recommended", "small")
ABLATIONS = ("verification", "abort", "scoring")

PAPER = Settings(fidelity=True, analysis=True)
OFFICIAL = Settings(fallback=last_failing)
RECOMMENDED = Settings(width=5, plain=20, drop_repeats=True, analysis=True)
#: For models that can write a program but not judge one (the paper finds it at 8B, more so below): no Critic, the tests alone
#: decide, few strategies, and plain samples for the rest of the budget.
SMALL = Settings(width=3, plain=20, drop_repeats=True, verification=False, scoring=False)
#: The variants ask for exactly `width` items and have no Critic: the first program that passes is submitted.
VARIANT = Settings(width=3, exactly=True, verification=False, abort=False, scoring=False, fallback=first_passing)
STRATEGY_LIST = replace(VARIANT, width=20, depth=1, top_up=True)


def promise(node: CodeNode) -> float:
    """How promising a node is, in [0, 1]: its own score, before that its parent's, at the first layer its prior."""
    if node.parent is None:
        return 1.0
    if node.evaluation is None and node.depth == 1:
        return node.proposal.prior if node.proposal else 0.0
    return node.score if node.evaluation is not None else node.parent.score


def codetree(
    task: CodeTask, model: Model, test: Test, *, preset: Preset = "recommended", seed: int = 0, without: Iterable[str] = ()
) -> CodeTree:
    """CodeTree.

    Args:
        task: what to solve.
        model: for all four roles.
        test: runs the visible tests of the task.
        preset: "paper": eq. 7 with strategy fidelity, the most promising node first, the best score is submitted.
            "official": the script's values, order (depth-first) and submission. "recommended": the script's values, the most
            promising node first, plain samples before and after the strategies, the best score is submitted. "small": for
            models too small to judge, "recommended" without a Critic.
        seed: of the run.
        without: ablations of Table 4: any of "verification", "abort", "scoring".

    Raises:
        UserError: an unknown preset or ablation.
    """
    settings = {"paper": PAPER, "official": OFFICIAL, "recommended": RECOMMENDED, "small": SMALL}[preset_named(preset)]
    order = depth_first() if preset == "official" else best_first(promise)
    warm = {"recommended": 0.4, "small": 0.7}.get(preset, 0.0)
    return _build(task, model, test, order, _ablated(settings, without), seed, warm, sees_review=preset != "official")


def codetree_bfs(task: CodeTask, model: Model, test: Test, *, preset: Preset = "recommended", seed: int = 0) -> CodeTree:
    """CodeTree-BFS: a whole layer of siblings at a time, the best of each layer first; no Critic."""
    order = breadth_first(rank=by_score, all_children_first=True)
    return _build(task, model, test, order, replace(VARIANT, depth=_layers(preset)), seed)


def codetree_dfs(task: CodeTask, model: Model, test: Test, *, preset: Preset = "recommended", seed: int = 0) -> CodeTree:
    """CodeTree-DFS: all strategies, then always down from the best; no Critic."""
    order = depth_first(rank=by_score, all_children_first=True)
    return _build(task, model, test, order, replace(VARIANT, depth=_layers(preset)), seed)


def strategy_list(task: CodeTask, model: Model, test: Test, *, preset: Preset = "recommended", seed: int = 0) -> CodeTree:
    """Strategy List: 20 strategies, one program each at temperature 0.8, the first that passes; no repair, no Critic."""
    preset_named(preset)
    return _build(task, model, test, depth_first(), STRATEGY_LIST, seed, warm=0.8, debugger_warm=0.0)


def _build(
    task: CodeTask,
    model: Model,
    test: Test,
    order: Frontier[Any, Any],
    settings: Settings,
    seed: int,
    warm: float = 0.0,
    *,
    debugger_warm: float | None = None,
    sees_review: bool = True,
) -> CodeTree:
    ask = Asker(model, seed)
    debugger = Debugger(ask, sees_review, warm if debugger_warm is None else debugger_warm)
    return CodeTree(task, Thinker(ask), Solver(ask, warm), debugger, Critic(ask), test, order, settings)


def _layers(preset: Preset) -> int:
    """Layers of programs at the paper's d = 3: the script's own count allows one more."""
    return 4 if preset_named(preset) == "official" else 3


def preset_named(name: str) -> Preset:
    """The preset of that name.

    Raises:
        UserError: there is none.
    """
    for preset in PRESETS:
        if preset == name:
            return preset
    raise UserError(f"unknown preset {name!r}: choose one of {', '.join(PRESETS)}")


def _ablated(settings: Settings, without: Iterable[str]) -> Settings:
    switched: dict[str, Any] = {}
    for name in without:
        if name not in ABLATIONS:
            raise UserError(f"unknown part {name!r} to leave out: choose among {', '.join(ABLATIONS)}")
        switched[name] = False
    return replace(settings, **switched)
