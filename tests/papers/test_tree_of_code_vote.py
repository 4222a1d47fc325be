"""The answer of Tree-of-Code (section 3.4): counted, worded by a model; what stands in for it without a success."""

from __future__ import annotations

from functools import partial

import pytest

from tree_of_code_lab import Plot, fails, gives, play
from treewright.strategies.tree_of_code_settings import PAPER, RECOMMENDED, Settings

LONG = "The museum opens at nine in the morning on every day of the week but Monday"
LONGER = "On each day except Mondays, one can visit the museum from nine o'clock onwards"


def test_3_4_the_answer_is_what_most_programs_say_however_they_write_it() -> None:
    runs = {"0.0": gives("1200"), "0.1": gives("The answer is 1,200.00."), "0.2": gives("1300")}
    played = play(Plot(runs))
    assert (played.answer.text, played.answer.node) == ("1200", "0.0")
    assert "2 of 3" in played.answer.evidence
    assert "voter.groups" not in played.plot.roles(), "a count asks nobody"


def test_3_4_only_successful_programs_vote() -> None:
    runs = {"0.0": fails(answer="9"), "0.1": fails(answer="9"), "0.2": gives("5")}
    played = play(Plot(runs), Settings(layers=1, worded=False))
    assert (played.answer.text, played.answer.evidence) == ("5", "1 of 1 programs that ran to their end say so")


def test_a_tie_goes_to_the_earlier_layer() -> None:
    runs = {"0.0": fails(), "0.0.0": gives("2"), "0.0.1": gives("3"), "0.0.2": gives("2"), "0.1": gives("1"), "0.2": gives("1")}
    assert play(Plot(runs)).answer.text == "1"
    assert play(Plot(runs | {"0.2": gives("2")})).answer.text == "2", "votes come before layers"


def test_a_tie_within_a_layer_goes_to_fewer_errors_of_tools_on_the_path_then_to_the_lower_node() -> None:
    runs = {"0.0": gives("1", tool_errors=1), "0.1": gives("2"), "0.2": gives("3")}
    assert play(Plot(runs)).answer.text == "2"
    assert play(Plot(runs | {"0.0": gives("1")})).answer.text == "1"
    deep = {"0.0": fails(tool_errors=2), "0.1": fails(tool_errors=1), "0.2": fails(tool_errors=3)}
    leaves = {f"{name}.{k}": gives(name[-1]) for name in deep for k in range(3)}
    assert play(Plot(deep | leaves)).answer.text == "1", "errors of the ancestors count"


def test_the_order_in_which_programs_end_changes_no_vote() -> None:
    runs = {"0.0": gives("1"), "0.1": gives("2"), "0.2": gives("3")}
    for slow in ("0.0", "0.1", "0.2"):
        seconds = {slow: 9.0}
        played = play(Plot(runs, latency=partial(_late, seconds)))
        assert played.answer.text == "1"


def test_3_4_a_model_tells_which_free_texts_say_the_same_and_never_chooses() -> None:
    runs = {"0.0": gives("I do not know"), "0.1": gives(LONG), "0.2": gives(LONGER)}
    plot = Plot(runs, replies={("voter.groups", "0"): "1: 1\n2: 2\n3: 2", ("voter.words", "0"): "From nine, not on Mondays."})
    played = play(plot)
    assert (played.answer.text, played.answer.node) == ("From nine, not on Mondays.", "0.1")
    assert "2 of 3" in played.answer.evidence
    assert plot.roles()[-2:] == ["voter.groups", "voter.words"]


def test_the_model_is_shown_each_answer_once_and_cannot_part_what_is_the_same() -> None:
    runs = {"0.0": gives(LONGER), "0.1": gives(LONG), "0.2": gives(LONG.upper())}
    plot = Plot(runs, replies={("voter.groups", "0"): "1: 1\n2: 2", ("voter.words", "0"): "nine"})
    played = play(plot)
    assert played.answer.node == "0.1"
    assert "2 of 3" in played.answer.evidence
    asked = next(r.messages[-1].text for _, r in plot.requests if r.caller.role == "voter.groups")
    assert "Answer 2" in asked
    assert "Answer 3" not in asked


