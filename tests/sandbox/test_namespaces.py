from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_homes import children, descendants, ended, namespaces, run
from treewright.sandbox.base import ChannelClosed, Exit, Job, Limits
from treewright.sandbox.namespaces import NamespaceSandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[NamespaceSandbox]:
    with namespaces() as opened:
        yield opened


def said(outcome: Exit) -> object:
    assert outcome.status == "ok", outcome
    return json.loads(outcome.stdout)


def test_a_run_sees_a_small_read_only_world(sandbox: NamespaceSandbox) -> None:
    program = """
import json, os
writable = [top for top, _, _ in os.walk("/") if os.access(top, os.W_OK)]
roots, devices = sorted(os.listdir("/")), sorted(os.listdir("/dev"))
print(json.dumps([roots, devices, os.listdir("/proc"), writable, os.getcwd(), os.getuid()]))
"""
    world = said(run(sandbox, program))
    assert isinstance(world, list)
    roots, devices, processes, writable, folder, user = world
    assert set(roots) <= {"dev", "etc", "lib", "lib32", "lib64", "nix", "opt", "proc", "tmp", "usr", "var"}
    assert devices == sorted(["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"])
    assert processes == []
    assert writable == ["/tmp"]
    assert folder == "/tmp"
    assert user == 1000


def test_shared_memory_is_the_runs_own_bounded_folder(sandbox: NamespaceSandbox) -> None:
    program = """
import json, os
def filled(path):
    size = 0
    try:
        with open(path, "wb", buffering=0) as file:
            while size < 64 << 20:
                size += file.write(bytes(1 << 20))
    except OSError:
        pass
    return size >> 20
print(json.dumps([filled("/dev/shm/a"), filled("/tmp/b")]))
"""
    filled = said(run(sandbox, program, limits=Limits(disk_mb=16)))
    assert isinstance(filled, list)
    assert 14 <= sum(filled) <= 16
    assert said(run(sandbox, "import json, os; print(json.dumps(os.listdir('/dev/shm')))")) == []


def test_the_number_of_files_is_bounded(sandbox: NamespaceSandbox) -> None:
    program = "n = 0\ntry:\n    while n < 20000:\n        open(f'f{n}', 'w').close(); n += 1\nexcept OSError: pass\nprint(n)"
    assert 1000 < int(run(sandbox, program).stdout) < 5000


def test_memory_that_escapes_the_address_space_limit_is_refused(sandbox: NamespaceSandbox) -> None:
    assert b"PermissionError" in run(sandbox, "import os; os.memfd_create('x')").stderr


def test_standard_input_cannot_be_grown_into_a_store(sandbox: NamespaceSandbox) -> None:
    program = "import os\nprint(len(os.read(0, 99)))\ntry: os.write(0, b'x')\nexcept OSError as e: print('refused')"
    assert run(sandbox, program, stdin=b"abc").stdout == b"3\nrefused\n"


def test_threads_run_and_new_processes_do_not(sandbox: NamespaceSandbox) -> None:
    program = """
import threading, os, subprocess
done = []
threads = [threading.Thread(target=done.append, args=(n,)) for n in range(20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(done))
for attempt in (os.fork, lambda: subprocess.run(["/bin/true"])):
    try: attempt(); print("made one")
    except PermissionError: print("refused")
"""
    assert run(sandbox, program).stdout == b"20\nrefused\nrefused\n"


def test_the_number_of_processes_is_kept_to_exactly(sandbox: NamespaceSandbox) -> None:
    program = """
import os, time
made = 0
for _ in range(20):
    try:
        if os.fork() == 0:
            time.sleep(5); os._exit(0)
        made += 1
    except OSError:
        break
print(made)
"""
    outcome = run(sandbox, program, limits=Limits(processes=5, memory_mb=1024))
    assert outcome.stdout == b"5\n"
    assert outcome.wall_s < 4  # those that were left died with it


def test_a_deadly_call_is_named(sandbox: NamespaceSandbox) -> None:
    for attempt in ("ptrace(0, 0, 0, 0)", "mount(None, b'/tmp', b'tmpfs', 0, None)", "unshare(0x10000000)"):
        outcome = run(sandbox, f"import ctypes; ctypes.CDLL(None).{attempt}; print('went on')")
        assert (outcome.status, outcome.detail) == ("denied", f"the system call {attempt.partition('(')[0]}")
        assert outcome.stdout == b""
    assert run(sandbox, "import os; os.execv('/bin/true', ['true'])").detail == "the system call execve"


def test_limits_of_time_hold_against_masked_signals_and_threads(sandbox: NamespaceSandbox) -> None:
    program = """
import signal, threading
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
def spin():
    while True: pass
for _ in range(3): threading.Thread(target=spin).start()
"""
    outcome = run(sandbox, program, limits=Limits(cpu_s=0.3, wall_s=30))
    assert (outcome.status, outcome.signal) == ("timeout", signal.SIGKILL)
    assert "processor time" in outcome.detail
    outcome = run(sandbox, "import time; time.sleep(30)", limits=Limits(wall_s=0.2))
    assert outcome.status == "timeout"
    assert 0.2 <= outcome.wall_s < 5


