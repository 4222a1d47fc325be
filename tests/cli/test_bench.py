"""`treewright bench`: tasks answered through sandbox, tools and vote, and graded."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest

from bench_data import write_api, write_m3
from command import COMMAND, environment, here

Capture = pytest.CaptureFixture[str]
M3 = ("bench", "m3tooleval", "--data", ".", "--sandbox", "process", "--quiet")
API = ("bench", "apibank", "--data", ".", "--sandbox", "process", "--quiet", "--model", "scripted:talk.jsonl")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both benchmarks, small."""
    for name in ("TREEWRIGHT_MODEL", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREEWRIGHT_JOURNAL", str(tmp_path / "own.db"))
    monkeypatch.chdir(tmp_path)
    write_m3(tmp_path)
    write_api(tmp_path)
    return tmp_path


def script(*replies: tuple[str, str]) -> None:
    """A model that replies with these programs to the questions that hold these words."""
    rows = [{"when": when, "reply": f"<execute>\n{program}\n</execute>"} for when, program in replies]
    Path("talk.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.usefixtures("home")
def test_the_reference_is_right_in_all_graded_tasks(capsys: Capture) -> None:
    done = here(capsys, *M3, "--model", "reference", "--json")
    assert (done.status, done.err) == (0, "")
    told = json.loads(done.out)
    assert {key: told[key] for key in ("benchmark", "strategy", "model")} == {
        "benchmark": "m3tooleval", "strategy": "tree-of-code", "model": "reference",
    }  # fmt: skip
    assert [(row["name"], row["outcome"]["answer"], row["correct"], row["original"]) for row in told["rows"]] == [
        ("trade/both", "[5.0, 15.0]", True, True),
        ("trade/larger", "15.0", True, True),
    ]
    assert told["rows"][1]["outcome"]["tool_calls"] >= 3
    assert told["figures"][-1]["turns"] == 1


@pytest.mark.parametrize("strategy", ["code-program", "codeact"])
@pytest.mark.usefixtures("home")
def test_other_strategies_are_measured_the_same_way(strategy: str, capsys: Capture) -> None:
    done = here(capsys, *M3, "--model", "reference", "--strategy", strategy, "--json")
    (told,) = json.loads(done.out)["figures"]
    assert (told["correct"], told["graded"], told["turns"], told["calls"]) == (1.0, 2, 1.0, 1.0)


@pytest.mark.usefixtures("home")
def test_failures_grow_another_layer_and_the_table_counts_it(capsys: Capture) -> None:
    wrong = ("Bob", 'FindSeat(name="Bob", floor=9)')
    right = ("Attempt 1", 'seat = FindSeat(name="Bob", floor=3)\nfinal_answer(seat["seat"])')
    script(*[("Ann", 'final_answer("Room 9")')] * 3, *[wrong] * 3, *[right] * 9)
    done = here(capsys, *API, "--json")
    rows = json.loads(done.out)["rows"]
    assert [(row["correct"], row["outcome"]["layers"]) for row in rows] == [(False, 1), (True, 2)]
    assert rows[1]["outcome"]["programs"] == 12


@pytest.mark.usefixtures("home")
def test_what_is_in_the_file_is_not_done_again(capsys: Capture) -> None:
    script(*[("Ann", 'final_answer("Room 7")')] * 3)
    first = here(capsys, *API, "--out", "rows.jsonl", "--markdown")
    assert first.status == 3
    assert "| all | 1 | 1 | 100.0% |" in first.out
    assert "has no reply left" in first.err
    script(*[("Bob", 'final_answer("Room 9")')] * 3)
    second = here(capsys, *API, "--out", "rows.jsonl")
    assert (second.status, second.err) == (0, "")
    assert second.out.splitlines()[-1].split()[:4] == ["all", "2", "2", "100.0%"]
    assert second.out == here(capsys, *API, "--out", "rows.jsonl").out


def test_an_interrupt_ends_it_with_what_is_done_and_it_can_go_on(home: Path) -> None:
    rows = [{"when": "Ann", "reply": "<execute>\nfinal_answer('Room 7')\n</execute>"}] * 3
    Path("talk.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in [*rows, *[{"reply": "x", "latency_s": 120}] * 3]))
    pipe = subprocess.PIPE
    command = [*COMMAND, *API, "--out", "rows.jsonl"]
    with subprocess.Popen(command, cwd=home, env=environment(), stdout=pipe, stderr=pipe, text=True) as process:
        deadline = monotonic() + 60
        while '"begin": "level-3/01"' not in (Path("rows.jsonl").read_text() if Path("rows.jsonl").exists() else ""):
            assert monotonic() < deadline
            sleep(0.05)
        sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err == "to go on: the same command again, with --out rows.jsonl\n"
    assert out.splitlines()[-1].split()[:4] == ["all", "1", "1", "100.0%"]


@pytest.mark.usefixtures("home")
def test_progress_goes_to_standard_error(capsys: Capture) -> None:
    done = here(capsys, *M3[:-1], "--model", "reference", "--limit", "1")
    assert done.err == "[1/1] trade/both\n"


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["m3tooleval", "--data", "nowhere"], 2, "nowhere/m3tooleval/m3tooleval_82.json cannot be read"),
        (["apibank", "--data", "nowhere"], 2, "nowhere/apibank/level-3.json.gz cannot be read"),
        (["apibank", "--data", ".", "--model", "reference"], 2, "the model reference knows m3tooleval only"),
        (["m3tooleval", "--data", ".", "--limit", "0"], 2, "a limit of 0 leaves no task"),
        (["m3tooleval", "--data", ".", "--model", "magic:x"], 2, "unknown"),
        (["m3tooleval", "--data", ".", "--model", "reference", "--strategy", "magic"], 2, "unknown strategy 'magic'"),
        (["m3tooleval", "--data", ".", "--model", "reference", "--budget", "0"], 2, "a budget of 0 executions"),
        (["m3tooleval", "--data", ".", "--model", "reference", "--sandbox", "magic"], 2, "There is no sandbox 'magic'"),
        (["m3tooleval", "--data", ".", "--model", "reference", "--out", "no/rows"], 2, "no/rows cannot be written"),
    ],
)
@pytest.mark.usefixtures("home")
def test_what_makes_no_sense_is_one_sentence(arguments: list[str], status: int, says: str, capsys: Capture) -> None:
    done = here(capsys, "bench", *arguments, "--quiet")
    assert (done.status, done.out) == (status, "")
    assert says in done.said
