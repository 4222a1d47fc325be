from __future__ import annotations

import pytest

from treewright.core.errors import UserError
from treewright.core.languages import NAMES, full_name, names_of


@pytest.mark.parametrize(
    ("given", "name"),
    [("python", "python"), ("Python3", "python"), ("CPP", "c++"), ("C", "c"), ("Node", "javascript"), ("rs", "rust")],
)
def test_a_language_has_one_name_in_full(given: str, name: str) -> None:
    assert full_name(given) == name
    assert given.lower() in names_of(given) == names_of(name)


def test_no_name_stands_for_two_languages() -> None:
    names = [name for full in NAMES for name in names_of(full)]
    assert len(names) == len(set(names))


def test_a_language_that_is_not_known_is_named_with_those_that_are() -> None:
    with pytest.raises(UserError, match=r"'brainfuck', which is not known: use one of python, c, c\+\+, .*go$"):
        full_name("brainfuck")
    assert names_of("Brainfuck") == {"brainfuck"}
