"""CodeTree beyond its rules: ablations, judges without an opinion, models that write nothing, tasks without tests, resuming."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codetree_lab import ALL, NOISE, TASK, UNTESTED, Make, Plot, fenced, official, paper, play, program, report
from tree_checks import contents, facts
from treewright.core.tree import Node, node_seed
from treewright.roles.codetree import Attempt
from treewright.sandbox.harness import Report, TestResult
from treewright.strategies.codetree import attempt
from treewright.strategies.codetree_presets import codetree, codetree_bfs, codetree_dfs, strategy_list
from treewright.strategies.codetree_settings import CodeAction, CodeOutcome

AGENTS = [official, paper, codetree]
EVERY = [*AGENTS, codetree_bfs, codetree_dfs, strategy_list]
FIRST = "0.0"


# Table 4: the three ablations.


@pytest.mark.parametrize("make", AGENTS)
def test_without_verification_the_first_visible_pass_is_accepted(make: Make) -> None:
    plot = Plot(strategies=2, passed={FIRST: ALL})
    run = play(make, plot, without=["verification"])
    assert run.executed == [FIRST]
    assert (run.answer.verified, run.answer.text) == (True, program(FIRST))
    assert not [call for call in plot.calls if call.startswith("critic")]


@pytest.mark.parametrize("make", [official, paper])
def test_without_abort_every_failing_program_is_refined_to_the_last_layer(make: Make) -> None:
    plot = Plot(strategies=1, passed={FIRST: 2, "0.0.0": 0}, scores={FIRST: 5, "0.0.0": 0})
    assert play(make, plot, without=["abort"]).executed == [FIRST, "0.0.0", "0.0.0.0"]
    assert play(make, plot).executed == [FIRST, "0.0.0"]


@pytest.mark.parametrize("make", AGENTS)
def test_without_scoring_the_tests_alone_make_the_score_and_the_feedback(make: Make) -> None:
    plot = Plot(strategies=2, passed={FIRST: 2, "0.1": ALL})
    run = play(make, plot, without=["scoring"])
    asked = {call.split()[0] for call in plot.calls}
    assert not asked & {"critic.outputs", "critic.strategy"}
    assert "critic.verification" in asked
    assert run.value(FIRST) == pytest.approx(2 / 3)
    node = run.node(FIRST)
    assert node.evaluation
    assert node.evaluation.feedback == ""


def test_without_scoring_a_program_worse_than_its_parent_is_still_aborted() -> None:
    run = play(official, Plot(strategies=1, passed={FIRST: 2, "0.0.0": 1}), without=["scoring"])
    assert run.fate("0.0.0") == "prune"
    # A pass rate of 0 gives no reason to abort where there is no Critic to be asked.
    assert play(official, Plot(strategies=1), without=["scoring"]).fate(FIRST) == "expand"


def test_all_three_can_be_left_out_at_once() -> None:
    plot = Plot(strategies=2, passed={"0.1": ALL})
    run = play(official, plot, without=["scoring", "abort", "verification"])
    assert run.executed == [FIRST, "0.0.0", "0.0.0.0", "0.1"]
    assert not [call for call in plot.calls if call.startswith("critic")]


# A judge that cannot be read has no opinion.


def test_no_opinion_on_the_outputs_is_a_neutral_score_that_is_marked_and_aborts_nothing() -> None:
    run = play(official, Plot(strategies=1, replies={("critic.outputs", FIRST): [NOISE]}))
    evaluation = run.node(FIRST).evaluation
    assert evaluation
    assert run.value(FIRST) == pytest.approx(2.5 / 15)
    assert (evaluation.verdict.value, evaluation.opinion, evaluation.feedback) == ("expand", False, "")


def test_no_opinion_aborts_nothing_even_where_the_program_got_worse() -> None:
    plot = Plot(strategies=1, passed={FIRST: 2}, replies={("critic.outputs", "0.0.0"): [NOISE]})
    run = play(official, plot)
    assert run.node("0.0.0").score < run.node(FIRST).score
    assert run.fate("0.0.0") == "expand"


def test_no_opinion_on_the_strategy_is_neutral_and_marked() -> None:
    for passed in (1, ALL):
        known = play(paper, Plot(strategies=1, passed={FIRST: passed}, fits={FIRST: 0})).node(FIRST)
        unknown = play(paper, Plot(strategies=1, passed={FIRST: passed}, replies={("critic.strategy", FIRST): [NOISE]})).node(
            FIRST
        )
        assert unknown.evaluation
        assert not unknown.evaluation.opinion
        assert unknown.score == pytest.approx(known.score + 2.5 / 20)


@pytest.mark.parametrize("make", AGENTS)
def test_no_opinion_on_a_visible_pass_is_never_an_accept_and_the_program_can_be_submitted(make: Make) -> None:
    plot = Plot(strategies=1, passed={FIRST: ALL}, replies={("critic.verification", FIRST): [NOISE]}, usual=0)
    run = play(make, plot, executions=1)
    evaluation = run.node(FIRST).evaluation
    assert evaluation
    assert (evaluation.verdict.value, evaluation.opinion) == ("keep", False)
    assert run.node(FIRST).score > 0.5
    assert (run.answer.text, run.answer.verified, run.answer.solved) == (program(FIRST), False, True)


def test_one_repair_ask_is_enough_for_an_opinion() -> None:
    run = play(official, Plot(strategies=1, replies={("critic.outputs", FIRST): [NOISE, "4"]}))
    assert run.value(FIRST) == pytest.approx(4 / 15)
    assert run.plot.calls.count("critic.outputs 0.0 again") == 1


# Models that do not write what they should.


@pytest.mark.parametrize("make", EVERY)
def test_a_thinker_that_cannot_be_read_leaves_a_plain_program_to_be_tried(make: Make) -> None:
    plot = Plot(replies={("thinker.strategies", "0"): [NOISE]}, passed={FIRST: ALL}, right=[FIRST])
    run = play(make, plot)
    assert run.node(FIRST).action.idea == ""
    assert (run.answer.text, run.answer.verified) == (program(FIRST), True)
    assert plot.calls[:3] == ["thinker.strategies 0", "thinker.strategies 0 again", "solver 0.0"]
    assert "strategy" not in plot.asked("solver", FIRST)


def test_a_thinker_without_a_plan_ends_that_path_alone() -> None:
    plot = Plot(strategies=2, replies={("thinker.reflections", FIRST): [NOISE]})
    run = play(official, plot)
    assert run.executed == [FIRST, "0.1", "0.1.0", "0.1.0.0"]


@pytest.mark.parametrize("make", EVERY)
def test_a_model_that_writes_no_program_is_an_outcome_and_the_search_goes_on(make: Make) -> None:
    plot = Plot(strategies=3, replies={("solver", FIRST): [NOISE]}, passed={"0.1": ALL}, right=["0.1"])
    run = play(make, plot)
    outcome = run.node(FIRST).outcome
    assert outcome
    assert (outcome.program, outcome.report.error) == ("", "the model wrote no program")
    assert (run.fate(FIRST), run.node(FIRST).score) == ("prune", 0.0)
    assert [node for node, _ in plot.tested] == ["0.1"]
    assert run.answer.text == program("0.1")


def test_a_debugger_that_writes_no_program_costs_that_repair_alone() -> None:
    run = play(official, Plot(strategies=1, reflections={FIRST: 2}, replies={("debugger", "0.0.0"): [NOISE]}))
    assert run.executed[:3] == [FIRST, "0.0.0", "0.0.1"]
    assert run.fate("0.0.0") == "prune"


@pytest.mark.parametrize("make", EVERY)
def test_where_no_program_was_written_there_is_no_answer(make: Make) -> None:
    every = {("solver", f"0.{k}"): [NOISE] for k in range(40)}
    run = play(make, Plot(strategies=3, replies=every), executions=6)
    assert (run.answer.text, run.answer.verified, run.answer.evidence) == ("", False, "no program was found")


def test_a_program_that_does_not_load_is_judged_like_any_that_fails() -> None:
    broken = Report(tuple(TestResult(test, "error") for test in TASK.tests), error="SyntaxError: invalid syntax")
    run = play(official, Plot(strategies=1, reports={FIRST: broken}))
    assert run.executed == [FIRST, "0.0.0", "0.0.0.0"]
    assert "SyntaxError" in run.plot.asked("debugger", "0.0.0")


def test_without_tests_a_program_that_does_not_load_is_mended() -> None:
    broken = Report((), error="SyntaxError: invalid syntax")
    run = play(official, Plot(strategies=1, task=UNTESTED, reports={FIRST: broken}))
    assert run.fate(FIRST) == "expand"
    assert "critic.verification 0.0" not in run.plot.calls


# Plain programs, and programs that come again.


def test_plain_programs_stand_before_and_after_the_strategies() -> None:
    run = play(codetree, Plot(strategies=2, usual=0), executions=None)
    ideas = [node.action.idea for node in run.tree.root.children]
    priors = [node.proposal.prior for node in run.tree.root.children if node.proposal]
    assert ideas[:3] == ["", "strategy 0", "strategy 1"]
    assert set(ideas[3:]) == {""}
    assert priors[0] > priors[1] == priors[2] > priors[3]
    assert run.executed == [f"0.{k}" for k in range(len(ideas))]


def test_further_plain_programs_are_drawn_warm_and_each_from_a_seed_of_its_own() -> None:
    run = play(codetree, Plot(strategies=1, usual=0), executions=None, seed=7)
    asks = {r.caller.node: r for r in run.plot.requests if r.caller.role == "solver"}
    plain = [asks[f"0.{k}"] for k in range(2, len(asks))]
    assert {request.temperature for request in plain} == {run.strategy.settings.plain_temperature}
    assert len({request.seed for request in plain}) == len(plain)
    assert [request.seed for request in plain[:2]] == [node_seed(7, "0.2", "solver"), node_seed(7, "0.3", "solver")]


def test_a_program_that_equals_one_above_it_is_pruned_without_a_call() -> None:
    again = dict.fromkeys(["0.0.0", "0.0.0.0"], program(FIRST))
    plot = Plot(strategies=0, programs=again, scores={FIRST: 3}, replies={("thinker.strategies", "0"): [NOISE]})
    run = play(codetree, plot, executions=2)
    assert run.executed == [FIRST, "0.0.0"]
    assert run.fate("0.0.0") == "prune"
    assert plot.has_asked("critic.outputs") == [FIRST]
    # The paper's and the script's search judges it again.
    plot = Plot(strategies=1, programs=again, scores={FIRST: 3})
    assert play(official, plot, executions=2).plot.has_asked("critic.outputs") == [FIRST, "0.0.0"]


# Answers.


def test_the_evidence_counts_the_checks_of_the_report() -> None:
    assert play(paper, Plot(strategies=1, passed={FIRST: 2}, usual=0)).answer.evidence.endswith("2 of 3 visible tests")
    # One test of a task may hold several checks.
    five = Report((*report(ALL).results, *report(1).results[:2]))
    run = play(paper, Plot(strategies=1, usual=0, reports={FIRST: five}))
    assert run.answer.evidence == "node 0.0, unverified: it passes 4 of 5 visible tests"


@pytest.mark.parametrize("make", EVERY)
def test_a_task_without_tests_gets_a_few_programs_and_an_unverified_answer_that_says_why(make: Make) -> None:
    run = play(make, Plot(strategies=10, task=UNTESTED), executions=None)
    assert len(run.executed) <= 4
    assert run.answer.text
    assert (run.answer.verified, run.answer.solved) == (False, False)
    assert run.answer.evidence.endswith("unverified: the task has no tests")


@pytest.mark.parametrize("make", AGENTS)
def test_without_tests_the_first_program_that_the_critic_finds_right_ends_the_search_unverified(make: Make) -> None:
    run = play(make, Plot(strategies=3, task=UNTESTED, right=["0.1", "0.2"]), executions=None)
    assert run.answer.text == program("0.1")
    assert not run.answer.verified
    assert [run.fate(node) for node in run.executed] == ["keep", "accept"]


@pytest.mark.parametrize("make", AGENTS)
def test_without_tests_and_without_a_word_for_it_no_program_is_accepted(make: Make) -> None:
    run = play(make, Plot(strategies=3, task=UNTESTED), executions=None)
    assert {run.fate(node) for node in run.executed} == {"keep"}


@pytest.mark.parametrize("make", AGENTS)
def test_without_tests_no_opinion_stands_between_yes_and_no(make: Make) -> None:
    noise = {("critic.verification", "0.1"): [NOISE]}
    run = play(make, Plot(strategies=2, task=UNTESTED, right=["0.2"], replies=noise), executions=None)
    no, unknown, yes = (run.node(f"0.{k}") for k in range(3))
    assert no.score < unknown.score < yes.score
    assert unknown.evaluation
    assert not unknown.evaluation.opinion


# The tree is the only state.


def latencies(seed: int) -> Plot:
    """A plot with ties, whose calls take times of their own."""
    draw = Random(seed)
    nodes = [f"0.{a}{b}{c}" for a in range(3) for b in ("", ".0", ".1") for c in (("", ".0", ".1") if b else ("",))]
    return Plot(
        strategies=3,
        usual=2,
        passed={node: draw.randint(0, 2) for node in nodes},
        scores={node: draw.randint(0, 5) for node in nodes},
        latency=lambda role, node: Random(node_seed(seed, node, role)).randint(0, 16) / 8,
    )


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.integers(2, 16), st.sampled_from(EVERY))
def test_however_many_steps_run_at_once_each_node_holds_the_same_and_so_does_the_answer(
    seed: int, parallel: int, make: Make
) -> None:
    alone = play(make, latencies(seed), executions=None)
    crowd = play(make, latencies(seed), executions=None, parallel=parallel)
    assert contents(crowd.tree) == contents(alone.tree)
    assert crowd.answer == alone.answer
    assert sorted(crowd.plot.calls) == sorted(alone.plot.calls)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.integers(0, 60), st.sampled_from(EVERY))
def test_a_search_cut_anywhere_goes_on_to_the_same_tree_and_answer(seed: int, cut: int, make: Make) -> None:
    whole = play(make, latencies(seed), executions=30)
    known = whole.events[:cut]
    rest = play(make, latencies(seed), executions=30, known=known)
    assert facts(rest.tree) == facts(whole.tree)
    assert rest.answer == whole.answer
    assert [*known, *rest.events] == whole.events


def test_a_strategy_can_be_used_for_one_search_after_the_other() -> None:
    first = play(official, latencies(3))
    again = play(lambda *_: first.strategy, latencies(3))
    assert facts(again.tree) == facts(first.tree)


def test_a_strategy_holds_no_state() -> None:
    strategy = play(codetree, Plot()).strategy
    for part in (strategy, strategy.settings, strategy.thinker, strategy.solver, strategy.debugger, strategy.critic):
        with pytest.raises(FrozenInstanceError):
            setattr(part, fields(part)[0].name, None)


def test_a_node_that_was_not_executed_is_no_attempt() -> None:
    node: Node[CodeAction, CodeOutcome] = Node("0.4")
    with pytest.raises(ValueError, match=r"0\.4"):
        attempt(node)
    run = play(paper, Plot(strategies=1, passed={FIRST: 1}))
    assert attempt(run.node(FIRST)) == Attempt(
        "strategy 0",
        program(FIRST),
        run.node(FIRST).outcome.report,  # type: ignore[union-attr]  # it was executed
        "Outputs of 0.0 looked at.\n3\nStrategy of 0.0 looked at.\n3",
    )


def test_one_prompt_is_as_long_at_the_last_layer_as_at_the_second() -> None:
    code = "def f(x):\n    return x\n"
    run = play(official, Plot(strategies=1, programs=dict.fromkeys(["0.0", "0.0.0", "0.0.0.0"], code)))
    for role, upper, lower in (("debugger", "0.0.0", "0.0.0.0"), ("thinker.reflections", "0.0", "0.0.0")):
        grown = len(run.plot.asked(role, lower)) - len(run.plot.asked(role, upper))
        assert abs(grown) < 20, role  # the idea of the node alone: "strategy 0" or "mend 0.0 in way 0"
    assert fenced(code).strip() in run.plot.asked("debugger", "0.0.0.0")
