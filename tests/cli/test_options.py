"""Options that are more than one word: budgets and run ids."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.cli.options import find_run, read_budget
from treewright.core.budget import Limits
from treewright.core.errors import UserError
from treewright.core.events import RunStarted
from treewright.journal.base import Journal
from treewright.journal.sqlite import SQLiteJournal

DEFAULT = Limits(executions=20)


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        ([], DEFAULT),
        (["5"], Limits(executions=5)),
        (["tokens=50000"], Limits(executions=20, tokens=50_000)),
        (["5,usd=0.5,seconds=60"], Limits(executions=5, dollars=0.5, seconds=60.0)),
        (["5", "calls=7", "usd=1e-3"], Limits(executions=5, calls=7, dollars=0.001)),
        ([" tokens = 1_000 , , executions=3 "], Limits(executions=3, tokens=1000)),
        (["5", "6"], Limits(executions=6)),
        (["TOKENS=9", "dollars=2"], Limits(executions=20, tokens=9, dollars=2.0)),
        (["1e3"], Limits(executions=1000)),
    ],
)
def test_budgets(words: list[str], limits: Limits) -> None:
    read = read_budget(words, default=DEFAULT)
    assert read == limits
    assert read.tokens is None or isinstance(read.tokens, int)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("0", "a budget of 0 executions allows nothing to run: give a number above 0"),
        ("-3", "a budget of -3 executions allows nothing"),
        ("tokens=0", "a budget of 0 tokens allows nothing"),
        ("usd=-0.5", "a budget of -0.5 usd allows nothing"),
        ("seconds=nan", "a budget of nan seconds allows nothing"),
        ("seconds=inf", "a budget of inf seconds"),
        ("2.5", "a budget of 2.5 executions is not a whole number"),
        ("tokens=1.5", "a budget of 1.5 tokens is not a whole number"),
        ("many", "the budget of executions is 'many': give a number, as in --budget executions=100"),
        ("usd=", "the budget of usd is ''"),
        ("usd=1$", "the budget of usd is '1$'"),
        ("tokns=5", "unknown budget 'tokns', did you mean 'tokens'? known are executions, calls, tool_calls, tokens, usd"),
        ("euros=5", "unknown budget 'euros'; known are executions, calls, tool_calls, tokens, usd"),
        ("=5", "unknown budget ''"),
    ],
)
def test_a_budget_that_makes_no_sense_is_one_sentence(word: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        read_budget([word], default=DEFAULT)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.lists(st.text(max_size=12) | st.from_regex(r"(tokens|usd|calls)?=?-?[0-9.e_]{0,6}"), max_size=4))
def test_whatever_is_written_is_a_budget_or_the_users_error(words: list[str]) -> None:
    try:
        limits = read_budget(words, default=DEFAULT)
    except UserError:
        return
    for name in Limits.__dataclass_fields__:
        bound = getattr(limits, name)
        assert bound is None or bound > 0


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(SQLiteJournal(tmp_path / "j.db")) as journal:
        for run in ("20260101-000000-aaa", "20260101-000000-abb", "20270101-000000-ccc"):
            journal.append(run, RunStarted({}))
        yield journal


@pytest.mark.parametrize(
    ("word", "run"),
    [
        ("20260101-000000-aaa", "20260101-000000-aaa"),
        ("2027", "20270101-000000-ccc"),
        ("20260101-000000-ab", "20260101-000000-abb"),
        ("last", "20270101-000000-ccc"),
    ],
)
def test_a_run_is_named_by_its_id_the_beginning_of_it_or_last(journal: Journal, word: str, run: str) -> None:
    assert find_run(journal, word) == run


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("2026", "2 runs begin with '2026', such as 20260101-000000-a"),
        ("2028", "no run '2028' in this journal: `treewright runs` lists them"),
        ("", "no run ''"),
        ("Last", "no run 'Last'"),
    ],
)
def test_a_word_that_means_no_run_or_several_is_one_sentence(journal: Journal, word: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        find_run(journal, word)
    assert says in str(caught.value)


def test_an_id_that_is_the_beginning_of_another_is_itself(tmp_path: Path) -> None:
    with closing(SQLiteJournal(tmp_path / "j.db")) as journal:
        for run in ("run", "run-2"):
            journal.append(run, RunStarted({}))
        assert find_run(journal, "run") == "run"


def test_in_an_empty_journal_there_is_no_last(tmp_path: Path) -> None:
    with closing(SQLiteJournal(tmp_path / "j.db")) as journal, pytest.raises(UserError, match="no run 'last'"):
        find_run(journal, "last")
