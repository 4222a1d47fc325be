"""CodeTree as the authors' script runs it, rule by rule.

The numbers in the names of the tests are steps of the script's loop:

    1 strategies, the first one first         5 passes everything: verify, accept, refine
    2 last in first out; how deep; budget     6 fails: value, abort
    3 Solver, then Debugger                   7 reflections
    4 pass rate                               8 what is submitted
"""

from __future__ import annotations

import pytest

from codetree_lab import ALL, NOISE, Make, Plot, Run, official, paper, play, program
from treewright.strategies.codetree import TOP, aborts, score_of
from treewright.strategies.codetree_presets import codetree


def refined(*, passed: dict[str, int], scores: dict[str, int], right: tuple[str, ...] = ()) -> Run:
    """The script on one strategy with one reflection a program."""
    return play(official, Plot(strategies=1, passed=passed, scores=scores, right=right))


def test_1_the_thinker_decides_how_many_strategies_at_most_10_and_the_first_comes_first() -> None:
    for named, kept in ((4, 4), (10, 10), (13, 10)):
        run = play(official, Plot(strategies=named, usual=0), executions=None)
        assert run.executed == [f"0.{k}" for k in range(kept)]
    asked = run.plot.asked("thinker.strategies", "0")
    assert "at most 10" in asked
    assert "exactly" not in asked


def test_2_what_came_last_comes_first_a_strategy_is_followed_down_before_the_next() -> None:
    run = play(official, Plot(strategies=2, usual=2), executions=None)
    assert run.executed == [
        *("0.0", "0.0.0", "0.0.0.0", "0.0.0.1", "0.0.1", "0.0.1.0", "0.0.1.1"),
        *("0.1", "0.1.0", "0.1.0.0", "0.1.0.1", "0.1.1", "0.1.1.0", "0.1.1.1"),
    ]


def test_2_values_never_change_the_order() -> None:
    run = play(official, Plot(strategies=3, passed={"0.2": 2}, scores={"0.0": 1, "0.2": 5}), executions=5)
    assert run.executed == ["0.0", "0.0.0", "0.0.0.0", "0.1", "0.1.0"]


def test_2_no_node_is_deeper_than_3() -> None:
    run = play(official, Plot(strategies=1, usual=1), executions=None)
    assert run.executed == ["0.0", "0.0.0", "0.0.0.0"]
    assert run.fate("0.0.0.0") == "keep"


def test_2_only_programs_count_against_the_budget() -> None:
    run = play(official, Plot(strategies=10, usual=10), executions=20)
    assert len(run.executed) == 20
    assert run.reason == "executions"
    written = len(run.plot.has_asked("solver")) + len(run.plot.has_asked("debugger"))
    assert written == 20 < len(run.plot.requests)


def test_2_an_accepted_node_ends_the_search() -> None:
    run = play(official, Plot(strategies=3, passed={"0.1": ALL}, right=["0.1"], usual=0))
    assert run.executed == ["0.0", "0.1"]
    assert run.reason == "accepted"


def test_3_the_solver_writes_for_strategies_and_the_debugger_for_reflections() -> None:
    run = play(official, Plot(strategies=2), executions=None)
    assert run.plot.has_asked("solver") == ["0.0", "0.1"]
    assert run.plot.has_asked("debugger") == ["0.0.0", "0.0.0.0", "0.1.0", "0.1.0.0"]


def test_3_the_debugger_of_the_script_sees_program_results_and_reflection_but_no_review() -> None:
    passed = {"0.0": ALL, "0.0.0": ALL}
    shown = play(official, Plot(strategies=1, passed=passed)).plot.asked("debugger", "0.0.0")
    for part in (program("0.0").strip(), "Passed 3 of 3", "mend 0.0 in way 0"):
        assert part in shown
    assert "All of 0.0 looked at." not in shown
    # The paper's sees it.
    assert "All of 0.0 looked at." in play(paper, Plot(strategies=1, passed=passed)).plot.asked("debugger", "0.0.0")


