"""The container adapter over an engine that can be told to fail. Real engines: `tests/conformance`, where there are any."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import scripted_engine
from sandbox_homes import ended, run
from scripted_engine import ScriptedEngine
from treewright.core.errors import SandboxUnavailable
from treewright.sandbox import probe
from treewright.sandbox.base import Exit, Job, Limits
from treewright.sandbox.conformance.tools import gone, marked
from treewright.sandbox.container import ContainerSandbox
from treewright.sandbox.container.engine import Engine, EngineName, Plan, new_name
from treewright.sandbox.container.run import Report, exit_of

MEET = "open('now', 'w').close()\nimport time\ntime.sleep(60)"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    return scripted_engine.install(tmp_path, monkeypatch)


@pytest.fixture
def sandbox(engine: ScriptedEngine) -> Iterator[ContainerSandbox]:
    opened = ContainerSandbox("docker")
    yield opened
    opened.close()


def test_its_level_is_the_engine(sandbox: ContainerSandbox) -> None:
    assert sandbox.level == "docker"


def test_an_engine_that_is_not_installed_is_one_sentence(engine: ScriptedEngine) -> None:
    with pytest.raises(SandboxUnavailable, match=r"^podman is not installed\.$"):
        ContainerSandbox("podman")


def test_an_engine_that_does_not_run_is_one_sentence(engine: ScriptedEngine) -> None:
    engine.fail("daemon")
    with pytest.raises(SandboxUnavailable, match="docker does not run here: Cannot connect to the Docker daemon"):
        ContainerSandbox("docker")


def test_an_image_that_is_missing_is_to_be_pulled_by_the_user(engine: ScriptedEngine) -> None:
    engine.without_image()
    with pytest.raises(SandboxUnavailable, match=r"pull the image first: docker pull python:3\.12-slim"):
        ContainerSandbox("docker")
    assert not any("pull" in words[0] for words in engine.asked())


FAULTS = {
    "daemon": "Cannot connect to the Docker daemon",
    "start": "OCI runtime create failed: no space left",
    "silent": "no module named socket",
    "hang": "did not start within 0.5 s",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_container_that_does_not_start_is_not_the_programs_fault(engine: ScriptedEngine, fault: str, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    sandbox = ContainerSandbox("docker", folder=tmp_path / "t", start_s=0.5 if fault == "hang" else 60)
    left = sorted((tmp_path / "t").iterdir())
    engine.fail(fault)
    outcome = run(sandbox, "pass", channel=True)
    assert outcome.status == "unavailable"
    assert FAULTS[fault] in outcome.detail
    assert engine.containers() == []
    engine.fail("")
    assert run(sandbox, "print(1)").stdout == b"1\n"
    assert sorted((tmp_path / "t").iterdir()) == left
    sandbox.close()
    assert list((tmp_path / "t").iterdir()) == []


def test_a_container_that_is_lost_in_the_middle_is_not_the_programs_fault(
    engine: ScriptedEngine, sandbox: ContainerSandbox
) -> None:
    engine.fail("die")
    outcome = run(sandbox, MEET, limits=Limits(wall_s=60))
    assert (outcome.status, outcome.detail) == ("unavailable", "the container was lost: docker: unexpected EOF")


def test_a_container_that_somebody_killed_was_killed(engine: ScriptedEngine, sandbox: ContainerSandbox) -> None:
    engine.fail("kill")
    outcome = run(sandbox, MEET, limits=Limits(wall_s=60))
    assert (outcome.status, outcome.detail) == ("killed", "ended from outside")


def test_a_program_that_the_kernel_killed_for_memory_is_told_apart(sandbox: ContainerSandbox) -> None:
    program = "open('oom', 'w').close()\nimport os\nos.kill(os.getpid(), 9)"
    outcome = run(sandbox, program, limits=Limits(memory_mb=100))
    assert (outcome.status, outcome.detail) == ("memory", "more than 100 MiB")
    survived = run(sandbox, "open('oom', 'w').close()")  # it was another of its processes, and it went on
    assert survived.status == "ok"


def test_a_container_that_does_not_answer_is_removed(engine: ScriptedEngine, sandbox: ContainerSandbox) -> None:
    engine.fail("freeze")
    started = time.monotonic()

    async def stop() -> Exit:
        async with sandbox.start(Job(python=MEET, limits=Limits(wall_s=1.5))) as process:
            outcome = await process.wait()
            engine.fail("")
            return outcome

    outcome = asyncio.run(stop())
    assert outcome.status == "timeout"
    assert engine.containers() == []
    assert [words for words in engine.asked() if words[0] == "rm"]
    assert time.monotonic() - started < 50


def test_a_job_outlasts_the_engines_client_and_its_container_is_removed(
    engine: ScriptedEngine, sandbox: ContainerSandbox
) -> None:
    engine.fail("client")
    outcome = run(sandbox, MEET.replace("60", "0.5") + "\nprint('done')")
    assert (outcome.status, outcome.stdout) == ("ok", b"done\n")
    assert engine.containers() == []


def test_a_cancelled_start_leaves_no_container(engine: ScriptedEngine, sandbox: ContainerSandbox) -> None:
    engine.fail("hang")

    async def start() -> None:
        task = asyncio.create_task(ended(sandbox, Job(python="pass")))
        while not engine.containers():  # noqa: ASYNC110 - made by another process
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(start())
    assert engine.containers() == []


HOST = """
import asyncio, pathlib, sys
from treewright.sandbox.base import Job, Limits
from treewright.sandbox.container import ContainerSandbox
async def main():
    job = Job(python=sys.stdin.read(), channel=True, limits=Limits(wall_s=60, processes=4))
    async with ContainerSandbox("docker", folder=pathlib.Path(sys.argv[1])).start(job) as process:
        await process.receive()
        print("running", flush=True)
        await process.wait()
