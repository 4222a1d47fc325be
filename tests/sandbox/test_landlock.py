from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox_homes import descendants, ended, landlock, open_descriptors, run
from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Job, Limits
from treewright.sandbox.inside import linux
from treewright.sandbox.landlock import LandlockSandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LandlockSandbox]:
    with landlock() as opened:
        yield opened


def test_files_of_the_host_can_neither_be_read_nor_written(sandbox: LandlockSandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s")
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        with suppress(PermissionError):
            folder.chmod(folder.stat().st_mode | 0o055)  # so that it is not the owner alone who keeps it closed
    secret.chmod(0o666)
    program = f"""
for path in ({str(secret)!r}, "/etc/passwd", "/proc/self/environ", "/proc/1/cmdline"):
    for mode in "rw":
        try: open(path, mode).close(); print(path, mode)
        except OSError: pass
"""
    assert run(sandbox, program).stdout == b""
    assert secret.read_text() == "s"


def test_files_of_another_run_are_out_of_reach(sandbox: LandlockSandbox) -> None:
    async def both() -> bytes:
        waiting = "import os, time; os.write(3, b'\\0\\0\\0\\0'); time.sleep(60)"
        async with sandbox.start(Job(python=waiting, files={"mine": b"x"}, channel=True)) as process:
            await process.receive()
            look = "import glob, os\nfor d in os.listdir('..') if os.access('..', os.R_OK) else []: print(d)"
            return (await ended(sandbox, Job(python=look, files={"other": b""}))).stdout

    assert asyncio.run(both()) == b""


def test_nothing_can_be_written_and_files_of_the_job_can_be_read(sandbox: LandlockSandbox) -> None:
    program = "print(open('given').read())\ntry: open('new', 'w')\nexcept OSError: print('refused')"
    assert run(sandbox, program, files={"given": b"text"}).stdout == b"text\nrefused\n"


def test_signals_reach_the_run_itself_only(sandbox: LandlockSandbox) -> None:
    program = """
import os, signal
for target in (os.getppid(), -1, 1, 0):
    try: os.kill(target, 0); print("reached", target)
    except OSError: pass
os.kill(os.getpid(), signal.SIGTERM)
"""
    outcome = run(sandbox, program)
    assert (outcome.stdout, outcome.signal) == (b"", 15)
    assert run(sandbox, "print(1)").status == "ok"


def test_limits_of_others_cannot_be_changed(sandbox: LandlockSandbox) -> None:
    program = (
        "import os, resource\ntry: resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))\nexcept OSError: print('no')"
    )
    assert run(sandbox, program).stdout == b"no\n"


def test_threads_run_sockets_and_processes_do_not(sandbox: LandlockSandbox) -> None:
    program = """
import os, socket, threading
done = []
threads = [threading.Thread(target=done.append, args=(n,)) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for attempt in (os.fork, socket.socket):
    try: attempt(); print("made one")
    except PermissionError: print("refused")
print(len(done))
"""
    assert run(sandbox, program, limits=Limits(processes=4)).stdout == b"refused\nrefused\n8\n"


def test_commands_are_refused_with_the_reason(sandbox: LandlockSandbox) -> None:
    outcome = asyncio.run(ended(sandbox, Job(command=("gcc", "--version"))))
    assert outcome.status == "unavailable"
    assert outcome.detail.startswith("gcc cannot be run without namespaces")


def test_a_deadly_call_is_named(sandbox: LandlockSandbox) -> None:
    assert run(sandbox, "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)").detail == "the system call ptrace"


def test_runs_have_no_privileges(sandbox: LandlockSandbox) -> None:
    program = """
import ctypes, json, os, struct
data = ctypes.create_string_buffer(24)
ctypes.CDLL(None).syscall({"x86_64": 125, "aarch64": 90}[os.uname().machine], struct.pack("<II", 0x20080522, 0), data)
print(json.dumps([os.getuid(), any(data.raw)]))
"""
    user, capable = json.loads(run(sandbox, program).stdout)
    assert not capable
    assert os.getuid() != 0 or user == 0 or user >= 61000


def test_many_runs_leave_nothing(sandbox: LandlockSandbox) -> None:
    async def many(count: int) -> None:
        jobs = [Job(python="print(1)", files={"a": b"b"}, channel=True) for _ in range(count)]
        outcomes = await asyncio.gather(*(ended(sandbox, job) for job in jobs))
        assert {outcome.status for outcome in outcomes} == {"ok"}

    asyncio.run(many(20))
    before = len(descendants()), open_descriptors()
    asyncio.run(many(60))
    assert (len(descendants()), open_descriptors()) == before


def test_closing_ends_all_and_takes_the_folder_away(tmp_path: Path) -> None:
    before = set(descendants())
    with landlock(folder=tmp_path) as sandbox:
        run(sandbox, "pass", files={"a": b""})
        assert set(descendants()) - before
    del sandbox
    assert not set(descendants()) - before
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_without_landlock_is_said_to_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux, "landlock_version", lambda: 0)
    with pytest.raises(SandboxUnavailable, match="no Landlock"):
        LandlockSandbox()
