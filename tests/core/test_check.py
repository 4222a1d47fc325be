"""What is refused before a search begins, and what is not."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.core.check import bound_names, called_names, derive_entry_point, parse_python, used_names, validate_task
from treewright.core.errors import UserError
from treewright.core.task import CodeTask, Example

ADD = CodeTask(prompt="Write add(a, b).", tests=("assert add(1, 2) == 3", "assert add(0, 0) == 0"), entry_point="add")
SUM = CodeTask(prompt="Print the sum.", examples=(Example("1 2\n", "3\n"),))


@pytest.mark.parametrize(
    "task",
    [
        ADD,
        SUM,
        CodeTask(prompt="Write add(a, b)."),
        CodeTask(prompt="Write add(a, b).", entry_point="add"),
        CodeTask(prompt="x" * 5_000_000),
        replace(ADD, entry_point=""),
        replace(ADD, time_limit_s=0.01),
        replace(SUM, language="rust"),
        replace(SUM, language="CPP"),
        replace(ADD, language="py"),
        replace(ADD, tests=("import math\nx = add(1, 2)\nassert math.isclose(x, 3)",)),
        replace(ADD, tests=("assert list(map(add, [1], [2])) == [3]",)),
        replace(ADD, tests=("assert twice(1) == 2",), setup="def twice(x):\n    return add(x, x)"),
        replace(ADD, tests=("for i in range(3):\n    assert add(i, 0) == i",)),
        replace(ADD, tests=(r"assert add('\d', '') == '\\d'",)),  # an odd escape: Python would print a warning
        CodeTask(prompt="A stack.", tests=("s = Stack()\ns.push(1)\nassert s.pop() == 1",), entry_point="Stack"),
    ],
)
def test_a_sound_task_passes(task: CodeTask) -> None:
    validate_task(task)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (replace(ADD, prompt=""), "the prompt is empty"),
        (replace(ADD, prompt=" \n\t"), "the prompt is empty"),
        (replace(ADD, time_limit_s=0), "time_limit_s is 0: give a number of seconds above 0"),
        (replace(ADD, time_limit_s=-1.5), "time_limit_s is -1.5"),
        (replace(ADD, time_limit_s=math.nan), "time_limit_s is nan"),
        (replace(ADD, time_limit_s=math.inf), "time_limit_s is inf"),
        (replace(ADD, examples=SUM.examples), "both tests and examples are given: keep tests for a function"),
        (replace(SUM, language="cobol"), "language is 'cobol', which is not known: use one of python, c, c"),
        (replace(ADD, language="go"), "tests are Python code but language is 'go': give examples"),
        (replace(SUM, language="go", setup="import os"), "setup is Python code but language is 'go'"),
        (replace(SUM, entry_point="main"), "entry_point is for a function, but examples test a whole program"),
        (replace(ADD, setup="import"), r"setup is no valid Python \(.*\): correct it"),
        (
            replace(ADD, tests=("assert add(1, 2) == 3", "x = (\nassert add(1")),
            r"test 2 is no valid Python \(.* at its line [12]\)",
        ),
        (replace(ADD, tests=("return add(1, 2)",)), r"test 1 is no valid Python \('return' outside function"),
        (replace(ADD, tests=("assert add(1, 2) == '\0'",)), r"test 1 is no valid Python \(.*null"),
        (replace(ADD, tests=("assert add(" + "(" * 5000,)), "test 1 is no valid Python"),
        (replace(ADD, tests=("assert " + "not " * 50_000 + "add(1, 2)",)), r"test 1 is no valid Python \(nested too deeply"),
        (replace(ADD, tests=("assert add(1, 2) == 3", " # nothing\n")), "test 2 is empty: write an assert or remove it"),
        (replace(ADD, tests=("add(1, 2) == 3",)), 'test 1 compares but can never fail: write "assert"'),
        (replace(ADD, tests=("not add(0, 0)",)), "test 1 compares but can never fail"),
        (replace(ADD, entry_point="add(a, b)"), "entry_point is 'add\\(a, b\\)': give the bare name"),
        (replace(ADD, entry_point="sum2"), r"never call the entry point 'sum2' \(they call add\): correct entry_point"),
        (replace(ADD, entry_point="sum2", tests=("assert len('a') == 1",)), r"\(they call no function of the program\)"),
        (
            replace(ADD, entry_point="f", tests=tuple(f"assert g{i}()" for i in range(9))),
            r"they call g0, g1, g2, g3, g4, \.\.\.",
        ),
    ],
)
def test_an_impossible_task_is_refused_with_the_way_out(task: CodeTask, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        validate_task(task)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("tests", "setup", "name"),
    [
        (["assert add(1, 2) == 3", "assert add(0, 0) == 0"], "", "add"),
        (["assert sorted(add(1, 2)) == [3]"], "", "add"),
        (["assert close(add(1, 2), 3)"], "def close(a, b): ...", "add"),
        (["from math import sqrt\nassert add(sqrt(4), 1) == 3"], "", "add"),
        (["assert (lambda f: f(1))(double) == 2"], "", ""),
        (["assert add(1, 2) == sub(4, 1)"], "", ""),
        (["assert add(1, 2) == 3", "assert sub(1, 2) == -1"], "", ""),
        (["assert Stack().size() == 0"], "", "Stack"),
        (["def test():\n    assert add(1, 1) == 2\ntest()"], "", "add"),
        ([], "", ""),
    ],
)
def test_the_entry_point_is_the_one_unknown_name_that_is_called(tests: list[str], setup: str, name: str) -> None:
    assert derive_entry_point(tests, setup) == name


def test_deriving_from_a_broken_test_names_the_test() -> None:
    with pytest.raises(UserError, match="test 1 is no valid Python"):
        derive_entry_point(["assert add(1"])


def test_a_name_bound_in_one_test_is_still_unknown_in_another() -> None:
    tests = [parse_python("def f(): ...\nassert f() == g()"), parse_python("assert f() is None")]
    assert called_names(tests, parse_python("")) == ("g", "f")


def test_bound_and_used_names_cover_every_way_to_bind() -> None:
    code = """
import os.path, json as j
from math import sqrt as root
class C: ...
async def a(b, *c, d=e): ...
for f in g: ...
with h as i: ...
try: ...
except K as l: ...
m = [n for n in o]
"""
    tree = parse_python(code)
    assert bound_names(tree) == {"os", "j", "root", "C", "a", "b", "c", "d", "f", "i", "l", "m", "n"}
    assert used_names(tree) == {"e", "g", "h", "K", "n", "o"}


@given(st.text(max_size=60))
def test_any_text_as_a_test_is_sound_or_refused(text: str) -> None:
    with suppress(UserError):  # and nothing else is raised, a null character and a lone bracket included
        validate_task(CodeTask(prompt="p", tests=(text,)))
