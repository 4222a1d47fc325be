"""CodeTree as the paper has it, section 3: what follows from what, equation 7, the order, the submission."""

from __future__ import annotations

import pytest

from codetree_lab import ALL, Make, Plot, official, paper, play, program
from treewright.strategies.codetree import paper_score
from treewright.strategies.codetree_presets import codetree


def test_a_strategy_follows_from_the_problem_alone() -> None:
    run = play(official, Plot(strategies=2))
    asked = run.plot.asked("thinker.strategies", "0")
    assert "Write f." in asked
    assert "assert f(1) == 1" in asked
    assert run.plot.has_asked("thinker.strategies") == ["0"]


def test_a_program_follows_from_its_own_strategy_and_the_problem() -> None:
    run = play(official, Plot(strategies=2))
    assert [run.node(f"0.{k}").action.idea for k in range(2)] == ["strategy 0", "strategy 1"]
    asked = run.plot.asked("solver", "0.1")
    assert "Write f." in asked
    assert "strategy 1" in asked
    assert "strategy 0" not in asked


def test_a_reflection_follows_from_feedback_program_strategy_and_problem() -> None:
    run = play(paper, Plot(strategies=1, passed={"0.0": 1}))
    asked = run.plot.asked("thinker.reflections", "0.0")
    parts = ["Write f.", "strategy 0", program("0.0").strip(), "Passed 1 of 3", "assert f(3) == 3"]
    reviews = ["Outputs of 0.0 looked at.", "Strategy of 0.0 looked at."]
    assert [part for part in parts + reviews if part not in asked] == []


def test_a_repair_follows_from_reflection_feedback_and_program() -> None:
    run = play(paper, Plot(strategies=1, passed={"0.0": 1}))
    asked = run.plot.asked("debugger", "0.0.0")
    parts = ["Write f.", program("0.0").strip(), "Passed 1 of 3", "mend 0.0 in way 0", "Outputs of 0.0 looked at."]
    assert [part for part in parts if part not in asked] == []


def test_equation_7_adds_execution_and_critic_and_the_critic_judges_outputs_and_strategy() -> None:
    run = play(paper, Plot(strategies=1, passed={"0.0": 2}, scores={"0.0": 4}, fits={"0.0": 1}))
    # (2/3 + mean of 4/5 and 1/5), scaled from [0, 2]
    assert run.node("0.0").score == pytest.approx((2 / 3 + (4 / 5 + 1 / 5) / 2) / 2)
    better = play(paper, Plot(strategies=1, passed={"0.0": 2}, scores={"0.0": 4}, fits={"0.0": 5}))
    assert better.node("0.0").score > run.node("0.0").score
    assert paper_score(1, 5, 5) == 1
    assert paper_score(0, 0, 0) == 0


def test_equation_7_holds_for_a_program_that_passes_too() -> None:
    run = play(paper, Plot(strategies=1, passed={"0.0": ALL}, fits={"0.0": 2}))
    assert run.node("0.0").score == pytest.approx((1 + (5 / 5 + 2 / 5) / 2) / 2)


def test_the_script_does_not_judge_how_a_strategy_is_carried_out() -> None:
    run = play(official, Plot(passed={"0.0": 1, "0.1": ALL}))
    assert run.plot.has_asked("critic.outputs")
    assert run.plot.has_asked("critic.strategy") == []


def test_the_paper_goes_on_where_it_is_most_promising() -> None:
    plot = Plot(strategies=3, passed={"0.1": 2}, scores={"0.0": 1, "0.1": 5, "0.2": 1}, usual=0)
    run = play(paper, plot, executions=None)
    # 0.1 is the most promising, so it is refined before 0.0, and before the strategies that nobody has tried yet
    asked = run.plot.calls
    assert asked.index("thinker.reflections 0.1") < asked.index("solver 0.2")
    assert asked.index("thinker.reflections 0.1") < asked.index("thinker.reflections 0.0")


def test_the_tree_grows_lazily() -> None:
    run = play(official, Plot(strategies=3, passed={"0.0": ALL}, right=["0.0"]))
    assert run.executed == ["0.0"]
    assert run.plot.has_asked("thinker.reflections") == []


def test_6_the_paper_scores_the_last_layer_too_because_the_best_score_is_submitted() -> None:
    run = play(paper, Plot(strategies=1), executions=None)
    assert run.plot.has_asked("critic.outputs") == ["0.0", "0.0.0", "0.0.0.0"]


def test_8_the_paper_submits_the_best_score_wherever_it_is() -> None:
    plot = Plot(strategies=3, passed={"0.0": 1, "0.1": 2, "0.2": 2}, scores={"0.1": 1, "0.2": 4}, usual=0)
    run = play(paper, plot, executions=None)
    assert run.answer.text == program("0.2")
    assert (run.answer.verified, run.answer.solved, run.answer.node) == (False, False, "0.2")


def test_8_of_equal_scores_the_paper_submits_the_earliest() -> None:
    run = play(paper, Plot(strategies=3, passed={"0.1": 1, "0.2": 1}, usual=0), executions=None)
    assert run.node("0.1").score == run.node("0.2").score > run.node("0.0").score
    assert run.answer.text == program("0.1")


@pytest.mark.parametrize("make", [paper, codetree])
def test_8_a_rejected_pass_outranks_every_failing_program_and_stays_unverified(make: Make) -> None:
    plot = Plot(strategies=2, passed={"0.0": 2, "0.1": ALL}, score=5, fits={"0.0": 5, "0.1": 0}, usual=0)
    run = play(make, plot, executions=3)
    assert run.answer.node == "0.1"
    assert (run.answer.verified, run.answer.solved) == (False, True)
    assert "did not accept" in run.answer.evidence
