"""Tree-of-Code as the paper describes it, rule by rule; the numbers in the names of the tests are the paper's sections.

Where the paper leaves something open the rule is ours, and its test is named "open_point" or says so.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_checks import facts
from tree_of_code_lab import PLAIN, POOL, Played, Plot, fails, gives, play
from treewright.core.errors import UserError
from treewright.core.events import NodeExpanded
from treewright.core.tree import Verdict
from treewright.roles.prompts import Prompt
from treewright.roles.tool_programs import ProgramRun
from treewright.strategies.tree_of_code import PLAIN_FAILURES
from treewright.strategies.tree_of_code_settings import CODE_PROGRAM, PAPER, RECOMMENDED, Draw, Settings


def tree_of(layers: int, width: int, **runs: ProgramRun) -> Played:
    plot = Plot({node.replace("n", "").replace("_", "."): run for node, run in runs.items()})
    return play(plot, Settings(layers=layers, width=width, worded=False))


def test_the_settings_are_the_papers_3_layers_of_3_nodes() -> None:
    assert (PAPER.layers, PAPER.width, PAPER.history) == (3, 3, "full")
    assert (PAPER.strict, PAPER.adaptive, PAPER.distinct, PAPER.worded) == (False, False, False, True)
    assert Settings() == PAPER
    assert PAPER.temperature == 0.7


def test_a_single_program_is_the_papers_1_1() -> None:
    played = play(Plot({"0.0": gives("5")}), CODE_PROGRAM)
    assert (CODE_PROGRAM.layers, CODE_PROGRAM.width) == (1, 1)
    assert (played.executed, played.answer.text, played.answer.verified) == (["0.0"], "5", True)
    assert play(Plot(), CODE_PROGRAM).executed == ["0.0"], "a failure grows nothing"


def test_the_recommended_preset_differs_where_the_paper_leaves_a_question_open() -> None:
    assert Settings(history="summary", adaptive=True, distinct=True, worded=False) == RECOMMENDED


@pytest.mark.parametrize(("layers", "programs"), [(1, 3), (2, 12), (3, 39)])
def test_3_3_open_point_a_the_first_layer_has_m_nodes_and_the_worst_case_is_3_12_or_39(layers: int, programs: int) -> None:
    played = tree_of(layers, 3)
    assert len(played.executed) == programs
    assert [node.id for node in played.tree.root.children] == ["0.0", "0.1", "0.2"]
    assert played.tree.root.outcome is None, "the root holds the task and no program"
    assert max(node.depth for node in played.tree.nodes.values()) == layers
    assert played.reason == "exhausted"


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_3_3_a_tree_that_always_fails_has_every_layer_full(layers: int, width: int, parallel: int) -> None:
    played = play(Plot(), Settings(layers=layers, width=width, worded=False), parallel=parallel)
    depths = Counter(node.depth for node in played.tree.candidates())
    assert depths == {layer: width**layer for layer in range(1, layers + 1)}


def test_3_3_the_best_case_is_one_layer() -> None:
    played = play(Plot(otherwise=gives("5")))
    assert sorted(played.executed) == ["0.0", "0.1", "0.2"]
    assert {node.status.value for node in played.tree.candidates()} == {"closed"}
    assert played.answer.text == "5"
    assert "3 of 3" in played.answer.evidence


def test_3_3_success_ends_its_branch_and_failure_grows_m_children_to_the_last_layer() -> None:
    played = play(Plot({"0.1": gives("5"), "0.0.2": gives("5")}))
    assert played.node("0.1").children == ()
    assert [child.id for child in played.node("0.0").children] == ["0.0.0", "0.0.1", "0.0.2"]
    assert played.node("0.0.2").children == ()
    assert len(played.node("0.0.0").children) == len(played.node("0.2.2").children) == 3
    assert all(not node.children for node in played.tree.candidates() if node.depth == 3)
    assert len(played.executed) == 3 + 6 + 15


def test_a_model_that_fails_first_and_succeeds_later_shows_every_rule_of_a_branch() -> None:
    runs = {
        "0.0": fails("ZeroDivisionError: division by zero"),
        "0.0.0": fails("KeyError: 'price'"), "0.0.0.0": gives("7"), "0.0.0.1": fails(), "0.0.0.2": gives("8"),
        "0.0.1": gives("7"), "0.0.2": gives(""), "0.0.2.0": gives("7"), "0.0.2.1": gives("7"), "0.0.2.2": ProgramRun("timeout"),
        "0.1": gives("7"), "0.2": gives("9"),
    }  # fmt: skip
    played = play(Plot(runs))
    assert sorted(played.executed) == sorted(runs)
    verdicts = {node.id: node.evaluation.verdict for node in played.tree.candidates() if node.evaluation is not None}
    assert [name for name, verdict in verdicts.items() if verdict is Verdict.EXPAND] == ["0.0", "0.0.0", "0.0.2"]
    scores = {node.id: node.score for node in played.tree.candidates()}
    assert all(score == (runs[name].ended == "ok" and bool(runs[name].answer)) for name, score in scores.items())
    assert (played.answer.text, played.answer.verified, played.answer.node) == ("7", True, "0.1")
    assert played.answer.evidence == "5 of 7 programs that ran to their end say so"


def test_no_layer_waits_for_another() -> None:
    slow = Plot(latency=lambda role, node: 100.0 if (role, node) == ("run", "0.2") else 1.0)
    played = play(slow, parallel=4)
    assert played.executed.index("0.2") > played.executed.index("0.0.0.0"), "layer 3 was reached while layer 1 was at work"
    assert len(played.executed) == 39


def test_3_3_the_layer_above_comes_first_where_both_are_ready() -> None:
    played = play(Plot(), parallel=1)
    assert [name.count(".") for name in played.executed] == [1] * 3 + [2] * 9 + [3] * 27


def test_3_1_a_child_sees_the_thoughts_code_and_results_of_all_its_ancestors() -> None:
    plot = Plot(
        {"0.1": fails("KeyError: 'a'", printed="seen at 0.1"), "0.1.2": fails("KeyError: 'b'", printed="seen at 0.1.2")}
    )
    play(plot)
    shown = plot.asked("0.1.2.0")
    for name, key in (("0.1", "'a'"), ("0.1.2", "'b'")):
        assert f"I think of {name}." in shown
        assert f"print('{name}')" in shown
        assert f"seen at {name}\n" in shown
        assert f"KeyError: {key}" in shown
    assert shown.index("I think of 0.1.\n") < shown.index("I think of 0.1.2.\n"), "oldest first"
    assert "How many?" in shown
    assert "look(x)" in shown


def test_3_1_a_child_sees_nobody_beside_its_path_and_the_first_layer_sees_nobody() -> None:
    plot = Plot()
    play(plot)
    shown = plot.asked("0.1.2")
    assert "I think of 0.1." in shown
    assert not [name for name in ("0.0", "0.2", "0.1.0", "0.1.1") if f"I think of {name}." in shown]
    assert "Attempt" not in plot.asked("0.0")


def test_3_1_a_failure_is_reflected_on_and_a_first_program_is_not() -> None:
    plot = Plot()
    play(plot)
    roles = {request.caller.node: request.caller.role for _, request in plot.requests}
    assert {roles[name] for name in ("0.0", "0.1", "0.2")} == {"programmer"}
    assert {role for name, role in roles.items() if name.count(".") > 1} == {"programmer.reflect"}
    assert "Say what went wrong" in plot.asked("0.0.0")
    assert "Say what went wrong" not in plot.asked("0.0")


def test_open_question_a_summary_shows_the_parent_in_full_and_the_others_in_brief() -> None:
    plot = Plot({"0.0": fails("KeyError: 'a'", printed="seen")})
    play(plot, Settings(history="summary", worded=False))
    shown = plot.asked("0.0.0.0")
    assert "print('0.0.0')" in shown
    assert "print('0.0')" not in shown
    assert "I think of 0.0." in shown
    assert "KeyError: 'a'" in shown


@pytest.mark.parametrize("ended", ["error", "timeout", "memory", "killed", "output"])
def test_open_point_b_a_program_that_does_not_end_normally_has_failed_even_with_an_answer(ended: str) -> None:
    played = play(Plot({"0.0": ProgramRun(ended, "5", final=True)}, otherwise=gives("6")), parallel=1)
    assert played.node("0.0").score == 0.0
    assert [child.id for child in played.node("0.0").children] == ["0.0.0", "0.0.1", "0.0.2"]
    assert played.answer.text == "6"


def test_open_point_b_a_program_without_an_answer_has_failed() -> None:
    played = play(Plot({"0.0": gives("")}, otherwise=gives("6")), Settings(layers=2, worded=False))
    assert len(played.node("0.0").children) == 3
    assert "5 of 5" in played.answer.evidence


def test_open_point_b_what_was_printed_is_an_answer_too() -> None:
    played = play(Plot(otherwise=ProgramRun("ok", "5", "5\n")))
    assert (played.answer.text, played.answer.verified) == ("5", True)


def test_open_point_b_a_swallowed_error_of_a_tool_is_a_failure_only_if_strict() -> None:
    plot = Plot({"0.0": gives("5", tool_errors=1)}, otherwise=gives("6"))
    assert play(plot).node("0.0").children == ()
    strict = play(plot, Settings(strict=True, worded=False))
    assert len(strict.node("0.0").children) == 3
    assert "5 of 5" in strict.answer.evidence


def test_a_reply_without_an_execute_block_is_a_failed_node_after_one_repair_ask() -> None:
    plot = Plot(replies={("programmer", "0.0"): "I would rather not."})
    played = play(plot)
    outcome = played.node("0.0").outcome
    assert outcome is not None
    assert (outcome.program, outcome.run.ended) == ("", "error")
    assert [r.caller.attempt for _, r in plot.requests if r.caller.node == "0.0"] == [0, 1]
    assert "0.0" not in [node for node, _ in plot.ran], "nothing was run"
    assert len(played.node("0.0").children) == 3
    assert "the model wrote no program" in plot.asked("0.0.0")


def test_the_first_execute_block_is_the_program_and_runs_once() -> None:
    reply = "<thought>Two ways.</thought>\n<execute>\none()\n</execute>\n<execute>\ntwo()\n</execute>"
    plot = Plot({"0.0": gives("1")}, replies={("programmer", "0.0"): reply})
    played = play(plot, CODE_PROGRAM)
    assert plot.ran == [("0.0", "one()")]
    outcome = played.node("0.0").outcome
    assert outcome is not None
    assert outcome.thought == "Two ways."


def test_3_2_1_each_node_draws_a_model_and_a_prompt_and_gets_them() -> None:
    plot = Plot()
    played = play(plot, models=4)
    draws = played.draws()
    assert {draw.model for draw in draws.values()} == {0, 1, 2, 3}
    assert {draw.prompt for draw in draws.values()} == {"brave", "calm", "dry"}
    for name, request in plot.requests:
        draw = draws[request.caller.node]
        assert name == f"model {draw.model + 1}"
        assert request.messages[0].text.startswith(f"Be {draw.prompt}.")
        assert request.temperature == 0.7


def test_3_2_1_every_pair_is_as_likely_as_any_other() -> None:
    seen: Counter[Draw] = Counter()
    for seed in range(60):
        seen += Counter(play(Plot(), models=2, seed=seed).draws().values())
    assert len(seen) == 6
    each = sum(seen.values()) / 6
    assert all(0.8 * each < times < 1.2 * each for times in seen.values()), seen


def test_3_2_1_siblings_may_draw_the_same_unless_they_are_to_be_distinct() -> None:
    def twins(chosen: Settings, seed: int) -> bool:
        siblings = [draw for name, draw in play(Plot(), chosen, seed=seed).draws().items() if name.count(".") == 1]
        return len(set(siblings)) < len(siblings)

    alone = Settings(layers=1, worded=False)
    assert any(twins(alone, seed) for seed in range(10))
    assert not any(twins(Settings(layers=1, worded=False, distinct=True), seed) for seed in range(10))


def test_distinct_siblings_begin_again_when_the_pairs_are_used_up() -> None:
    played = play(Plot(), Settings(layers=1, width=5, distinct=True, worded=False))
    assert len(played.executed) == 5
    assert set(played.draws().values()) == {Draw(0, prompt.name) for prompt in POOL}


def test_the_draw_follows_from_the_seed_and_never_from_timing() -> None:
    latencies = [lambda *_: 0.0, lambda role, node: float(len(role) * hash_of(node) % 7), lambda *_: 3.0]
    drawn = [play(Plot(latency=late), models=3, parallel=1 + 2 * k, seed=5).draws() for k, late in enumerate(latencies)]
    assert drawn[0] == drawn[1] == drawn[2]
    assert play(Plot(), models=3, seed=6).draws() != drawn[0]


def hash_of(node: str) -> int:
    return sum(ord(letter) * place for place, letter in enumerate(node, 1))


def test_a_search_that_goes_on_draws_what_it_would_have_drawn() -> None:
    whole = play(Plot(), models=3, parallel=1)
    for cut in (1, 5, 17):
        again = play(Plot(), models=3, parallel=1, known=whole.events[:cut])
        assert facts(again.tree) == facts(whole.tree)


def test_a_pool_that_has_lost_what_was_drawn_is_the_users_error() -> None:
    known = [event for event in play(Plot(), models=3).events if isinstance(event, NodeExpanded)][:1]
    with pytest.raises(UserError, match=r"the prompt '.*', which its pool does not hold any more"):
        play(Plot(), models=3, pool=(Prompt("new", "Be new."),), known=known)
    assert {draw.model for draw in play(Plot(), models=3, known=known, executions=3).draws().values()} != {0}
    with pytest.raises(UserError, match=r"the model [23], which its pool does not hold any more"):
        play(Plot(), models=1, known=known)


@pytest.mark.parametrize("kind", PLAIN_FAILURES)
def test_adaptive_width_gives_a_failure_that_says_what_to_mend_one_child(kind: str) -> None:
    runs = {"0.0": fails(f"Traceback (most recent call last):\n  File ...\n{kind}: see above")}
    adaptive = play(Plot(runs, otherwise=gives("5")), Settings(adaptive=True, worded=False))
    assert [child.id for child in adaptive.node("0.0").children] == ["0.0.0"]
    assert len(adaptive.tree.root.children) == 3, "the first layer is full"
    assert len(play(Plot(runs, otherwise=gives("5"))).node("0.0").children) == 3


def test_adaptive_width_leaves_every_other_failure_its_m_children() -> None:
    runs = {"0.0": fails("ValueError: no such city"), "0.1": ProgramRun("timeout", error="it ran too long"), "0.2": gives("")}
    played = play(Plot(runs, otherwise=gives("5")), Settings(adaptive=True, worded=False))
    assert [len(child.children) for child in played.tree.root.children] == [3, 3, 3]


def test_adaptive_width_gives_a_reply_without_a_program_one_child() -> None:
    plot = Plot(otherwise=gives("5"), replies={("programmer", "0.0"): "no"})
    assert len(play(plot, Settings(adaptive=True, worded=False)).node("0.0").children) == 1


@pytest.mark.parametrize(("layers", "width"), [(0, 3), (3, 0), (-1, 1)])
def test_a_tree_that_holds_no_program_is_refused(layers: int, width: int) -> None:
    with pytest.raises(UserError, match="give at least 1 of each"):
        Settings(layers=layers, width=width)


def test_what_a_layer_had_to_say_of_a_failure_is_its_feedback() -> None:
    evaluation = play(Plot({"0.0": fails("KeyError: 'a'")})).node("0.0").evaluation
    assert evaluation is not None
    assert "KeyError: 'a'" in evaluation.feedback


def test_a_plain_setting_is_the_papers_but_for_the_wording() -> None:
    assert Settings(worded=False) == PLAIN