@pytest.mark.parametrize("answers", [("5", "6", "7"), (LONG, LONG, LONG)], ids=["short", "alike"])
def test_nobody_is_asked_to_group_what_rules_can_tell(answers: tuple[str, str, str]) -> None:
    plot = Plot({f"0.{k}": gives(text) for k, text in enumerate(answers)}, replies={("voter.words", "0"): "so"})
    play(plot)
    assert "voter.groups" not in plot.roles()


def test_a_grouping_that_cannot_be_read_leaves_the_exact_count() -> None:
    plot = Plot({"0.0": gives(LONG), "0.1": gives(LONGER), "0.2": gives(LONGER)}, replies={("voter.groups", "0"): "all alike!"})
    assert play(plot).answer.node == "0.1"


def test_where_the_budget_has_no_room_for_the_voter_the_exact_count_and_the_plain_words_stay() -> None:
    runs = {"0.0": gives(LONG), "0.1": gives(LONGER), "0.2": gives(LONGER)}
    played = play(Plot(runs, spent=["voter.groups", "voter.words"]), PAPER)
    assert (played.answer.text, played.answer.verified, played.answer.node) == (LONGER, True, "0.1")


def test_3_4_the_papers_preset_has_every_answer_worded_and_other_presets_only_long_ones() -> None:
    replies = {("voter.words", "0"): "It is 5."}
    assert play(Plot(otherwise=gives("5"), replies=replies), PAPER).answer.text == "It is 5."
    assert play(Plot(otherwise=gives("5"), replies=replies), RECOMMENDED).answer.text == "5"
    assert play(Plot(otherwise=gives(LONG), replies=replies), RECOMMENDED).answer.text == "It is 5."
    assert play(Plot(otherwise=gives("5"), replies={("voter.words", "0"): " "}), PAPER).answer.text == "5"


def test_voting_is_asked_at_temperature_0() -> None:
    plot = Plot({"0.0": gives(LONG), "0.1": gives(LONGER)}, otherwise=gives("5"))
    play(plot, PAPER)
    assert {r.temperature for _, r in plot.requests if r.caller.role.startswith("voter")} == {0.0}


def test_without_success_the_last_layers_partial_answer_is_given_unverified() -> None:
    runs = {"0.0": fails(printed="early"), "0.1.1": fails(printed="middle"), "0.1.2.0": fails(printed="late"),
            "0.2.0.0": fails(printed="later")}  # fmt: skip
    played = play(Plot(runs))
    assert (played.answer.text, played.answer.verified, played.answer.node) == ("late", False, "0.1.2.0")
    assert played.answer.evidence == "no program gave an answer and ran to its end; this is what one had found"


def test_without_success_an_answer_that_was_given_is_better_than_what_was_only_printed() -> None:
    runs = {"0.1": fails(printed="7", answer="7"), "0.2.2.2": fails(printed="debug")}
    assert play(Plot(runs)).answer.text == "7"


def test_in_strict_mode_what_only_tools_have_failed_is_the_best_there_is() -> None:
    runs = {"0.1": gives("5", tool_errors=1), "0.1.0": fails(answer="7"), "0.2.2.2": fails(printed="debug")}
    played = play(Plot(runs), Settings(strict=True, worded=False))
    assert (played.answer.text, played.answer.verified) == ("5", False)
    assert "without an error of a tool" in played.answer.evidence


def test_without_anything_the_answer_is_empty_and_no_exception() -> None:
    played = play(Plot())
    assert (played.answer.text, played.answer.verified, played.answer.node) == ("", False, "")
    assert played.answer.evidence == "no program gave an answer"


def test_a_budget_that_ends_the_search_leaves_the_vote_of_what_is_there() -> None:
    played = play(Plot({"0.1": gives("5")}), parallel=1, executions=4)
    assert (played.reason, len(played.executed)) == ("executions", 4)
    assert (played.answer.text, played.answer.verified) == ("5", True)


def _late(seconds: dict[str, float], _role: str, node: str) -> float:
    return seconds.get(node, 1.0)
