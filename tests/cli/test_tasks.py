"""Every form in which a task can be given, and what is said of a broken one."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from treewright.cli.tasks import load_task
from treewright.core.errors import UserError
from treewright.core.task import CodeTask, Example

TOML = '''
prompt = "Write add(a, b)."
entry_point = "add"
tests = ["assert add(1, 2) == 3", """
x = add(0, 0)
assert x == 0
"""]
setup = "import math"
time_limit_s = 3
name = "adding"
'''
STUB = 'def add(a, b):\n    """Add."""\n\nassert add(1, 2) == 3\n'


def write(folder: Path, **files: str) -> str:
    """A folder with these files ("__" in a name stands for a dot)."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return str(folder)


def load_toml(folder: Path, text: str) -> CodeTask:
    (folder / "task.toml").write_text(text)
    return load_task(str(folder / "task.toml"))


def test_a_toml_file_with_every_key(tmp_path: Path) -> None:
    assert load_toml(tmp_path, TOML) == CodeTask(
        prompt="Write add(a, b).",
        tests=("assert add(1, 2) == 3", "x = add(0, 0)\nassert x == 0\n"),
        entry_point="add",
        setup="import math",
        time_limit_s=3,
        name="adding",
    )


def test_a_toml_file_of_a_program(tmp_path: Path) -> None:
    text = (
        'prompt = "p"\nlanguage = "rust"\n[[examples]]\ninput = "1\\n"\noutput = "2\\n"\n[[examples]]\ninput = ""\noutput = ""'
    )
    task = load_toml(tmp_path, text)
    assert task == CodeTask(prompt="p", examples=(Example("1\n", "2\n"), Example("", "")), language="rust", name="task")


def test_what_is_left_out_is_derived_or_has_its_default(tmp_path: Path) -> None:
    task = load_toml(tmp_path, 'prompt = "Write add(a, b)."\ntests = ["assert add(1, 2) == 3"]\n')
    assert (task.entry_point, task.language, task.time_limit_s, task.name) == ("add", "python", 2.0, "task")
    assert load_toml(tmp_path, 'prompt = "p"\ntests = ["assert f(1) == g(1)"]\n').entry_point == ""


def test_no_tests_at_all_is_a_task(tmp_path: Path) -> None:
    assert load_toml(tmp_path, 'prompt = "Write add(a, b)."').visible == 0
    assert load_task(write(tmp_path, problem__md="Print 1.", task__toml="")).visible == 0


def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_bytes(b'\xef\xbb\xbfprompt = """\r\nLine\r\nend"""\r\n')
    assert load_task(str(tmp_path / "task.toml")).prompt == "Line\nend"
    (tmp_path / "problem.md").write_bytes(b"\xef\xbb\xbfLine\r\nend")
    (tmp_path / "task.toml").unlink()
    assert load_task(str(tmp_path)).prompt == "Line\nend"


def test_a_prompt_of_5_mb_is_read(tmp_path: Path) -> None:
    prompt = "word " * 1_000_000
    assert len(load_toml(tmp_path, f'prompt = """{prompt}"""').prompt) == 5_000_000
    assert len(load_task("-", stdin=io.StringIO(prompt)).prompt) == 5_000_000


def test_a_python_file(tmp_path: Path) -> None:
    (tmp_path / "adding.py").write_text(STUB)
    task = load_task(str(tmp_path / "adding.py"))
    assert task == CodeTask(
        prompt='def add(a, b):\n    """Add."""', tests=("assert add(1, 2) == 3",), entry_point="add", name="adding"
    )


def test_a_folder_with_pairs_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    write(tmp_path, problem__md="Print it.\n", **{"10__in": "x", "10__out": "x", "2__in": "y", "2__out": "y"})
    write(tmp_path, a__in="z", a__out="z", notes__txt="no part of the task", **{"__a__in": "nor this"})
    task = load_task(str(tmp_path))
    assert task.prompt == "Print it.\n"
    assert [example.input for example in task.examples] == ["y", "x", "z"]
    assert (task.kind, task.name, task.language) == ("program", tmp_path.name, "python")


