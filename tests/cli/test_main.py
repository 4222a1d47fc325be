"""The command as a whole: its help, its exit statuses, and output that nobody can take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adding import ANSWER, TOML, judged, rows, write_script
from command import COMMAND, apart, environment, here, inherited
from treewright import __version__
from treewright.core.errors import BudgetSpent, IllegalMove, JournalError, ModelUnavailable, SandboxUnavailable, UserError

COMMANDS = ("solve", "ask", "resume", "runs", "show", "demo", "sandbox", "tools", "bench")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a task and a script, where the command finds its journal, and a judge that starts no process."""
    for name in ("TREEWRIGHT_MODEL", "OPENAI_API_KEY", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", str(tmp_path / "own.db"))
    monkeypatch.setattr("treewright.assembly.run_tests", judged)
    (tmp_path / "add.toml").write_text(TOML)
    write_script(tmp_path / "talk.jsonl", rows())
    return tmp_path


def solve(home: Path) -> list[str]:
    return ["solve", str(home / "add.toml"), "--model", f"scripted:{home}/talk.jsonl", "--sandbox", "process"]


def started(*arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([*COMMAND, *arguments], stdout=pipe, stderr=pipe, text=True, env=inherited())


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_the_commands_the_exit_statuses_and_the_models(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    done = here(capsys, *arguments)
    assert (done.status, done.err) == (0, "")
    text = " ".join(done.out.replace("│", " ").split())
    for word in (
        *COMMANDS,
        "--version",
        "0 verified, 1 answered but unverified, 2 wrong input",
        "130 interrupted",
        "scripted:FILE",
    ):
        assert word in text


def test_the_task_that_help_names_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(here(capsys, "--help").out.split())
    example = text.partition("treewright solve ")[2].split()[0]
    assert (Path(__file__).parent.parent.parent / example).is_file()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_all_its_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = here(capsys, command, "--help")
    assert (done.status, done.err) == (0, "")
    assert f"Usage: treewright {command}" in done.out
    options = [word for line in done.out.splitlines() if line.startswith("│") for word in line.split() if word.startswith("--")]
    assert "--json" in options
    for line in done.out.splitlines():
        if line.startswith("│ --"):
            assert len(line.strip("│ ").split()) > 1, line
    if command == "solve":
        for option in (
            "model",
            "strategy",
            "budget",
            "parallel",
            "journal",
            "seed",
            "json",
            "quiet",
            "out",
            "preset",
            "without",
        ):
            assert f"--{option}" in options


def test_help_is_quick_because_it_loads_nothing_of_a_run() -> None:
    heavy = ["asyncio", "pydantic", "sqlalchemy", "pydantic_ai", "httpx", "xllamacpp", "genai_prices", "treewright.runs"]
    code = (
        "import sys\nfrom treewright.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert here(capsys, "--version").out.strip() == __version__


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["slove"], "slove"),
        (["solve"], "TASK"),
        (["solve", "x.toml", "--modle", "local"], "--modle"),
        (["solve", "x.toml", "--parallel", "many"], "--parallel"),
        (["solve", "x.toml", "--seed", "spring"], "--seed"),
        (["solve", "x.toml", "y.toml"], "y.toml"),
        (["runs", "--most", "few"], "--most"),
        (["resume"], "RUN"),
        (["show"], "RUN"),
    ],
)
def test_a_wrong_option_is_named_and_ends_with_2(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = here(capsys, *arguments)
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (UserError("the task is odd"), 2, "treewright: the task is odd\n"),
        (JournalError("the disk is full"), 2, "treewright: the disk is full\n"),
        (ModelUnavailable("nobody answers"), 3, "treewright: nobody answers\n"),
        (SandboxUnavailable("no isolation"), 3, "treewright: no isolation\n"),
        (KeyboardInterrupt(), 130, "treewright: interrupted\n"),
        (BrokenPipeError(), 130, ""),
        (PermissionError(13, "Permission denied", "answer.py"), 2, "treewright: answer.py failed: Permission denied\n"),
        (OSError(28, "No space left on device"), 2, "treewright: standard output failed: No space left on device\n"),
        (BudgetSpent("tokens"), 1, "treewright: the budget of tokens is spent\n"),
        (IllegalMove("a bug"), 1, "treewright: a bug\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_every_error_has_its_exit_status_and_one_sentence(
    error: BaseException, status: int, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("treewright.journal.places.open_journal", fail)
    done = here(capsys, "runs", "--journal", "x.db")
    assert (done.status, done.out, done.err) == (status, "", says)


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    from treewright.cli import main

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("treewright.journal.places.open_journal", fail)
    with pytest.raises(ZeroDivisionError):
        main(["runs", "--journal", "x.db"])


@pytest.mark.parametrize("command", ["solve", "runs"])
def test_a_reader_that_has_gone_is_no_failure_of_ours(home: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    here(capsys, *solve(home))
    arguments = {"solve": [*solve(home), "--quiet"], "runs": ["runs"]}[command]
    with started(*arguments) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 130


def test_an_answer_that_cannot_be_printed_is_not_lost(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = apart(*solve(home), "--quiet", stdout=full)
    assert done.status == 2
    assert "the answer cannot be written to standard output (No space left on device), but is on record" in done.said
    again = done.said.partition("treewright ")[2].replace("FILE", str(home / "answer.py")).split()
    assert here(capsys, *again, "--quiet").status == 0
    assert (home / "answer.py").read_text() == ANSWER


def test_a_terminal_that_goes_away_does_not_take_the_run_with_it(home: Path) -> None:
    with started(*solve(home)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stderr.close()
        assert process.stdout.read() == ANSWER
    assert process.returncode == 0


def test_under_an_old_locale_an_answer_is_escaped_and_not_lost(home: Path) -> None:
    talk = rows()
    talk[7]["reply"] = talk[7]["reply"].replace("b + a", "b + a  # größer")
    write_script(home / "talk.jsonl", talk)
    done = apart(*solve(home), "--quiet", env=environment(PYTHONIOENCODING="ascii", TREEWRIGHT_JOURNAL=f"{home}/own.db"))
    assert (done.status, done.err) == (0, "")
    assert "b + a  # gr\\xf6\\xdfer" in done.out
