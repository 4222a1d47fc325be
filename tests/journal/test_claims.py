"""Claims: one holder for each number, until it gives it back, closes, or dies."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from treewright.journal.claims import Claims


def test_one_holder_for_each_number(tmp_path: Path) -> None:
    mine, theirs = Claims(tmp_path / "lock"), Claims(tmp_path / "lock")
    assert mine.take(5)
    assert mine.take(5)  # who has it may ask again
    assert not theirs.take(5)
    assert theirs.take(6)
    assert (mine.held_elsewhere(6), theirs.held_elsewhere(5)) == (True, True)
    assert not mine.held_elsewhere(7)
    mine.give_back(5)
    assert theirs.take(5)
    theirs.close()
    theirs.close()
    assert mine.take(6)
    mine.close()


def test_numbers_may_be_large(tmp_path: Path) -> None:
    mine, theirs = Claims(tmp_path / "lock"), Claims(tmp_path / "lock")
    assert mine.take((1 << 62) - 2)
    assert theirs.take((1 << 62) - 3)
    assert not theirs.take((1 << 62) - 2)
    mine.close()
    theirs.close()


def test_looking_makes_no_file_and_holds_nothing(tmp_path: Path) -> None:
    claims = Claims(tmp_path / "lock")
    assert not claims.held_elsewhere(1)
    assert list(tmp_path.iterdir()) == []


def test_where_no_file_can_be_made_it_says_so() -> None:
    with pytest.raises(OSError, match="No such file"):
        Claims(Path("/nowhere/lock")).take(1)


def test_a_process_that_is_killed_holds_nothing_any_more(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from treewright.journal.claims import Claims\n"
        "claims = Claims(Path(sys.argv[1])); print(claims.take(3), flush=True); time.sleep(60)"
    )
    claims = Claims(tmp_path / "lock")
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "lock")], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert claims.held_elsewhere(3)
        assert not claims.take(3)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert not claims.held_elsewhere(3)
    assert claims.take(3)
    claims.close()
