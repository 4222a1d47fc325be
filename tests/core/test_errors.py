"""Our errors: one family, each with the exit status of whose fault it is."""

from __future__ import annotations

import pytest

from treewright.core import errors
from treewright.core.errors import BudgetSpent, TreewrightError

EXIT = {"UserError": 2, "ModelUnavailable": 3, "SandboxUnavailable": 3, "JournalError": 2, "BudgetSpent": 1, "IllegalMove": 1}


def test_every_error_of_ours_is_of_the_family_and_has_its_exit_status() -> None:
    family = {
        name: kind.exit_status
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, TreewrightError) and kind is not TreewrightError
    }
    assert family == EXIT


@pytest.mark.parametrize("name", sorted(EXIT.keys() - {"BudgetSpent"}))
def test_an_error_says_its_sentence_and_nothing_else(name: str) -> None:
    sentence = "the model tiny is gone: start its server"
    assert str(vars(errors)[name](sentence)) == sentence


def test_a_spent_budget_names_its_limit() -> None:
    spent = BudgetSpent("tokens")
    assert (spent.limit, str(spent)) == ("tokens", "the budget of tokens is spent")


def test_ours_never_pass_for_something_that_code_around_us_catches() -> None:
    for name in EXIT:
        assert not issubclass(vars(errors)[name], OSError | ValueError | RuntimeError | TimeoutError)