asyncio.run(main())
"""


def test_a_container_ends_with_a_host_that_is_killed(engine: ScriptedEngine, tmp_path: Path) -> None:
    mark, program = marked("os.write(3, b'\\0\\0\\0\\0'); time.sleep(60)", leave_group=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", HOST, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        host.stdin.write(program)
        host.stdin.close()
        assert host.stdout.readline() == "running\n"
        host.kill()
    assert asyncio.run(gone(mark))


def test_containers_of_hosts_that_are_gone_are_removed_and_no_others(engine: ScriptedEngine) -> None:
    own = new_name()
    _, namespace, pid, started, _ = own.split("-")
    dead = f"treewright-{namespace}-{pid}-{int(started) + 1}-00"
    nobody = f"treewright-{namespace}-4194304-1-00"
    elsewhere = f"treewright-{int(namespace) + 1}-{pid}-1-00"
    others = [own, elsewhere, "treewright-by-hand", f"treewright-{namespace}-x-1-00"]
    for name in (dead, nobody, *others):
        engine.add_container(name)
    ContainerSandbox("docker").close()
    assert engine.containers() == sorted(others)


def plan(**changes: object) -> Plan:
    settings: dict[str, object] = {
        "name": "n", "image": "i", "user": 63001, "limits": Limits(), "executable": False, "code": Path("/c"),
        "meeting": Path("/m"), "socket": "s", **changes,
    }  # fmt: skip
    return Plan(**settings)  # type: ignore[arg-type]  # fields of `Plan` by name


# every line is a protection: without it, what stands behind it is open to a program
PROTECTIONS = (
    "--rm",  # the container stays
    "--pull=never",  # a program starts a download
    "--label=treewright",  # leftovers are not found
    "--network=none",
    "--read-only",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--user=63001:63001",
    "--cgroupns=private",
    "--ipc=none",  # /dev/shm beside the bounded folder
    "--log-driver=none",  # the engine keeps what is written
    "--no-healthcheck",  # the image runs something else beside the program
    "--pids-limit=66",
    "--memory=608m",
    "--memory-swap=608m",
    "--ulimit=core=0:0",
    "--ulimit=cpu=10:11",
    "--ulimit=nofile=64:64",
    "--ulimit=fsize=67108864:67108864",
    "--ulimit=nproc=4096:4096",
    "--env=PYTHONHASHSEED=0",
    "--mount=type=bind,source=/c,target=/treewright/code,readonly",
    "--mount=type=bind,source=/m,target=/treewright/meeting,readonly",
)


@pytest.mark.parametrize("option", PROTECTIONS)
@pytest.mark.parametrize("name", ["docker", "podman"])
def test_every_container_is_started_with(name: EngineName, option: str) -> None:
    line = Engine(name, "/e").run(plan())
    assert option in line
    assert line.index(option) < line.index("i")


def test_the_writable_folder_is_small_and_runs_only_files_of_commands() -> None:
    of_python, of_command = (Engine("docker", "/e").run(plan(executable=executable)) for executable in (False, True))
    assert "--tmpfs=/tmp:rw,nosuid,nodev,noexec,size=64m,mode=1777,nr_inodes=4096" in of_python
    assert "--tmpfs=/tmp:rw,nosuid,nodev,exec,size=64m,mode=1777,nr_inodes=4096" in of_command
    assert "--tmpfs=/tmp:rw,nosuid,nodev,noexec,size=64m,mode=1777" in Engine("podman", "/e").run(plan())


def test_what_only_podman_does_is_switched_off() -> None:
    assert {"--http-proxy=false", "--read-only-tmpfs=false"} <= set(Engine("podman", "/e").run(plan()))


def test_the_engines_own_filter_is_kept_and_nothing_is_given() -> None:
    for name in ("docker", "podman"):
        line = " ".join(Engine(name, "/e").run(plan()))
        for opening in ("seccomp", "unconfined", "--privileged", "--cap-add", "--device", "host", "--volume"):
            assert opening not in line.replace("--hostname=sandbox", "")


def test_each_container_has_a_name_and_a_user_of_its_own(engine: ScriptedEngine, sandbox: ContainerSandbox) -> None:
    for _ in range(3):
        run(sandbox, "pass")
    lines = [words for words in engine.asked() if words[0] == "run"]
    names, users = ({word for words in lines for word in words if word.startswith(o)} for o in ("--name=", "--user="))
    assert len(names) == 3
    assert len(users) > 1
    assert all(63000 <= int(user.partition("=")[2].partition(":")[0]) < 65000 for user in users)


IGNORED = {
    "--network": "a network",
    "--read-only": "root writable",
    "--cap-drop": "capabilities",
    "--security-opt": "no-new-privileges",
    "--user": "a user of its own",
    "--memory": "limit of memory",
    "--memory-swap": "from swap",
    "--pids-limit": "limit of processes",
    "--tmpfs": "size of the container's /tmp",
}


@pytest.mark.parametrize("option", IGNORED)
def test_an_option_that_the_engine_does_not_honour_is_never_dropped_in_silence(
    engine: ScriptedEngine, sandbox: ContainerSandbox, option: str
) -> None:
    engine.ignore(option)
    outcome = run(sandbox, "print('ran')")
    assert (outcome.status, outcome.stdout) == ("unavailable", b"")
    assert IGNORED[option] in outcome.detail
    assert IGNORED[option] in asyncio.run(probe.prove(sandbox))


def test_an_engine_that_does_not_isolate_fails_the_probe(sandbox: ContainerSandbox) -> None:
    wrong = asyncio.run(probe.prove(sandbox))
    assert "read a file of the host" in wrong
    for stopped_by_our_filter in ("start a process", "run another program", "open a network socket"):
        assert stopped_by_our_filter not in wrong


def test_a_call_that_is_not_allowed_is_denied(sandbox: ContainerSandbox) -> None:
    assert run(sandbox, "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)").status == "denied"


def test_a_job_may_have_processes_if_it_asks(sandbox: ContainerSandbox) -> None:
    program = "import subprocess\nprint(subprocess.run(['echo', 'x'], capture_output=True).stdout)"
    assert run(sandbox, program, limits=Limits(processes=2)).stdout == b"b'x\\n'\n"
    assert run(sandbox, program).status != "ok"


def test_the_first_process_cannot_be_read(sandbox: ContainerSandbox) -> None:
    program = """
