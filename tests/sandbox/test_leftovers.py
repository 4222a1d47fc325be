from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator

import pytest

from treewright.sandbox.leftovers import Mark, new_mark, sweep

SLEEPER = "import os, time; os.write(1, b'x'); time.sleep(60)"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-S", "-c", SLEEPER], stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.read(1)
        yield child
        child.kill()


def test_marks_are_seldom_the_same() -> None:
    marks = {new_mark() for _ in range(100)}
    assert len(marks) == 100
    for mark in marks:
        assert mark is not None
        assert 0 <= mark[0] < mark[1] <= resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]


def test_only_what_carries_the_mark_is_killed(sleeper: subprocess.Popen[bytes]) -> None:
    mark = new_mark()
    assert mark
    sweep(os.getpid(), mark)
    assert sleeper.poll() is None
    resource.prlimit(sleeper.pid, resource.RLIMIT_MSGQUEUE, mark)
    sweep(sleeper.pid, mark)  # only what is younger
    assert sleeper.poll() is None
    sweep(os.getpid(), mark)
    assert sleeper.wait(10) == -9


def test_numbers_that_have_wrapped_round_are_looked_at_too(sleeper: subprocess.Popen[bytes]) -> None:
    mark = new_mark()
    assert mark
    resource.prlimit(sleeper.pid, resource.RLIMIT_MSGQUEUE, mark)
    sweep(1 << 30, mark)  # a first process with a number higher than the newest
    assert sleeper.wait(10) == -9


def test_without_room_for_marks_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def tiny(kind: int) -> Mark:
        return 0, 100

    monkeypatch.setattr(resource, "getrlimit", tiny)
    assert new_mark() is None
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (0, resource.RLIM_INFINITY))
    assert new_mark() is not None
