from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest

from sandbox_homes import alive, children, descendants, ended, namespaces, open_descriptors, run
from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Exit, Job, Limits
from treewright.sandbox.namespaces import NamespaceSandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[NamespaceSandbox]:
    with namespaces() as opened:
        yield opened


def test_many_runs_leave_nothing(sandbox: NamespaceSandbox) -> None:
    async def many(count: int) -> Counter[str]:
        jobs = [Job(python="print(1)", stdin=b"x", files={"a": b"b"}, channel=True) for _ in range(count)]
        return Counter(outcome.status for outcome in await asyncio.gather(*(ended(sandbox, job) for job in jobs)))

    asyncio.run(many(20))  # both slots are up
    before = len(descendants()), open_descriptors()
    assert asyncio.run(many(120)) == {"ok": 120}
    assert (len(descendants()), open_descriptors()) == before


def test_a_cancelled_run_is_gone_when_the_block_is_left(sandbox: NamespaceSandbox) -> None:
    async def cancel() -> None:
        task = asyncio.create_task(ended(sandbox, Job(python="while True: pass")))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(sandbox, "pass")
    before = len(descendants())
    asyncio.run(cancel())
    assert len(descendants()) == before
    assert run(sandbox, "print(1)").status == "ok"


def test_killing_says_killed_and_leaves_an_end_alone(sandbox: NamespaceSandbox) -> None:
    async def kill() -> tuple[Exit, Exit]:
        async with sandbox.start(Job(python="while True: pass")) as process:
            process.kill()
            first = await process.wait()
            process.kill()
            assert await process.wait() == first
        async with sandbox.start(Job(python="pass")) as process:
            second = await process.wait()
            process.kill()
            assert await process.wait() == second
        return first, second

    first, second = asyncio.run(kill())
    assert (first.status, second.status) == ("killed", "ok")


def test_a_killed_zygote_costs_its_run_and_is_replaced() -> None:
    def zygotes(sandbox: NamespaceSandbox) -> list[int]:
        return [pid for slot in sandbox.running() for first in children(slot.pid) for pid in children(first)]

    async def kill(sandbox: NamespaceSandbox) -> list[Exit]:
        async with sandbox.start(Job(python="import time; time.sleep(60)")) as process:
            await asyncio.sleep(0.1)
            for pid in zygotes(sandbox):
                os.kill(pid, signal.SIGKILL)
            return [await process.wait(), await ended(sandbox, Job(python="print(1)"))]

    with namespaces(slots=1) as sandbox:
        broken, after = asyncio.run(kill(sandbox))
        assert (broken.status, after.status) == ("unavailable", "ok")
        for pid in zygotes(sandbox):  # between runs nobody notices
            os.kill(pid, signal.SIGKILL)
            while alive(pid):
                time.sleep(0.01)
        assert run(sandbox, "print(1)").status == "ok"


@pytest.mark.parametrize("outermost", [True, False])
def test_a_jail_whose_bwrap_is_killed_dies_with_everything_in_it(outermost: bool) -> None:
    with namespaces(slots=1) as sandbox:
        (slot,) = sandbox.running()
        jailed = descendants(slot.pid)
        os.kill(slot.pid if outermost else children(slot.pid)[0], signal.SIGKILL)
        until = time.monotonic() + 20
        while any(map(alive, jailed)) and time.monotonic() < until:
            time.sleep(0.01)
        assert not any(map(alive, jailed))
        assert run(sandbox, "print(1)").status == "ok"


def test_a_zygote_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treewright.sandbox.jail.run._LAST_WORD_S", 0.2)
    monkeypatch.setattr("treewright.sandbox.jail.slot._END_S", 0.2)
    with namespaces(slots=1) as sandbox:
        for pid in [pid for slot in sandbox.running() for pid in descendants(slot.pid)]:
            os.kill(pid, signal.SIGSTOP)
        assert run(sandbox, "pass", limits=Limits(wall_s=0.2)).status == "timeout"
        assert run(sandbox, "print(1)").status == "ok"


def test_runs_that_start_and_end_by_the_dozen_are_not_mixed_up(sandbox: NamespaceSandbox) -> None:
    async def calls(number: int) -> None:
        talk = "import os\ndef main():\n    while data := os.read(3, 99): os.write(3, data)"
        frame = b"%d" % number
        for _ in range(6):
            async with sandbox.start(Job(python=talk, channel=True, trusted=True)) as process:
                await process.send(frame)
                assert await process.receive() == frame
                process.kill()  # the line is hung up while others start
                assert (await process.wait()).status == "killed"

    async def all_of_them() -> None:
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for number in range(64):
                group.create_task(calls(number))

    asyncio.run(all_of_them())


