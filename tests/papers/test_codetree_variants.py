"""The variants of CodeTree without a Critic, rule by rule: BFS, DFS, Strategy List."""

from __future__ import annotations

import pytest

from codetree_lab import ALL, UNTESTED, Make, Plot, numbered, official, play, program, said
from treewright.strategies.codetree_presets import codetree_bfs, codetree_dfs, strategy_list


@pytest.mark.parametrize("make", [codetree_bfs, codetree_dfs])
def test_variants_ask_for_exactly_3_and_implement_all_strategies_first(make: Make) -> None:
    run = play(make, Plot(strategies=3, passed={"0.1": 1, "0.2": 2}, usual=3))
    assert run.executed[:3] == ["0.0", "0.1", "0.2"]
    assert "exactly 3" in run.plot.asked("thinker.strategies", "0")
    assert "exactly 3" in run.plot.asked("thinker.reflections", "0.2")


@pytest.mark.parametrize("make", [codetree_bfs, codetree_dfs, strategy_list])
def test_variants_have_no_critic_and_abort_nothing(make: Make) -> None:
    run = play(make, Plot(strategies=3, passed={"0.0": 2}), executions=None)
    assert not [call for call in run.plot.calls if call.startswith("critic")]
    assert not [node for node in run.executed if run.fate(node) == "prune"]


def test_bfs_is_a_queue_with_siblings_sorted_by_pass_rate() -> None:
    rates = {"0.0": 0, "0.1": 2, "0.2": 1, "0.1.1": 2, "0.1.0": 1}
    run = play(codetree_bfs, Plot(strategies=3, passed=rates, usual=2), executions=None)
    expanded = run.plot.has_asked("thinker.reflections")
    # all strategies, best first; then the children of the best, best first; then those of the next
    assert expanded == ["0.1", "0.2", "0.0", "0.1.1", "0.1.0", "0.2.0", "0.2.1", "0.0.0", "0.0.1"]
    assert run.executed[3:9] == ["0.1.0", "0.1.1", "0.2.0", "0.2.1", "0.0.0", "0.0.1"]


def test_dfs_is_a_stack_with_the_best_on_top() -> None:
    rates = {"0.0": 0, "0.1": 2, "0.2": 1, "0.1.1": 1}
    run = play(codetree_dfs, Plot(strategies=3, passed=rates, usual=2), executions=None)
    expanded = run.plot.has_asked("thinker.reflections")
    assert expanded == ["0.1", "0.1.1", "0.1.0", "0.2", "0.2.0", "0.2.1", "0.0", "0.0.0", "0.0.1"]
    assert run.executed[3:7] == ["0.1.0", "0.1.1", "0.1.1.0", "0.1.1.1"]


@pytest.mark.parametrize("make", [codetree_bfs, codetree_dfs, strategy_list])
def test_variants_stop_at_the_first_pass_and_submit_it(make: Make) -> None:
    run = play(make, Plot(strategies=3, passed={"0.1": ALL, "0.2": ALL}))
    assert run.executed == ["0.0", "0.1"]
    assert (run.answer.text, run.answer.verified) == (program("0.1"), True)


@pytest.mark.parametrize("make", [codetree_bfs, codetree_dfs, strategy_list])
def test_variants_submit_nothing_that_fails(make: Make) -> None:
    run = play(make, Plot(strategies=3, passed={"0.1": 2}))
    assert (run.answer.text, run.answer.verified, run.answer.solved) == ("", False, False)
    assert run.answer.evidence == "no program passes every visible test"


@pytest.mark.parametrize("make", [codetree_bfs, codetree_dfs])
@pytest.mark.parametrize(("preset", "layers"), [("paper", 3), ("official", 4), ("recommended", 3)])
def test_depth_counts_layers_of_programs_and_the_scripts_of_bfs_and_dfs_allow_one_more(
    make: Make, preset: str, layers: int
) -> None:
    run = play(make, Plot(strategies=1), executions=None, preset=preset)
    assert max(node.depth for node in run.tree.nodes.values()) == layers
    agent = play(official, Plot(strategies=1), executions=None)
    assert max(node.depth for node in agent.tree.nodes.values()) == 3


def test_the_strategy_list_names_20_and_writes_a_program_for_each_at_08() -> None:
    run = play(strategy_list, Plot(strategies=20), executions=None)
    assert run.executed == [f"0.{k}" for k in range(20)]
    assert run.plot.has_asked("thinker.strategies") == ["0"]
    assert "exactly 20" in run.plot.asked("thinker.strategies", "0")
    warmth = {r.caller.role: r.temperature for r in run.plot.requests}
    assert warmth == {"thinker.strategies": 0.0, "solver": 0.8}


def test_the_strategy_list_asks_once_more_when_fewer_came() -> None:
    five, more = numbered(*(f"strategy {k}" for k in range(5))), numbered("strategy 1", "another one", "one more")
    run = play(strategy_list, Plot(replies={("thinker.strategies", "0"): [five, more]}), executions=None)
    asked = [said(r) for r in run.plot.requests if r.caller.role == "thinker.strategies"]
    assert len(asked) == 2
    assert "exactly 15" in asked[1]
    assert "- strategy 4" in asked[1]
    ideas = [node.action.idea for node in run.tree.root.children]
    assert ideas == [*(f"strategy {k}" for k in range(5)), "another one", "one more"]


def test_the_strategy_list_repairs_nothing() -> None:
    run = play(strategy_list, Plot(strategies=3, passed={"0.0": 2}), executions=None)
    assert {call.split()[0] for call in run.plot.calls} == {"thinker.strategies", "solver"}


@pytest.mark.parametrize("make", [codetree_bfs, codetree_dfs, strategy_list])
def test_variants_answer_a_task_without_tests_unverified(make: Make) -> None:
    run = play(make, Plot(task=UNTESTED, strategies=3))
    assert run.answer.text == program("0.0")
    assert run.answer.evidence.endswith("unverified: the task has no tests")
    assert not [call for call in run.plot.calls if call.startswith("critic")]
