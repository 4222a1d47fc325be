from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import ChannelClosed, Exit, Job, Limits
from treewright.sandbox.process import ProcessSandbox


def run(sandbox: ProcessSandbox, job: Job) -> Exit:
    async def wait() -> Exit:
        async with sandbox.start(job) as process:
            return await process.wait()

    return asyncio.run(wait())


def test_its_level_is_its_name() -> None:
    assert ProcessSandbox().level == "process"


def test_it_leaves_nothing_in_its_folder(tmp_path: Path) -> None:
    ended = run(ProcessSandbox(folder=tmp_path), Job(python="import os; open('a', 'w'); os.mkdir('b'); print(os.getcwd())"))
    assert Path(ended.stdout.decode().strip()).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_and_home_are_in_its_folder() -> None:
    ended = run(
        ProcessSandbox(),
        Job(python="import os, tempfile; print(tempfile.gettempdir() == os.getcwd() == os.path.expanduser('~'))"),
    )
    assert ended.stdout == b"True\n"


def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="missing"):
        run(ProcessSandbox(folder=tmp_path / "missing"), Job(python="pass"))


def test_an_interpreter_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="no-python"):
        run(ProcessSandbox(python=tmp_path / "no-python"), Job(python="pass"))
    assert list(tmp_path.iterdir()) == []


def test_an_interpreter_that_does_not_work_is_not_the_programs_fault() -> None:
    ended = run(ProcessSandbox(python=Path("/bin/false")), Job(python="pass"))
    assert ended.status == "unavailable"


def test_programs_have_the_packages_of_their_interpreter() -> None:
    for sandbox in (ProcessSandbox(), ProcessSandbox(python=Path(sys.executable))):
        for trusted in (False, True):
            program = "import pydantic\ndef main(): pass\nprint('here')"
            ended = run(sandbox, Job(python=program, trusted=trusted, limits=Limits(memory_mb=1024)))
            assert ended.stdout == b"here\n", ended.stderr


def test_a_host_without_descriptors_is_not_the_programs_fault() -> None:
    sandbox = ProcessSandbox()
    assert run(sandbox, Job(python="pass")).status == "ok"

    async def starve(spare: int) -> Exit:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        used = {int(name) for name in os.listdir("/proc/self/fd")}  # noqa: PTH208
        free = [number for number in range(1000) if number not in used]
        resource.setrlimit(resource.RLIMIT_NOFILE, (free[spare], hard))
        try:
            async with sandbox.start(Job(python="pass", channel=True)) as process:
                return await process.wait()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    statuses = []
    for spare in range(24):  # it runs short at each step of the start
        before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208
        ended = asyncio.run(starve(spare))
        assert ended.status == "ok" or "Too many open files" in ended.detail, ended
        assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
        statuses.append(ended.status)
    assert {"ok", "unavailable"} == set(statuses)
    assert run(sandbox, Job(python="pass")).status == "ok"
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # no child is left, not even a dead one


def test_hashes_are_the_same_in_every_run() -> None:
    job = Job(python="import os; print(list({'a', 'b', 'c', 'd', 'e'}), 'PYTHONHASHSEED' in os.environ)")
    outputs = {run(ProcessSandbox(), job).stdout for _ in range(4)}
    assert len(outputs) == 1
    assert outputs.pop().endswith(b"False\n")


def test_a_crash_in_the_host_does_not_leave_the_job_for_ever() -> None:
    # The alarm that the launcher sets: what is left of the wall limit when the host is gone.
    source = "import signal; print(signal.getitimer(signal.ITIMER_REAL)[0])"
    ended = run(ProcessSandbox(), Job(python=source, limits=Limits(wall_s=5)))
    assert 0 < float(ended.stdout) <= 6


def test_the_peak_of_memory_is_the_jobs_own_or_unknown() -> None:
    small = run(ProcessSandbox(), Job(python="pass"))
    large = run(ProcessSandbox(), Job(python="x = b'x' * (400 << 20)"))
    assert small.memory_mb == 0 or small.memory_mb < 100
    assert large.memory_mb > 390 or large.memory_mb == 0


def test_a_descendant_that_has_shed_its_mark_holds_nobody_up() -> None:
    """What the adapter does not promise to end, and then still must not wait for."""
    source = """
import os, resource, time
if os.fork() == 0:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))
    os.write(3, len(text := str(os.getpid()).encode()).to_bytes(4, "big") + text)
    time.sleep(60)
os.wait()
"""

    async def use() -> None:
        async with ProcessSandbox().start(Job(python=source, channel=True, limits=Limits(wall_s=1))) as process:
            pid = int(await process.receive())
            try:
                assert (await process.wait()).status == "timeout"
                with pytest.raises(ChannelClosed):
                    async with asyncio.timeout(5):
                        await process.receive()
            finally:
                os.kill(pid, signal.SIGKILL)

    asyncio.run(use())
