"""Direct and Resample: plain programs, nobody else asked."""

from __future__ import annotations

import pytest

from codetree_lab import ALL, NOISE, UNTESTED, Make, Plot, play, program
from treewright.strategies.baselines.resample import SAMPLES, direct, resample


def test_direct_is_one_program_at_temperature_0_submitted_whatever_the_tests_say() -> None:
    run = play(direct, Plot(passed={"0.0": 1}))
    assert run.plot.calls == ["solver 0.0"]
    assert run.plot.requests[0].temperature == 0.0
    assert run.reason == "exhausted"
    assert (run.answer.text, run.answer.verified, run.answer.solved) == (program("0.0"), False, False)


def test_resample_draws_20_programs_at_temperature_1_each_from_a_seed_of_its_own() -> None:
    run = play(resample, Plot(), executions=None, seed=3)
    assert SAMPLES == 20
    assert run.plot.calls == [f"solver 0.{k}" for k in range(20)]
    assert {request.temperature for request in run.plot.requests} == {1.0}
    assert len({request.seed for request in run.plot.requests}) == 20
    assert len({request.messages for request in run.plot.requests}) == 1, "all are asked the same"


def test_resample_stops_at_the_first_that_passes() -> None:
    run = play(resample, Plot(passed={"0.2": ALL, "0.4": ALL}))
    assert run.executed == ["0.0", "0.1", "0.2"]
    assert (run.answer.text, run.answer.verified, run.answer.solved) == (program("0.2"), True, True)


def test_resample_submits_the_best_by_pass_rate_when_none_passes() -> None:
    run = play(resample, Plot(passed={"0.1": 1, "0.3": 2, "0.5": 2}), samples=7)
    assert len(run.executed) == 7
    assert (run.answer.node, run.answer.verified) == ("0.3", False)


def test_resample_stops_where_the_budget_does() -> None:
    run = play(resample, Plot(), executions=4)
    assert (len(run.executed), run.reason) == (4, "executions")


@pytest.mark.parametrize("make", [direct, resample])
def test_a_program_that_was_not_written_is_an_outcome(make: Make) -> None:
    noise = {("solver", f"0.{k}"): [NOISE] for k in range(SAMPLES)}
    run = play(make, Plot(replies=noise))
    assert (run.answer.text, run.answer.evidence) == ("", "no program was found")
    assert run.plot.calls[:2] == ["solver 0.0", "solver 0.0 again"]


@pytest.mark.parametrize("make", [direct, resample])
def test_without_tests_one_program_is_all_and_no_critic_is_asked(make: Make) -> None:
    run = play(make, Plot(task=UNTESTED))
    assert run.plot.calls == ["solver 0.0"]
    assert (run.answer.text, run.answer.verified, run.answer.solved) == (program("0.0"), False, False)
    assert run.answer.evidence.endswith("the task has no tests")


@pytest.mark.parametrize("parallel", [2, 8])
def test_samples_are_the_same_however_many_are_drawn_at_once(parallel: int) -> None:
    plots = [Plot(passed={"0.3": 2, "0.7": 2}) for _ in range(2)]
    alone = play(resample, plots[0], executions=None)
    crowd = play(resample, plots[1], executions=None, parallel=parallel)
    assert {r.caller.node: r for r in plots[0].requests} == {r.caller.node: r for r in plots[1].requests}
    assert crowd.answer == alone.answer
