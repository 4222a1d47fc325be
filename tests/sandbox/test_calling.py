from __future__ import annotations

import pytest

from treewright.sandbox.calling import Function, Parameter


@pytest.mark.parametrize("name", ["", "a b", "1st", "class", "None", "a-b", "x()", "x=1"])
def test_a_name_that_python_would_not_take_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no name of a Python function or parameter"):
        Function(name)
    with pytest.raises(ValueError, match="is no name of a Python function or parameter"):
        Function("good", (Parameter(name, "wire"),))


def test_names_of_any_script_and_soft_keywords_are_names() -> None:
    assert Function("wetter_für", (Parameter("match", "match"), Parameter("город", "a b-c"))).parameters[1].wire == "a b-c"


def test_a_required_parameter_after_one_that_is_not_is_refused() -> None:
    required, free = Parameter("a", "a"), Parameter("b", "b", required=False)
    assert Function("good", (required, required_too := Parameter("c", "c"), free)).parameters[1] is required_too
    with pytest.raises(ValueError, match="good: required parameters come first"):
        Function("good", (free, required))


def test_two_parameters_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="good: two parameters are called a"):
        Function("good", (Parameter("a", "x"), Parameter("a", "y")))