def test_3_the_debugger_chat_ends_with_the_reflection_as_its_own_and_a_last_request() -> None:
    run = play(official, Plot(strategies=1))
    request = next(r for r in run.plot.requests if r.caller.role == "debugger")
    assert [message.speaker for message in request.messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "mend 0.0 in way 0" in request.messages[4].text


@pytest.mark.parametrize(("passed", "value"), [(0, 0.0), (1, 1 / 3), (2, 2 / 3)])
def test_4_the_value_begins_with_the_share_of_tests_that_pass(passed: int, value: float) -> None:
    run = refined(passed={"0.0": passed}, scores={"0.0": 0})
    assert run.value("0.0") == pytest.approx(value)


def test_4_every_program_runs_all_visible_tests_once() -> None:
    run = play(official, Plot(strategies=2), executions=None)
    assert run.plot.tested == [(node, program(node)) for node in run.executed]


def test_5_a_verified_program_is_accepted() -> None:
    run = refined(passed={"0.0": ALL}, scores={}, right=("0.0",))
    assert run.fate("0.0") == "accept"
    assert (run.answer.text, run.answer.verified, run.answer.solved) == (program("0.0"), True, True)


def test_5_a_visible_pass_is_worth_one_and_a_third() -> None:
    run = refined(passed={"0.0": ALL}, scores={})
    assert run.value("0.0") == pytest.approx(1.3333, abs=1e-4)
    assert run.value("0.0") == pytest.approx(1 + 5 / 15)


def test_5_a_rejected_program_is_refined_and_the_thinker_reads_why() -> None:
    run = refined(passed={"0.0": ALL}, scores={})
    assert run.fate("0.0") == "expand"
    assert "All of 0.0 looked at." in run.plot.asked("thinker.reflections", "0.0")


def test_5_a_visible_pass_is_verified_and_not_scored() -> None:
    run = refined(passed={"0.0": ALL, "0.0.0": ALL, "0.0.0.0": ALL}, scores={})
    assert run.plot.has_asked("critic.verification") == ["0.0", "0.0.0", "0.0.0.0"]
    assert run.plot.has_asked("critic.outputs") == []


@pytest.mark.parametrize("make", [official, paper, codetree])
def test_5_a_visible_pass_is_never_aborted(make: Make) -> None:
    passing = {f"0.{k}{rest}": ALL for k in range(8) for rest in ("", ".0", ".0.0")}
    for fit in range(6):
        plot = Plot(strategies=2, passed=passing, fits=dict.fromkeys([n for n in passing if n.count(".") > 1], fit))
        run = play(make, plot, executions=6)
        assert not {node for node in run.executed if run.fate(node) == "prune"}


def test_5_at_the_last_layer_a_second_pass_on_one_path_is_accepted_though_rejected() -> None:
    run = refined(passed={"0.0.0": ALL, "0.0.0.0": ALL}, scores={})
    assert run.fate("0.0.0.0") == "accept"
    assert run.answer.text == program("0.0.0.0")
    assert "critic.verification 0.0.0.0" in run.plot.calls


def test_5_at_the_last_layer_a_first_pass_on_its_path_is_kept() -> None:
    run = refined(passed={"0.0.0.0": ALL}, scores={})
    assert run.fate("0.0.0.0") == "keep"
    assert not run.answer.verified


def test_5_above_the_last_layer_a_second_rejected_pass_is_not_accepted() -> None:
    run = refined(passed={"0.0": ALL, "0.0.0": ALL, "0.0.0.0": 1}, scores={})
    assert run.fate("0.0.0") == "expand"
    assert run.tree.accepted is None


def test_6_the_value_is_pass_rate_plus_a_fifteenth_of_the_score() -> None:
    run = refined(passed={"0.0": 2}, scores={"0.0": 3})
    assert run.value("0.0") == pytest.approx(0.8667, abs=1e-4)
    assert score_of(2 / 3, 3) * TOP == pytest.approx(2 / 3 + 3 / 15)
    assert score_of(1, 5) == 1


@pytest.mark.parametrize("score", range(6))
def test_6_a_first_program_without_any_value_is_aborted_and_one_with_some_is_not(score: int) -> None:
    run = refined(passed={}, scores={"0.0": score})
    assert run.value("0.0") == pytest.approx(score / 15)
    assert run.fate("0.0") == ("prune" if score == 0 else "expand")


@pytest.mark.parametrize("score", range(6))
def test_6_a_second_program_equal_to_its_parent_survives_from_score_2_on(score: int) -> None:
    run = refined(passed={"0.0": 1, "0.0.0": 1}, scores={"0.0": score, "0.0.0": score})
    assert run.value("0.0.0") == run.value("0.0")
    assert run.fate("0.0.0") == ("expand" if score >= 2 else "prune")
    assert aborts(0.5, 0.5, 2, score) == (score < 2)


@pytest.mark.parametrize("score", range(6))
def test_6_a_program_worse_than_its_parent_is_aborted_whatever_the_critic_says(score: int) -> None:
    run = refined(passed={"0.0": 2, "0.0.0": 1}, scores={"0.0": 5, "0.0.0": score})
    assert run.fate("0.0.0") == "prune"
    assert run.executed == ["0.0", "0.0.0"]


def test_6_a_program_better_than_its_parent_is_refined() -> None:
    run = refined(passed={"0.0": 1, "0.0.0": 2}, scores={"0.0": 1, "0.0.0": 1})
    assert run.fate("0.0.0") == "expand"


@pytest.mark.parametrize("passed", range(3))
def test_6_a_failing_child_of_a_visible_pass_is_always_aborted(passed: int) -> None:
    run = refined(passed={"0.0": ALL, "0.0.0": passed}, scores={"0.0.0": 5})
    assert run.fate("0.0.0") == "prune"
    assert run.value("0.0.0") < 1.3333


def test_6_a_failing_program_at_the_last_layer_is_kept_without_a_call() -> None:
    run = refined(passed={"0.0.0.0": 2}, scores={})
    assert run.plot.has_asked("critic.outputs") == ["0.0", "0.0.0"]
    assert run.fate("0.0.0.0") == "keep"
    assert run.value("0.0.0.0") == pytest.approx(2 / 3)


def test_6_the_script_throws_away_what_the_critic_writes_about_a_failing_program() -> None:
    run = refined(passed={}, scores={})
    assert "Outputs of 0.0 looked at." not in run.plot.asked("thinker.reflections", "0.0")
    assert "Outputs of 0.0 looked at." not in run.plot.asked("debugger", "0.0.0")


def test_7_the_thinker_names_one_or_several_reflections_at_most_10_and_the_first_comes_first() -> None:
    run = play(official, Plot(strategies=1, reflections={"0.0": 13}, usual=0), executions=None)
    assert run.executed == ["0.0", *(f"0.0.{k}" for k in range(10))]
    assert [run.node(f"0.0.{k}").action.idea for k in range(2)] == ["mend 0.0 in way 0", "mend 0.0 in way 1"]
    asked = run.plot.asked("thinker.reflections", "0.0")
    assert "at most 10" in asked
    assert "exactly" not in asked


def test_7_aborted_programs_get_no_reflections() -> None:
    run = play(official, Plot(strategies=2, scores={"0.0": 0}), executions=None)
    assert run.plot.has_asked("thinker.reflections") == ["0.1", "0.1.0"]


def test_8_the_script_submits_the_last_program_that_failed_and_throws_rejected_passes_away() -> None:
    passed = {"0.0": 2, "0.1": ALL, "0.2": 1, "0.3": ALL}
    run = play(official, Plot(strategies=4, passed=passed, usual=0), executions=None)
    assert run.executed == ["0.0", "0.1", "0.2", "0.3"]
    assert run.answer.text == program("0.2")
    assert (run.answer.verified, run.answer.solved) == (False, False)


def test_8_where_none_failed_the_script_submits_the_first() -> None:
    run = play(official, Plot(strategies=2, passed={"0.0": ALL, "0.1": ALL}, usual=0), executions=None)
    assert run.answer.text == program("0.0")
    assert not run.answer.verified


@pytest.mark.parametrize(("width", "most"), [(10, 10), (1, 1)])
def test_a_problem_takes_61_calls_at_most_for_20_programs(width: int, most: int) -> None:
    run = play(official, Plot(strategies=10, usual=width, score=5), executions=20)
    assert len(run.executed) == 20
    assert len(run.plot.requests) <= 1 + 3 * 20 == 61


def test_each_program_takes_three_calls_at_most() -> None:
    run = play(official, Plot(strategies=10, passed={f"0.{k}": ALL for k in range(10)}, usual=1), executions=20)
    for node in run.executed:
        assert sum(call.endswith(f" {node}") for call in run.plot.calls) <= 3


def test_a_verification_that_cannot_be_read_is_no_accept() -> None:
    noise = {("critic.verification", f"0.0{'.0' * deep}"): [NOISE] for deep in range(3)}
    run = play(official, Plot(strategies=1, passed={"0.0": ALL}, replies=noise))
    assert run.tree.accepted is None
    assert run.plot.calls.count("critic.verification 0.0") == run.plot.calls.count("critic.verification 0.0 again") == 1
