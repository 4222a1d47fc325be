"""The settings' defaults, and the rules of submission on trees made by hand."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codetree_lab import ALL, report
from treewright.core.tree import Evaluation, Proposal, Verdict
from treewright.strategies.codetree_settings import (
    CodeAction,
    CodeNode,
    CodeOutcome,
    CodeSearch,
    Settings,
    best_scored,
    first_passing,
    last_failing,
    passes,
)

Made = tuple[int, float, Verdict]


def executed(*made: Made) -> list[CodeNode]:
    """Programs of one layer: how many of the three tests each passes, its score, its verdict."""
    tree: CodeSearch = CodeSearch()
    tree.expand(tree.root, [Proposal(CodeAction(f"strategy {k}")) for k in range(len(made))])
    for node, (passed, score, verdict) in zip(tree.root.children, made, strict=True):
        tree.record(node, CodeOutcome(f"program {node.index}", report(passed)), Evaluation(score, verdict))
    return list(tree.root.children)


def place(node: CodeNode | None) -> int | None:
    return None if node is None else node.index


KEEP, PRUNE, EXPAND = Verdict.KEEP, Verdict.PRUNE, Verdict.EXPAND


def test_the_defaults_are_those_of_the_script_and_the_paper() -> None:
    settings = Settings()
    assert (settings.width, settings.exactly, settings.depth) == (10, False, 3)
    assert (settings.verification, settings.abort, settings.scoring) == (True, True, True)
    assert (settings.fidelity, settings.analysis, settings.top_up) == (False, False, False)
    assert (settings.plain, settings.drop_repeats) == (0, False)
    assert settings.fallback is best_scored


def test_settings_are_named_and_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        Settings(10)  # type: ignore[call-arg]  # that is the point
    with pytest.raises(FrozenInstanceError):
        Settings().width = 3  # type: ignore[misc]  # that is the point


def test_only_a_program_that_passes_everything_passes() -> None:
    assert [passes(node) for node in executed((2, 1.0, KEEP), (ALL, 0.0, PRUNE))] == [False, True]
    assert not passes(CodeSearch().root)


def test_the_best_score_is_submitted_and_the_earliest_of_equals() -> None:
    assert place(best_scored(executed((1, 0.4, KEEP), (1, 0.6, KEEP), (2, 0.6, KEEP), (0, 0.1, KEEP)))) == 1


def test_a_program_that_passes_everything_outranks_a_better_score() -> None:
    assert place(best_scored(executed((2, 0.9, KEEP), (ALL, 0.8, KEEP)))) == 1
    assert place(best_scored(executed((2, 0.9, KEEP), (ALL, 0.8, PRUNE)))) == 1


def test_a_program_that_was_given_up_comes_after_all_that_were_not() -> None:
    assert place(best_scored(executed((1, 0.9, PRUNE), (1, 0.2, EXPAND)))) == 1
    assert place(best_scored(executed((1, 0.2, PRUNE), (1, 0.3, PRUNE)))) == 1


def test_the_variants_submit_the_first_that_passes() -> None:
    assert place(first_passing(executed((2, 1.0, KEEP), (ALL, 0.1, KEEP), (ALL, 0.9, KEEP)))) == 1
    assert place(first_passing(executed((2, 1.0, KEEP)))) is None


def test_the_script_submits_the_last_that_fails_else_the_first() -> None:
    assert place(last_failing(executed((0, 0.1, PRUNE), (ALL, 1.0, KEEP), (2, 0.1, KEEP), (ALL, 1.0, KEEP)))) == 2
    assert place(last_failing(executed((ALL, 0.9, KEEP), (ALL, 1.0, KEEP)))) == 0


def test_the_last_program_is_the_last_in_the_scripts_order_whenever_it_was_executed() -> None:
    nodes = executed((0, 0.1, KEEP), (0, 0.1, KEEP), (ALL, 1.0, KEEP))
    assert place(last_failing([nodes[1], nodes[2], nodes[0]])) == 1
    # Two-digit places come after one-digit places.
    assert place(last_failing(executed(*[(0, 0.1, KEEP)] * 11))) == 10


@pytest.mark.parametrize("fallback", [best_scored, first_passing, last_failing])
def test_without_any_program_nothing_is_submitted(fallback: object) -> None:
    assert callable(fallback)
    assert fallback([]) is None


made = st.tuples(
    st.integers(0, ALL), st.integers(0, 4).map(lambda fourths: fourths / 4), st.sampled_from([KEEP, PRUNE, EXPAND])
)


@given(st.lists(made, min_size=1, max_size=6))
def test_no_program_beats_the_best(programs: list[Made]) -> None:
    best = best_scored(executed(*programs))
    assert best is not None
    passed, score, verdict = programs[best.index]
    for place, (other_passed, other_score, other_verdict) in enumerate(programs):
        better = (other_passed == ALL, other_verdict is not PRUNE, other_score, -place)
        assert better <= (passed == ALL, verdict is not PRUNE, score, -best.index)
