"""Presets and variants: what they are made of. The numbers of "recommended" and "small" are free to change."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from codetree_lab import ALL, TASK, Make, Plot, official, paper, play
from treewright.core.errors import UserError
from treewright.core.tree import Evaluation, Proposal, Verdict
from treewright.roles.codetree import CODE_TOKENS, FEEDBACK_CHARS, TALK_TOKENS
from treewright.strategies.codetree import CodeTree
from treewright.strategies.codetree_presets import (
    ABLATIONS,
    OFFICIAL,
    PAPER,
    PRESETS,
    RECOMMENDED,
    SMALL,
    STRATEGY_LIST,
    VARIANT,
    codetree,
    codetree_bfs,
    codetree_dfs,
    preset_named,
    promise,
    strategy_list,
)
from treewright.strategies.codetree_settings import (
    CodeAction,
    CodeOutcome,
    CodeSearch,
    Settings,
    best_scored,
    first_passing,
    last_failing,
)

VARIANTS = [codetree_bfs, codetree_dfs, strategy_list]


def made(make: Make, **settings: object) -> CodeTree:
    plot = Plot()
    return make(TASK, plot, plot.test, **settings)


def test_the_paper_differs_from_the_script_in_its_score_its_feedback_and_its_submission() -> None:
    script = Settings(fallback=last_failing)
    assert script == OFFICIAL
    assert replace(script, fidelity=True, analysis=True, fallback=best_scored) == PAPER
    assert (PAPER.width, PAPER.depth) == (OFFICIAL.width, OFFICIAL.depth) == (10, 3)


def test_the_variants_are_3_wide_without_a_critic_and_the_list_is_20_long_without_repairs() -> None:
    critic = {"verification": False, "abort": False, "scoring": False}
    assert Settings(width=3, exactly=True, depth=3, fallback=first_passing, **critic) == VARIANT
    assert replace(VARIANT, width=20, depth=1, top_up=True) == STRATEGY_LIST


def test_recommended_is_the_script_with_plain_programs_and_the_best_score_submitted() -> None:
    assert RECOMMENDED.plain > 0
    assert RECOMMENDED.drop_repeats
    assert RECOMMENDED.analysis
    assert (RECOMMENDED.verification, RECOMMENDED.abort, RECOMMENDED.scoring, RECOMMENDED.fidelity) == (True, True, True, False)
    assert RECOMMENDED.fallback is best_scored


def test_small_never_asks_a_critic() -> None:
    assert not SMALL.verification
    assert not SMALL.scoring
    run = play(codetree, Plot(strategies=2, passed={"0.0": 1, "0.1": 2}), preset="small")
    assert not [call for call in run.plot.calls if call.startswith("critic")]
    assert {call.split()[0] for call in run.plot.calls} == {"thinker.strategies", "thinker.reflections", "solver", "debugger"}
    passing = play(codetree, Plot(strategies=2, passed={"0.1": ALL}), preset="small")
    assert (passing.answer.node, passing.answer.verified) == ("0.1", True)


@pytest.mark.parametrize("make", [official, paper, codetree_bfs, codetree_dfs])
def test_papers_temperatures_are_0_everywhere(make: Make) -> None:
    plot = Plot(strategies=3, passed={"0.0": ALL, "0.1": 1})
    play(make, plot)
    assert {request.temperature for request in plot.requests} == {0.0}


def test_the_strategy_list_writes_at_08_and_thinks_at_0() -> None:
    strategy = made(strategy_list)
    assert (strategy.solver.temperature, strategy.thinker.temperature, strategy.debugger.temperature) == (0.8, 0.0, 0.0)


@pytest.mark.parametrize("preset", ["recommended", "small"])
def test_where_programs_are_drawn_warm_thinker_and_critic_stay_cold(preset: str) -> None:
    strategy = made(codetree, preset=preset)
    assert strategy.solver.temperature == strategy.debugger.temperature > 0
    assert strategy.thinker.temperature == strategy.critic.temperature == 0


def test_replies_have_the_length_and_feedback_the_bound_of_the_script() -> None:
    assert (CODE_TOKENS, TALK_TOKENS, FEEDBACK_CHARS) == (4096, 2048, 2500)
    plot = Plot(strategies=1, passed={"0.0": ALL})
    play(paper, plot)
    lengths = {request.caller.role: request.max_tokens for request in plot.requests}
    assert {role for role, tokens in lengths.items() if tokens == 4096} == {"solver", "debugger"}
    assert set(lengths.values()) == {4096, 2048}


def test_only_the_script_hides_the_review_from_the_debugger() -> None:
    assert {preset: made(codetree, preset=preset).debugger.sees_review for preset in PRESETS} == {
        preset: preset != "official" for preset in PRESETS
    }


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_solves_and_uses_its_seed(preset: str) -> None:
    plots = [Plot(strategies=2, passed={"0.1": ALL}, right=["0.1"]) for _ in range(3)]
    runs = [play(codetree, plot, preset=preset, seed=seed) for plot, seed in zip(plots, (1, 1, 2), strict=True)]
    assert [run.answer.node for run in runs] == ["0.1"] * 3
    seeds = [[request.seed for request in plot.requests] for plot in plots]
    assert seeds[0] == seeds[1]
    assert not set(seeds[0]) & set(seeds[2])


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_switches_one_part_off_and_nothing_else(name: str) -> None:
    for preset in PRESETS:
        whole, without = made(codetree, preset=preset).settings, made(codetree, preset=preset, without=[name]).settings
        assert not getattr(without, name)
        assert replace(without, **{name: getattr(whole, name)}) == whole


def test_an_unknown_preset_or_part_is_refused_and_the_known_ones_are_named() -> None:
    assert [preset_named(name) for name in PRESETS] == list(PRESETS)
    for make in (codetree, *VARIANTS):
        with pytest.raises(UserError, match=r"unknown preset 'best': choose one of paper, official, recommended"):
            made(make, preset="best")
    with pytest.raises(UserError, match=r"unknown part 'critic' .*verification, abort, scoring"):
        made(codetree, without=["abort", "critic"])


def test_promise_is_the_own_score_before_that_the_parents_and_at_first_the_prior() -> None:
    tree: CodeSearch = CodeSearch()
    assert promise(tree.root) == 1.0
    tree.expand(tree.root, [Proposal(CodeAction("a"), prior=0.3), Proposal(CodeAction("b"), prior=0.1)])
    first, second = tree.root.children
    assert (promise(first), promise(second)) == (0.3, 0.1)
    outcome = CodeOutcome("program", asyncio.run(Plot().test("0.0", "program")))
    tree.record(first, outcome, Evaluation(0.6, Verdict.EXPAND))
    assert promise(first) == 0.6
    tree.expand(first, [Proposal(CodeAction("c"), prior=0.9)])
    assert promise(first.children[0]) == 0.6
    tree.record(first.children[0], outcome, Evaluation(0.2, Verdict.EXPAND))
    assert promise(first.children[0]) == 0.2