import os
for name in ("mem", "environ", "maps"):
    try: open(f"/proc/{os.getppid()}/{name}", "rb").close()
    except PermissionError: print("refused")
"""
    assert run(sandbox, program).stdout == b"refused\n" * 3


def test_what_a_program_reads_cannot_be_grown_by_it(sandbox: ContainerSandbox) -> None:
    program = "import os\ntry: os.pwrite(0, b'x' * 100, 0); print('wrote')\nexcept OSError: print('refused')"
    assert run(sandbox, program, stdin=b"in").stdout == b"refused\n"


def test_commands_find_their_files_and_can_run_them(sandbox: ContainerSandbox) -> None:
    job = Job(command=("sh", "-c", "./hello"), files={"hello": b"#!/bin/sh\necho hello"}, limits=Limits(processes=2))
    assert asyncio.run(ended(sandbox, job)).stdout == b"hello\n"


def test_how_long_an_engine_takes_does_not_count(sandbox: ContainerSandbox) -> None:
    outcome = run(sandbox, "pass", limits=Limits(wall_s=30))
    assert 0 < outcome.wall_s < 30


def report(**changes: object) -> Report:
    return {"code": 0, "cpu_s": 0.1, "memory_mb": 9.0, "memory_kills": 0, "failed": "", **changes}  # type: ignore[typeddict-item]


def test_ends_are_told_apart() -> None:
    job = Job(python="pass", limits=Limits(wall_s=1, cpu_s=1))
    assert exit_of(report(), None, job, [b"o", b"e"], 0.5, "") == Exit(
        "ok", code=0, stdout=b"o", stderr=b"e", wall_s=0.5, cpu_s=0.1, memory_mb=9.0
    )
    expected = {
        "timeout": exit_of(None, "timeout", job, [b"", b""], 1.0, ""),
        "output": exit_of(None, "output", job, [b"", b""], 1.0, ""),
        "killed": exit_of(None, "killed", job, [b"", b""], 1.0, ""),
        "memory": exit_of(report(code=-9, memory_kills=1), None, job, [b"", b""], 1.0, ""),
        "denied": exit_of(report(code=-31), None, job, [b"", b""], 1.0, ""),
        "error": exit_of(report(code=3), None, job, [b"", b""], 1.0, ""),
        "unavailable": exit_of(report(failed="no such command"), "killed", job, [b"", b""], 1.0, ""),
    }
    assert {status: outcome.status for status, outcome in expected.items()} == {status: status for status in expected}
    assert exit_of(report(code=-24, cpu_s=1.0), None, job, [b"", b""], 1.0, "").detail == "more than 1 s of processor time"