def test_closing_ends_every_jail() -> None:
    before = set(descendants())
    with namespaces():
        assert set(descendants()) - before
    assert not set(descendants()) - before


HOST = """
import asyncio, sys
from treewright.sandbox.base import Job
from treewright.sandbox.namespaces import NamespaceSandbox
async def main():
    sandbox = NamespaceSandbox(slots=1)
    async with sandbox.start(Job(python="while True: pass")) as process:
        print(sandbox.running()[0].pid, flush=True)
        await process.wait()
asyncio.run(main())
"""


@pytest.mark.usefixtures("sandbox")
def test_a_host_that_is_killed_takes_its_jails_with_it() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, env=environment) as host:
        assert host.stdout
        host.stdout.readline()
        time.sleep(0.2)
        jailed = descendants(host.pid)
        assert len(jailed) >= 3  # bwrap, zygote, run
        host.kill()
    until = time.monotonic() + 20
    while any(alive(pid) for pid in jailed) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(alive(pid) for pid in jailed)


def test_a_host_without_descriptors_says_unavailable_and_recovers(sandbox: NamespaceSandbox) -> None:
    run(sandbox, "pass")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def starved() -> Exit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_descriptors(), hard))
        try:
            return await ended(sandbox, Job(python="pass"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    outcome = asyncio.run(starved())
    assert outcome.status == "unavailable"
    assert "Too many open files" in outcome.detail
    assert run(sandbox, "print(1)").status == "ok"


def test_a_host_with_thousands_of_descriptors_open_runs_as_before(sandbox: NamespaceSandbox) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 12000), hard))
    opened: list[int] = []
    try:
        with suppress(OSError):
            while len(opened) < 10000:
                opened.append(os.open(os.devnull, os.O_RDONLY))
        assert run(sandbox, "print(1)").status == "ok"
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_it_works_in_one_event_loop_after_another_and_in_another_thread(sandbox: NamespaceSandbox) -> None:
    outcomes: list[Exit] = []
    thread = threading.Thread(target=lambda: outcomes.append(run(sandbox, "print(1)")))
    thread.start()
    thread.join()
    outcomes += [run(sandbox, "print(1)") for _ in range(3)]
    assert [outcome.status for outcome in outcomes] == ["ok"] * 4


def test_a_host_without_room_for_processes_says_unavailable() -> None:
    with namespaces(slots=1):
        pass  # else skip
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    sandbox = NamespaceSandbox(slots=1)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, hard))
    try:
        outcome = run(sandbox, "print(1)")
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))
        sandbox.close()
    assert outcome.status == "unavailable"
    assert outcome.detail


def test_a_closed_sandbox_says_so() -> None:
    with namespaces(slots=1) as sandbox:
        sandbox.close()
        for processes in (0, 1):
            outcome = run(sandbox, "pass", limits=Limits(processes=processes))
            assert (outcome.status, outcome.detail) == ("unavailable", "This sandbox is closed; open another.")


def test_a_slot_that_cannot_be_started_later_on_costs_that_run_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with namespaces(slots=1) as sandbox:
        (slot,) = sandbox.running()
        jailed = descendants(slot.pid)
        os.kill(slot.pid, signal.SIGKILL)
        while any(map(alive, jailed)):
            time.sleep(0.01)
        with monkeypatch.context() as broken:
            broken.setattr("treewright.sandbox.jail.bubblewrap.arguments", lambda *_: ["/bin/false"])
            outcome = run(sandbox, "print(1)")
        assert (outcome.status, outcome.stdout) == ("unavailable", b"")
        assert "did not start" in outcome.detail
        assert run(sandbox, "print(1)").stdout == b"1\n"


def test_a_sandbox_that_never_starts_is_unavailable_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    with namespaces(slots=1):
        pass
    monkeypatch.setattr(
        "treewright.sandbox.jail.bubblewrap.arguments", lambda *_: ["/bin/sh", "-c", "echo no such thing >&2; exit 1"]
    )
    with NamespaceSandbox(slots=1) as sandbox, pytest.raises(SandboxUnavailable, match="did not start: no such thing"):
        run(sandbox, "pass")