def test_a_folder_with_settings_and_a_plain_text_problem(tmp_path: Path) -> None:
    write(
        tmp_path, problem__txt="Print it.", task__toml='time_limit_s = 0.5\nlanguage = "go"\nname = "echo"', a__in="", a__out=""
    )
    task = load_task(str(tmp_path))
    assert (task.prompt, task.time_limit_s, task.language, task.name) == ("Print it.", 0.5, "go", "echo")


@pytest.mark.parametrize(
    ("text", "prompt", "tests"),
    [
        (TOML, "Write add(a, b).", 2),
        ("# a task\n[[examples]]\ninput = ''\noutput = ''\n", None, 0),
        (STUB, 'def add(a, b):\n    """Add."""', 1),
        (f'"""Sums."""\n{STUB}', '"""Sums."""\ndef add(a, b):\n    """Add."""', 1),
        (f"LIMIT = 3\n{STUB}", 'LIMIT = 3\ndef add(a, b):\n    """Add."""', 1),
        (f"import math\n{STUB}", 'import math\ndef add(a, b):\n    """Add."""', 1),
        ("Write a function add(a, b).\n", "Write a function add(a, b).\n", 0),
        ("# Task\n\nimport the data\nand class it", "# Task\n\nimport the data\nand class it", 0),
        ("Define it so:\n\ndef add(a, b):\n    ...\n", "Define it so:\n\ndef add(a, b):\n    ...\n", 0),
    ],
)
def test_standard_input_is_toml_python_or_a_prompt(text: str, prompt: str | None, tests: int) -> None:
    if prompt is None:
        with pytest.raises(UserError, match="standard input: the prompt is empty"):
            load_task("-", stdin=io.StringIO(text))
        return
    task = load_task("-", stdin=io.StringIO(text))
    assert (task.prompt, len(task.tests)) == (prompt, tests)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "standard input: the prompt is empty: say in words what to write"),
        (b'prompt = "p\n', r"standard input: no valid TOML, .*\(at line 1, column \d+\): correct it"),
        (b'# of mine\nprompt = "p\n', "standard input: no valid TOML"),
        (b"[[examples]]\ninput = 1 2\n", r"standard input: no valid TOML, .*\(at line 2"),
        (b"def add(a, b)\n    ...\n", r"standard input: line 1 is no valid Python \(.*\): correct it"),
        (b'"""Sums."""\ndef add(a, b)\n', "standard input: line 2 is no valid Python"),
        (b"def add(a, b):\n    return a + b\n", "standard input: no stub"),
        (b"colour = 'red'\n", "standard input: unknown key 'colour'"),
        (b"Gr\xfc\xdfe", r"standard input: not UTF-8 text \(byte 3\)"),
    ],
)
def test_broken_standard_input_is_an_error_and_not_a_prompt(data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_task("-", stdin=io.TextIOWrapper(io.BytesIO(data), encoding="ascii", errors="surrogateescape"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the prompt is empty"),
        ('prompt = "  "', "the prompt is empty"),
        ('promt = "p"', "unknown key 'promt': did you mean 'prompt'?"),
        ('prompt = "p"\nexample = []', "unknown key 'example': did you mean 'examples'?"),
        ('prompt = "p"\nzzz = 1', "unknown key 'zzz': known are prompt, tests, examples, entry_point, setup, language,"),
        ("prompt = 3", "prompt must be a string, not a number"),
        ("prompt = 1979-05-27", "prompt must be a string, not a date or time"),
        ('prompt = "p"\ntests = "assert f(1)"', "tests must be a list, not a string"),
        ('prompt = "p"\ntests = ["assert f(1)", 2]', "test 2 must be a string, not a number"),
        ('prompt = "p"\nexamples = [["1", "2"]]', "example 1 must be a table, not a list"),
        ('prompt = "p"\n[[examples]]\ninput = "1"', 'example 1: no output: add output = "..."'),
        ('prompt = "p"\n[[examples]]\ninput = "1"\noutput = 2', "example 1: output must be a string, not a number"),
        ('prompt = "p"\n[[examples]]\ninput = "1"\nouput = "2"', "example 1: unknown key 'ouput': did you mean 'output'?"),
        ('prompt = "p"\ntime_limit_s = true', "time_limit_s must be a number of seconds, not true or false"),
        ('prompt = "p"\ntime_limit_s = "2"', "time_limit_s must be a number of seconds, not a string"),
        ('prompt = "p"\ntime_limit_s = 0', "time_limit_s is 0: give a number of seconds above 0"),
        (f'prompt = "p"\ntime_limit_s = 1{"0" * 400}', "time_limit_s is 1000"),
        ('prompt = "p"\ntests = ["assert f(1"]', "test 1 is no valid Python"),
        ('prompt = "p"\nentry_point = "g"\ntests = ["assert f(1)"]', "the tests never call the entry point 'g' (they call f)"),
        ('prompt = "p"\ntests = ["assert f(1)"]\n[[examples]]\ninput = ""\noutput = ""', "both tests and examples are given"),
        ('prompt = "p"\nprompt = "q"', "no valid TOML, cannot overwrite a value"),
    ],
)
def test_a_broken_toml_file_is_named_with_the_key_and_the_way_out(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        load_toml(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'task.toml'}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a__in": ""}, "a folder without problem.md: write the problem there"),
        ({"problem__md": "p", "1__in": ""}, "1.in has no 1.out beside it: add that or remove 1.in"),
        ({"problem__md": "p", "1__out": ""}, "1.out has no 1.in beside it: add that or remove 1.out"),
        ({"problem__md": "\n"}, "the prompt is empty"),
        (
            {"problem__md": "p", "task__toml": "time_limit = 3"},
            "task.toml: unknown key 'time_limit': did you mean 'time_limit_s'?",
        ),
        ({"problem__md": "p", "task__toml": 'tests = ["assert f()"]'}, "task.toml: unknown key 'tests': known are language"),
        ({"problem__md": "p", "task__toml": "language = 3"}, "task.toml: language must be a string, not a number"),
        ({"problem__md": "p", "task__toml": "language"}, "task.toml: no valid TOML"),
    ],
)
def test_a_broken_folder_is_named_with_the_file_and_the_way_out(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        load_task(write(tmp_path, **files))
    assert str(caught.value).startswith(f"{tmp_path}: {message}")


def test_a_file_of_a_folder_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    write(tmp_path, problem__md="p", a__out="")
    (tmp_path / "a.in").write_bytes(b"\xff")
    with pytest.raises(UserError, match=r": a.in: not UTF-8 text \(byte 1\): save it as UTF-8"):
        load_task(str(tmp_path))


def test_paths_that_are_no_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.md").write_text("p")
    Path("wide.toml").write_bytes("prompt = 'p'".encode("utf-16"))
    forms = "; a task is a .toml file, a .py file, a folder with problem.md, or - for standard input"
    for source, message in {
        "none.toml": f"none.toml: cannot be opened (No such file or directory){forms}",
        "notes.md": f"notes.md: this type of file is not known{forms}",
        "wide.toml": "wide.toml: not UTF-8 text (byte 1): save it as UTF-8",
        "": "'': a folder without problem.md: write the problem there, or name a .toml or .py file",
    }.items():
        with pytest.raises(UserError) as caught:
            load_task(source)
        assert str(caught.value) == message


@pytest.mark.parametrize("prompt", ["Write a function. " * 300, "Write\na function that adds two numbers to each other."])
def test_a_prompt_in_place_of_a_path_is_told_the_ways_to_give_a_task(prompt: str) -> None:
    with pytest.raises(UserError, match=r"^'Write.*\.\.\.': cannot be opened \(.*\); a task is .* or - for standard") as caught:
        load_task(prompt)
    assert len(str(caught.value)) < 200
