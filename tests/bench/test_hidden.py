"""Hidden tests are read strictly, and put in place of the visible ones for grading only."""

from __future__ import annotations

from pathlib import Path

import pytest

from treewright.bench.hidden import HiddenTests, graded_task, load_hidden
from treewright.core.errors import UserError
from treewright.core.task import CodeTask, Example

ADD = CodeTask(prompt="Write add(a, b).", tests=("assert add(1, 2) == 3",), entry_point="add", setup="X = 1", name="add")
SUM = CodeTask(prompt="Print the sum.", examples=(Example("1 2\n", "3\n"),), name="sum")


def test_each_assert_and_each_function_of_a_python_file_is_one_test(tmp_path: Path) -> None:
    text = "# why\nassert add(1, 1) == 2  # plain\n\n\ndef test_loop():\n    for i in (1, 2):\n        assert add(i, 0) == i\n"
    (tmp_path / "add.py").write_text(text)
    assert load_hidden(tmp_path, "add") == HiddenTests(
        tests=(
            "assert add(1, 1) == 2  # plain",
            "for i in (1, 2):\n    assert add(i, 0) == i",
        )
    )


def test_a_toml_file_holds_the_examples_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "sum.toml").write_text('[[examples]]\ninput = "1 1"\noutput = "2"\n[[examples]]\ninput = ""\noutput = "0"\n')
    assert load_hidden(tmp_path, "sum") == HiddenTests(examples=(Example("1 1", "2"), Example("", "0")))


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("t.py", b"x = 1\nassert f() == x\n", "t.py: line 1 is neither an assert nor a test_ function"),
        ("t.py", b"\n\ndef helper():\n    pass\n", "t.py: line 3 is neither an assert nor a test_ function"),
        ("t.py", b"assert f(\n", r"t.py: no valid Python \(.*, line 1\)"),
        ("t.py", b"# soon\n", "t.py: no tests: add asserts"),
        ("t.py", b"assert '\xff'\n", "t.py cannot be read"),
        ("t.toml", b"examples = [\n", "t.toml: no valid TOML"),
        ("t.toml", b"examples = []\n", r"t.toml: it must hold \[\[examples\]\] and nothing else"),
        (
            "t.toml",
            b'prompt = "p"\n[[examples]]\ninput = ""\noutput = ""\n',
            r"t.toml: it must hold \[\[examples\]\] and nothing else",
        ),
        ("t.toml", b'[[examples]]\ninput = ""\n', "t.toml: an example must have input and output, two strings"),
        ("t.toml", b'[[examples]]\ninput = ""\noutput = 3\n', "t.toml: an example must have input and output, two strings"),
        ("t.toml", b'[[examples]]\ninput = ""\noutput = ""\nweight = 2\n', "t.toml: an example must have input and output"),
        ("other.py", b"assert f()\n", "no hidden tests for 't': add t.py or t.toml to "),
    ],
)
def test_anything_but_tests_is_refused(tmp_path: Path, file: str, text: bytes, message: str) -> None:
    (tmp_path / file).write_bytes(text)
    with pytest.raises(UserError, match=message):
        load_hidden(tmp_path, "t")


def test_a_graded_task_has_the_hidden_tests_and_none_of_the_visible_ones() -> None:
    graded = graded_task(ADD, HiddenTests(tests=("assert add(5, 5) == 10",)))
    assert graded.tests == ("assert add(5, 5) == 10",)
    assert (graded.prompt, graded.entry_point, graded.setup) == (ADD.prompt, "add", "X = 1")
    assert graded_task(SUM, HiddenTests(examples=(Example("", "0"),))).examples == (Example("", "0"),)


def test_hidden_tests_of_the_other_kind_are_refused() -> None:
    with pytest.raises(UserError, match=r"the hidden tests of 'add' are not of the task's kind \(function\)"):
        graded_task(ADD, HiddenTests(examples=(Example("", "0"),)))
    with pytest.raises(UserError, match=r"the hidden tests of 'sum' are not of the task's kind \(program\)"):
        graded_task(SUM, HiddenTests(tests=("assert add(5, 5) == 10",)))


def test_hidden_tests_that_never_call_the_entry_point_are_refused() -> None:
    with pytest.raises(UserError, match="never call the entry point 'add'"):
        graded_task(ADD, HiddenTests(tests=("assert sub(5, 5) == 0",)))