def test_partial_output_of_a_run_that_is_ended_is_kept(sandbox: NamespaceSandbox) -> None:
    outcome = run(sandbox, "print('so far', flush=True)\nwhile True: pass", limits=Limits(cpu_s=0.1))
    assert (outcome.status, outcome.stdout) == ("timeout", b"so far\n")
    outcome = run(sandbox, "while True: print('x' * 999)", limits=Limits(output_kb=8))
    assert (outcome.status, len(outcome.stdout)) == ("output", 8192)


def test_threads_and_exit_handlers_are_waited_for_as_usual(sandbox: NamespaceSandbox) -> None:
    program = """
import atexit, sys, threading, time
atexit.register(print, "handler")
threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
sys.exit(3)
"""
    outcome = run(sandbox, program)
    assert (outcome.status, outcome.code, outcome.stdout) == ("error", 3, b"thread\nhandler\n")


def test_a_traceback_shows_the_programs_own_lines_only(sandbox: NamespaceSandbox) -> None:
    outcome = run(sandbox, "def f():\n    raise ValueError('no')\nf()\n")
    lines = outcome.stderr.decode().splitlines()
    assert lines[1].startswith('  File "program.py", line 3')
    assert "raise ValueError('no')" in lines[4]
    assert outcome.stderr.count(b"File ") == 2
    assert b"SyntaxError" in run(sandbox, "def f(:").stderr


def test_runs_share_nothing_but_repeat_the_same_order_of_sets(sandbox: NamespaceSandbox) -> None:
    run(sandbox, "import builtins, math, os; math.sqrt = builtins.print = None; open('left', 'w').close()")
    assert said(run(sandbox, "import json, math, os; print(json.dumps([math.sqrt(4), os.listdir()]))")) == [2.0, []]
    orders = {run(sandbox, "print(*{'a', 'b', 'c', 'd', 'e', 'f'})").stdout for _ in range(3)}
    assert len(orders) == 1
    numbers = {run(sandbox, "import random; print(random.random())").stdout for _ in range(3)}
    assert len(numbers) == 3


def test_files_are_there_and_names_cannot_leave_the_folder(sandbox: NamespaceSandbox) -> None:
    assert run(sandbox, "print(open('in.txt').read())", files={"in.txt": b"hello"}).stdout == b"hello\n"
    outcome = run(sandbox, "pass", files={"/opt/python/x": b""})
    assert outcome.status == "unavailable"


def test_frames_go_both_ways_and_a_lie_about_length_closes_the_channel(sandbox: NamespaceSandbox) -> None:
    echo = "import os\nwhile data := os.read(3, 1 << 16): os.write(3, data)"
    liar = "import os, time\nos.write(3, b'\\x7f\\xff\\xff\\xff' + b'A' * 99)\ntime.sleep(9)"

    async def talk() -> None:
        async with sandbox.start(Job(python=echo, channel=True)) as process:
            for frame in (b"", b"x", b"y" * 200_000):
                await process.send(frame)
                assert await process.receive() == frame
        async with sandbox.start(Job(python=liar, channel=True)) as process:
            with pytest.raises(ChannelClosed):
                await process.receive()

    asyncio.run(talk())


def test_without_a_channel_descriptor_3_is_closed(sandbox: NamespaceSandbox) -> None:
    program = "import os\nfor fd in range(3, 64):\n    try: os.fstat(fd); print(fd)\n    except OSError: pass"
    assert run(sandbox, program).stdout == b""
    assert run(sandbox, program, channel=True).stdout == b"3\n"


def test_no_run_is_root_for_the_kernel(sandbox: NamespaceSandbox) -> None:
    async def look() -> list[int]:
        async with sandbox.start(Job(python="import time; time.sleep(30)")):
            await asyncio.sleep(0.2)
            first = [pid for slot in sandbox.running() for pid in children(slot.pid)]  # bwrap's own process in the jail
            inside = [pid for above in first for pid in descendants(above)]
            assert len(inside) >= 2  # zygote, run
            return [(Path("/proc") / str(pid)).stat().st_uid for pid in inside]

    run(sandbox, "pass")
    users = asyncio.run(look())
    assert users
    assert 0 not in users


def test_other_languages_run_with_the_machines_own_tools(sandbox: NamespaceSandbox) -> None:
    job = Job(command=("sh", "-c", "read x; echo $((x * 2)); cat given; ls /proc | grep -c '^[0-9]'"), stdin=b"21\n")
    job = Job(command=job.command, stdin=job.stdin, files={"given": b"file\n"}, limits=Limits(processes=8))
    outcome = asyncio.run(ended(sandbox, job))
    lines = outcome.stdout.split()
    assert lines[:2] == [b"42", b"file"]
    assert int(lines[2]) <= 4  # its own processes only (a pipeline's start one after the other), or an empty /proc
    missing = asyncio.run(ended(sandbox, Job(command=("no-such-tool",))))
    assert (missing.status, missing.detail) == ("unavailable", "no-such-tool is not installed in the sandbox")


def test_a_file_of_the_job_can_be_the_command(sandbox: NamespaceSandbox) -> None:
    job = Job(command=("./run.sh",), files={"run.sh": b"#!/bin/sh\necho ran\n"})
    assert asyncio.run(ended(sandbox, job)).stdout == b"ran\n"
