from __future__ import annotations

import asyncio
import os
import select
import socket
import subprocess
from collections.abc import Iterator, Sequence
from typing import cast

import pytest

from sandbox_homes import ended, namespaces, run
from treewright.sandbox.base import Job, Limits
from treewright.sandbox.inside import wire
from treewright.sandbox.inside.zygote import Run, Zygote
from treewright.sandbox.jail.slot import Slot
from treewright.sandbox.namespaces import NamespaceSandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[NamespaceSandbox]:
    with namespaces(slots=1) as opened:
        yield opened


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[wire.Request]:
    """What zygotes are asked for while the test runs."""
    seen: list[wire.Request] = []
    submit = Slot.submit

    def record(self: Slot, request: wire.Request, descriptors: Sequence[int]) -> None:
        seen.append(request)
        submit(self, request, descriptors)

    monkeypatch.setattr(Slot, "submit", record)
    return seen


def test_trusted_text_is_sent_once_and_untrusted_text_never_reaches_the_zygote_as_such(
    sandbox: NamespaceSandbox, requests: list[wire.Request]
) -> None:
    guest = "def main(): print('guest', __name__)"
    for _ in range(3):
        assert run(sandbox, guest, trusted=True).stdout == b"guest __main__\n"
    assert [request["has_text"] for request in requests] == [True, False, False]
    assert [request["text_bytes"] for request in requests] == [len(guest), 0, 0]
    requests.clear()
    run(sandbox, guest)
    assert requests[0]["trusted"] == ""
    assert guest not in str(requests)


def test_more_trusted_texts_than_are_kept_still_run(sandbox: NamespaceSandbox) -> None:
    for number in range(20):
        assert run(sandbox, f"def main(): print({number})", trusted=True).stdout == f"{number}\n".encode()
    assert run(sandbox, "def main(): print(0)", trusted=True).stdout == b"0\n"


def test_trusted_text_that_is_no_python_is_our_fault() -> None:
    with namespaces(slots=1) as fresh:
        assert run(fresh, "def f(:", trusted=True).status == "unavailable"
        assert run(fresh, "print(1)").status == "ok"


def test_a_text_full_of_nesting_harms_only_its_own_run(sandbox: NamespaceSandbox) -> None:
    outcome = run(sandbox, "(" * 100_000 + ")" * 100_000)
    assert outcome.status == "error"
    assert run(sandbox, "print(1)").status == "ok"


def test_processor_time_of_many_runs_is_watched_at_once(sandbox: NamespaceSandbox) -> None:
    async def all_of_them() -> list[str]:
        limits = [Limits(cpu_s=0.1 + 0.02 * number, wall_s=60) for number in range(10)]
        jobs = [Job(python="while True: pass", limits=limit) for limit in limits]
        outcomes = await asyncio.gather(*(ended(sandbox, job) for job in jobs))
        for limit, outcome in zip(limits, outcomes, strict=True):
            assert limit.cpu_s <= outcome.cpu_s < limit.cpu_s + 1
        return [outcome.status for outcome in outcomes]

    assert asyncio.run(all_of_them()) == ["timeout"] * 10


def test_a_listener_without_a_notification_is_left_alone() -> None:
    config = cast("wire.Config", {"level": "bare", "signals": {}, "filters": {}})
    ours, theirs = socket.socketpair()
    reader, writer = os.pipe()
    os.close(writer)  # POLLHUP without POLLIN, as a listener has when its run has just ended
    with ours, theirs, subprocess.Popen(["/bin/sleep", "60"]) as bystander:
        run = Run(bystander.pid, -1, ours, theirs, 1.0, 0.0, listener=reader)
        Zygote(ours, config).attend(run, reader, select.POLLHUP)
        assert run.denied == -1
        with pytest.raises(subprocess.TimeoutExpired):
            bystander.wait(0.3)
        bystander.kill()
    os.close(reader)


def test_the_usual_modules_are_there_before_the_run(sandbox: NamespaceSandbox) -> None:
    program = "import sys\nprint([name for name in ('collections', 'heapq', 're', 'json') if name not in sys.modules])"
    assert run(sandbox, program).stdout == b"[]\n"
    assert run(sandbox, "import sys; print([m for m in sys.modules if 'treewright' in m])").stdout == b"[]\n"


def test_ends_of_its_own_making_are_told_as_they_are(sandbox: NamespaceSandbox) -> None:
    assert run(sandbox, "import os; os.abort()").signal == 6
    assert run(sandbox, "import ctypes; ctypes.string_at(0)").signal == 11
    assert run(sandbox, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)").signal == 9
    assert run(sandbox, "import os; os._exit(9)").code == 9
