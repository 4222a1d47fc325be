"""`treewright ask`, and `show`, `runs` and `resume` of what it did: exit statuses, what goes where, every impossible wish."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from command import COMMAND, Done, apart, environment, here
from tools_desk import code
from treewright.journal.sqlite import SQLiteJournal

TOOLS = '''
from pathlib import Path
from treewright import tool


@tool(effect="pure")
def weather(city: str) -> float:
    """Weather of a city."""
    return 22.0


@tool(effect="commit")
def send(to: str) -> None:
    """Send a mail."""
    with Path("outbox").open("a") as file:
        file.write(to)
'''
GOOD = code("final_answer(weather('Rome'))")
Capture = pytest.CaptureFixture[str]
ASK = ("ask", "How warm is Rome?", "--tools", "tools.py", "--model", "scripted:talk.jsonl", "--sandbox", "process")


def says(*replies: str | dict[str, Any]) -> None:
    rows = [reply if isinstance(reply, dict) else {"reply": reply} for reply in replies]
    Path("talk.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with tools, a script that answers well, and a journal of its own."""
    for name in (*(n for n in os.environ if n.endswith("_API_KEY")), "TREEWRIGHT_MODEL", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", str(tmp_path / "own.db"))
    monkeypatch.chdir(tmp_path)
    Path("tools.py").write_text(TOOLS)
    says(*[GOOD] * 3)
    return tmp_path


def told(done: Done) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(done.out)
    return answer


def test_a_verified_answer_is_printed_and_ends_with_0(capsys: Capture) -> None:
    done = here(capsys, *ASK)
    assert (done.status, done.out) == (0, "22.0\n")
    lines = done.err.splitlines()
    assert lines[0] == "node 0: 3 to try"
    assert "node 0.0: = 22.0 after 1 tool call, score 1.00, kept" in lines[1:4], "programs end in any order"
    assert lines[-2].startswith(
        "verified: nothing was left to try; 3 of 3 programs that ran to their end say so (3 executions, "
    )
    assert lines[-1].startswith("treewright show ")


def test_an_unverified_answer_ends_with_1_and_so_does_none(capsys: Capture) -> None:
    says(code("print('maybe 22')\n1 / 0"))
    done = here(capsys, *ASK, "--layers", "1", "--width", "1")
    assert (done.status, done.out) == (1, "maybe 22\n")
    assert "unverified: nothing was left to try; no program gave an answer and ran to its end" in done.err
    says(code("1 / 0"))
    done = here(capsys, *ASK, "--layers", "1", "--width", "1")
    assert (done.status, done.out) == (1, "")
    assert "no answer: nothing was left to try; no program gave an answer" in done.err


def test_json_is_one_object_and_nothing_else(capsys: Capture) -> None:
    done = here(capsys, *ASK, "--json", "--quiet")
    assert done.err == ""
    assert told(done) | {"run_id": "", "usage": {}} == {
        "task": "How warm is Rome?", "strategy": "tree-of-code", "model": "scripted:talk.jsonl", "solved": False,
        "verified": True, "answer": "22.0", "reason": "nothing was left to try; 3 of 3 programs that ran to their end say so",
        "ended": "exhausted", "usage": {}, "run_id": "",
    }  # fmt: skip
    assert told(done)["usage"]["tool_calls"] == 1, "the pure tool was called once for all"


def test_out_writes_the_answer_to_a_file(capsys: Capture) -> None:
    done = here(capsys, *ASK, "--out", "answer.txt")
    assert (done.status, done.out, Path("answer.txt").read_text()) == (0, "", "22.0")


def test_a_question_may_come_from_standard_input(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("How warm is Rome?\nIn Celsius.\n"))
    done = here(capsys, "ask", "-", *ASK[2:], "--json")
    assert told(done)["task"] == "How warm is Rome? In Celsius."


def test_standard_input_that_is_no_text_empty_or_closed_is_one_sentence(home: Path) -> None:
    command = [*COMMAND, "ask", "-", *ASK[2:]]
    utf8 = environment(PYTHONIOENCODING="utf-8:strict", TREEWRIGHT_JOURNAL="own.db")
    for stdin, closed, expected in ((b"\xff\xfe", "", "is not utf-8 text"), (b" \n", "", "the question is empty"),
                                    (None, "<&-", "the question is empty")):  # fmt: skip
        script = ["sh", "-c", f'"$@" {closed}', "sh", *command]
        ran = subprocess.run(script, input=stdin, capture_output=True, env=utf8, cwd=home, check=False)
        assert (ran.returncode, ran.stdout) == (2, b"")
        (line,) = ran.stderr.decode().splitlines()
        assert expected in line


def test_closed_standard_input_stands_in_no_questions_way(home: Path) -> None:
    script = ["sh", "-c", '"$@" <&-', "sh", *COMMAND, *ASK, "--quiet"]
    ran = subprocess.run(
        script, capture_output=True, text=True, env=environment(TREEWRIGHT_JOURNAL="own.db"), cwd=home, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "22.0\n", "")


BAD: list[tuple[list[str], str]] = [
    (["--yes", "--dry-run"], "--yes and --dry-run contradict each other"),
    (["--history", "all"], "unknown history 'all': choose full or summary"),
    (["--preset", "small"], "unknown preset 'small': choose one of paper, recommended"),
    (["--strategy", "codetree"], "unknown strategy 'codetree': choose one of tree-of-code, codeact, react, code-program"),
    (["--layers", "0"], "layers is 0: give at least 1"),
    (["--width", "-1"], "width is -1: give at least 1"),
    (["--budget", "0"], "a budget of 0 executions allows nothing"),
    (["--budget", "mails=3"], "unknown budget 'mails'"),
    (["--parallel", "0"], "parallel is 0"),
    (["--out", "no/folder/answer.txt"], "the answer cannot be written to no/folder/answer.txt"),
    (["--prompts", "nowhere"], "there is no prompt (*.md) in nowhere"),
    (["--pool", "scripted:gone.jsonl"], "the script gone.jsonl cannot be read"),
]


@pytest.mark.parametrize(("options", "says"), BAD, ids=[says for _, says in BAD])
def test_a_bad_option_is_one_sentence_and_no_run(capsys: Capture, home: Path, options: list[str], says: str) -> None:
    done = here(capsys, *ASK, *options)
    assert (done.status, done.out) == (2, "")
    assert says in done.said
    if (home / "own.db").exists():
        with closing(SQLiteJournal(home / "own.db")) as journal:
            assert journal.runs() == []


def test_a_model_that_nobody_knows_is_one_sentence(capsys: Capture) -> None:
    done = here(capsys, *ASK[:4], "--model", "nobody:x")
    assert (done.status, done.out) == (2, "")
    assert "nobody" in done.said


def test_an_empty_question_is_one_sentence(capsys: Capture) -> None:
    assert here(capsys, "ask", "  ", *ASK[2:]).said == "the question is empty: say in words what to find out or to do"


def test_a_source_that_is_lost_is_told_and_the_rest_goes_on(capsys: Capture) -> None:
    done = here(capsys, *ASK, "--tools", "gone.py")
    assert (done.status, done.out) == (0, "22.0\n")
    assert "the tools of gone.py cannot be used: " in done.err


@pytest.mark.parametrize("content", [None, "import nothing_of_that_name", "def f(x): return x", "x = ("])
def test_without_a_tool_left_it_is_one_sentence(capsys: Capture, content: str | None) -> None:
    if content is not None:
        Path("bad.py").write_text(content)
    done = here(capsys, "ask", "q", "--tools", "bad.py", *ASK[4:])
    assert (done.status, done.out) == (2, "")
    assert done.said.startswith("there is no tool to work with: ")
    assert "bad.py" in done.said


def test_without_tools_a_program_answers_by_itself(capsys: Capture) -> None:
    says(*[code("final_answer(6 * 7)")] * 3)
    assert here(capsys, "ask", "What is 6 times 7?", *ASK[4:]).out == "42\n"


@pytest.mark.parametrize("question", ["東京の気温は？", "كم درجة الحرارة؟", "🌦 naïve?", "-5 °C?", "[bold]x[/bold]"])
def test_a_question_in_any_script(capsys: Capture, question: str) -> None:
    says(*[code(f"final_answer({question!r})")] * 3)
    done = here(capsys, "ask", question, *ASK[2:])
    assert (done.status, done.out) == (0, f"{question}\n")
    assert question in here(capsys, "runs").out
    assert question in here(capsys, "show", "last").out


def test_a_question_whose_bytes_are_no_text_does_not_end_in_a_traceback(home: Path) -> None:
    command = [*(word.encode() for word in COMMAND), b"ask", b"\xff?", *(word.encode() for word in ASK[2:])]
    ran = subprocess.run(command, capture_output=True, env=environment(TREEWRIGHT_JOURNAL="own.db"), cwd=home, check=False)
    assert b"Traceback" not in ran.stderr
    assert ran.returncode in (0, 2)


def test_options_reach_the_run(capsys: Capture, home: Path) -> None:
    (home / "pool").mkdir()
    (home / "pool" / "mine.md").write_text("Be brief.")
    says(*[code("1 / 0")] * 20)
    options = ("--layers", "2", "--width", "2", "--strict", "--history", "full", "--no-adaptive", "--seed", "4",
               "--prompts", "pool", "--dry-run", "--preset", "paper", "--budget", "5,tool_calls=9")  # fmt: skip
    assert here(capsys, *ASK, *options).status == 1
    with closing(SQLiteJournal(home / "own.db")) as journal:
        spec = journal.runs()[0].spec
    assert spec["tools"].items() >= {
        "layers": 2, "width": 2, "strict": True, "history": "full", "adaptive": False, "prompts": "pool", "pool": [],
        "commits": "dry_run",
    }.items()  # fmt: skip
    assert (spec["seed"], spec["preset"], spec["limits"]["executions"], spec["limits"]["tool_calls"]) == (4, "paper", 5, 9)
    assert "prompt mine" in here(capsys, "show", "last").out


def test_a_mail_is_sent_only_if_allowed(capsys: Capture, home: Path) -> None:
    for option, sent, said in (("--dry-run", False, "1 noted call was not made (dry run)"),
                               ("--quiet", False, ""), ("--yes", True, "send: done")):  # fmt: skip
        says(*[code("send('ann')\nfinal_answer('sent')")] * 3)
        done = here(capsys, *ASK, option)
        assert (done.status, done.out, said in done.err) == (0, "sent\n", True)
        assert (home / "outbox").exists() == sent
    assert (home / "outbox").read_text() == "ann"


def test_a_model_that_is_gone_ends_with_3_and_the_run_goes_on_with_resume(capsys: Capture) -> None:
    says(GOOD, code("1 / 0"))
    done = here(capsys, *ASK, "--width", "2", "--layers", "2", "--quiet")
    assert (done.status, done.out) == (3, "")
    assert "to go on: treewright resume " in done.err
    says(GOOD, code("1 / 0"), GOOD, GOOD)
    done = here(capsys, "resume", "last", "--quiet")
    assert (done.status, done.out) == (0, "22.0\n")
    line = json.loads(here(capsys, "runs", "--json").out)
    assert (line["status"], line["strategy"], line["task"], line["executions"]) == (
        "verified",
        "tree-of-code",
        "How warm is Rome?",
        4,
    )


def test_a_run_whose_tools_were_given_in_python_names_the_way_out(capsys: Capture, home: Path) -> None:
    script = """
from treewright import ToolTask, answer
def weather(city: str) -> float:
    "Weather."
    return 22.0
answer(ToolTask("q", [weather]), model="scripted:talk.jsonl", sandbox="process", budget=1)
"""
    ran = subprocess.run([sys.executable, "-c", script], cwd=home, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    done = here(capsys, "resume", "last", "--budget", "9", "--quiet")
    assert done.status == 2
    assert "the tools of this run were given in Python (weather): take it up there" in done.err.splitlines()[-1]
    assert "Traceback" not in done.err


def test_show_tells_all_of_a_node(capsys: Capture) -> None:
    says(code("send('ann')\nprint('seen')\nfinal_answer(weather('Rome'))", "First I look."), *[code("x = =")] * 2)
    here(capsys, *ASK, "--layers", "1", "--quiet", "--parallel", "1")
    shown = here(capsys, "show", "last", "0.0", "--prompts").out
    for part in ("First I look.", "final_answer(weather('Rome'))", "It printed:\nseen", "It gave this final answer: 22.0",
                 "send({'to': 'ann'})", "programmer, ask 1", "weather(city: str) -> float"):  # fmt: skip
        assert part in shown
    tree = here(capsys, "show", "last").out
    assert "= 22.0" in tree
    assert "error" in tree
    node = json.loads(here(capsys, "show", "last", "0.0", "--json").out)
    assert node["thought"] == "First I look."
    assert node["run"]["planned"] == [{"number": 1, "tool": "send", "arguments": {"to": "ann"}}]
    assert (node["run"]["answer"], node["draw"]["model"]) == ("22.0", 0)
    nodes = json.loads(here(capsys, "show", "last", "--json").out)["nodes"]
    assert [one["node"] for one in nodes] == ["0", "0.0", "0.1", "0.2"]


def test_ctrl_c_ends_with_what_is_there_and_the_run_goes_on(home: Path) -> None:
    says(GOOD, {"reply": GOOD, "latency_s": 1.0}, GOOD)
    variables = environment(TREEWRIGHT_JOURNAL=str(home / "own.db"))
    pipe = subprocess.PIPE
    command = [*COMMAND, *ASK, "--parallel", "1"]
    with subprocess.Popen(command, cwd=home, env=variables, stdout=pipe, stderr=pipe, text=True) as process:
        end = time.monotonic() + 60
        assert process.stderr is not None
        while not process.stderr.readline().startswith("node 0.0:"):
            assert time.monotonic() < end
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "22.0\n")
    assert "interrupted" in err
    done = apart("resume", "last", "--quiet", cwd=home, env=variables)
    assert (done.status, done.out) == (0, "22.0\n")
