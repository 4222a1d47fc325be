"""What every sandbox must do. Each case is a coroutine over a sandbox; an adapter's test runs all of them (`run_case`).

Cases that need what a strict adapter refuses unless asked (new processes) ask for it, and also hold where it is refused still.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path

from treewright.sandbox.base import ChannelClosed, Exit, Job, Limits, Sandbox

Factory = Callable[[], AbstractAsyncContextManager[Sandbox]]
Case = Callable[[Sandbox], Awaitable[None]]

ECHO = """
import os
def read(size):
    data = b""
    while len(data) < size:
        piece = os.read(3, size - len(data))
        if not piece: os._exit(0)
        data += piece
    return data
while True:
    frame = read(int.from_bytes(read(4), "big"))
    data = len(frame).to_bytes(4, "big") + frame
    while data: data = data[os.write(3, data):]
"""

# Names itself so that the host can look for it, starts a child if it may, and goes on as it is told.
MARKED = """
import ctypes, os, time
def mark():
    try: ctypes.CDLL(None).prctl(15, b"MARK", 0, 0, 0)
    except Exception: pass
mark()
try: child = os.fork()
except OSError: child = 1
if child == 0:
    SETSID
    mark()
"""


def run_case(case: Case, factory: Factory) -> None:
    """Run one case over a sandbox of `factory`."""

    async def run() -> None:
        async with factory() as sandbox:
            await case(sandbox)

    asyncio.run(run())


async def outcome(sandbox: Sandbox, python: str, **job: object) -> Exit:
    async with sandbox.start(Job(python=python, **job)) as process:  # type: ignore[arg-type]  # fields of `Job` by name
        return await process.wait()


def marked(then: str, *, leave_group: bool = False) -> tuple[str, str]:
    mark = "tw" + secrets.token_hex(5)
    source = MARKED.replace("MARK", mark).replace("SETSID", "os.setsid()" if leave_group else "pass")
    return mark, source + then


def living(mark: str) -> list[str]:
    """The processes that have named themselves `mark` and are not zombies."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            named = entry.name.isdecimal() and (entry / "comm").read_text().strip() == mark
            if named and (entry / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                found.append(entry.name)
    return found


async def gone(mark: str) -> bool:
    for _ in range(100):
        if not living(mark):
            return True
        await asyncio.sleep(0.02)
    return False


async def ends_well(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "print('out'); import sys; print('err', file=sys.stderr)")
    assert (ended.status, ended.code, ended.signal) == ("ok", 0, None)
    assert (ended.stdout, ended.stderr) == (b"out\n", b"err\n")
    assert ended.wall_s > 0


async def tells_the_exit_code(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "print('before', flush=True); raise SystemExit(7)")
    assert (ended.status, ended.code, ended.stdout) == ("error", 7, b"before\n")


async def tells_the_signal_of_a_crash(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "import os; os.abort()")
    assert (ended.status, ended.code, ended.signal) == ("error", None, 6)
    assert "SIGABRT" in ended.detail


async def shows_an_uncaught_exception(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "def f():\n    return 1 / 0\nf()")
    assert (ended.status, ended.code) == ("error", 1)
    assert b"line 2, in f" in ended.stderr
    assert ended.stderr.rstrip().endswith(b"ZeroDivisionError: division by zero")


async def refuses_what_is_not_python(sandbox: Sandbox) -> None:
    for source in ("x = (", "x = '\0'", "\ud800"):
        ended = await outcome(sandbox, source)
        assert ended.status == "error", (source, ended)
        assert b"Error" in ended.stderr


async def is_the_main_module(sandbox: Sandbox) -> None:
    source = """
from __future__ import annotations
import dataclasses, pickle, sys
@dataclasses.dataclass
class Point:
    x: int
    y: "list[int]" = dataclasses.field(default_factory=list)
assert pickle.loads(pickle.dumps(Point(1))) == Point(1)
assert len(sys.argv) == 1
print(__name__, "\N{SNOWMAN}")
"""
    ended = await outcome(sandbox, source)
    assert ended.stdout.decode() == "__main__ \N{SNOWMAN}\n", ended.stderr.decode()


async def gives_standard_input_and_then_its_end(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * 2000
    source = "import sys; data = sys.stdin.buffer.read(); print(len(data), sum(data), sys.stdin.buffer.read())"
    ended = await outcome(sandbox, source, stdin=data)
    assert ended.stdout == f"{len(data)} {sum(data)} b''\n".encode()


async def has_empty_input_by_default(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "try: input()\nexcept EOFError: print('end')")
    assert ended.stdout == b"end\n"


async def keeps_bytes_as_they_are(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "import os; os.write(1, bytes(range(256))); os.write(2, b'\\xff\\x00')")
    assert (ended.stdout, ended.stderr) == (bytes(range(256)), b"\xff\x00")


async def ends_a_flood_of_output(sandbox: Sandbox) -> None:
    for stream in (1, 2):
        started = time.monotonic()
        source = f"import os\nwhile True: os.write({stream}, b'x' * 65536)"
        ended = await outcome(sandbox, source, limits=Limits(output_kb=64, wall_s=20, cpu_s=20))
        assert ended.status == "output"
        assert len((ended.stdout, ended.stderr)[stream - 1]) == 64 * 1024
        assert time.monotonic() - started < 15


async def allows_output_up_to_the_cap(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "import os; os.write(1, b'x' * 8192)", limits=Limits(output_kb=8))
    assert (ended.status, len(ended.stdout)) == ("ok", 8192)


async def keeps_output_of_what_it_ends(sandbox: Sandbox) -> None:
    source = "import time; print('so far', flush=True); time.sleep(60)"
    ended = await outcome(sandbox, source, limits=Limits(wall_s=1.5))
    assert (ended.status, ended.stdout) == ("timeout", b"so far\n")


async def ends_at_the_wall_limit(sandbox: Sandbox) -> None:
    started = time.monotonic()
    ended = await outcome(sandbox, "import time\nwhile True: time.sleep(60)", limits=Limits(wall_s=0.5))
    assert ended.status == "timeout"
    assert "0.5" in ended.detail
    assert 0.4 < time.monotonic() - started < 8


async def ends_at_the_processor_limit(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "while True: pass", limits=Limits(cpu_s=1, wall_s=60))
    assert ended.status == "timeout"
    assert "processor" in ended.detail
    assert ended.wall_s < 50


async def cannot_be_outstayed_by_masking_signals(sandbox: Sandbox) -> None:
    source = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
for number in range(1, 64):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
"""
    ended = await outcome(sandbox, source, limits=Limits(wall_s=1))
    assert ended.status == "timeout"


async def kills_children_with_the_job(sandbox: Sandbox) -> None:
    for leave_group in (False, True):
        mark, source = marked("time.sleep(60)", leave_group=leave_group)
        ended = await outcome(sandbox, source, limits=Limits(wall_s=1, processes=4))
        assert ended.status == "timeout"
        assert await gone(mark)


async def kills_children_that_outlive_the_program(sandbox: Sandbox) -> None:
    mark, source = marked("    time.sleep(60)\nos._exit(0)", leave_group=True)
    ended = await outcome(sandbox, source, limits=Limits(processes=4))
    assert ended.status == "ok"
    assert await gone(mark)


async def is_not_held_up_by_a_child_that_keeps_its_pipes(sandbox: Sandbox) -> None:
    _, source = marked("    time.sleep(60)\nprint('done', flush=True)", leave_group=True)
    started = time.monotonic()
    ended = await outcome(sandbox, source, limits=Limits(wall_s=30, processes=4))
    assert (ended.status, ended.stdout) == ("ok", b"done\n")
    assert time.monotonic() - started < 15


async def leaves_nothing_when_the_block_is_left(sandbox: Sandbox) -> None:
    mark, source = marked("os.write(3, b'\\0\\0\\0\\0'); time.sleep(60)")
    async with sandbox.start(Job(python=source, channel=True, limits=Limits(processes=4))) as process:
        await process.receive()
    assert await gone(mark)


async def leaves_nothing_when_cancelled(sandbox: Sandbox) -> None:
    mark, source = marked("os.write(3, b'\\0\\0\\0\\0'); time.sleep(60)")
    running = asyncio.Event()

    async def run() -> None:
        async with sandbox.start(Job(python=source, channel=True, limits=Limits(processes=4))) as process:
            await process.receive()
            running.set()
            await process.wait()

    task = asyncio.create_task(run())
    await running.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert await gone(mark)


async def can_be_killed(sandbox: Sandbox) -> None:
    async with sandbox.start(Job(python="import time; time.sleep(60)")) as process:
        process.kill()
        process.kill()
        assert (await process.wait()).status == "killed"
        assert (await process.wait()).status == "killed"


async def keeps_its_outcome_when_killed_too_late(sandbox: Sandbox) -> None:
    async with sandbox.start(Job(python="print('done')")) as process:
        first = await process.wait()
        process.kill()
        assert await process.wait() == first
        assert first.status == "ok"


async def hides_the_environment(sandbox: Sandbox) -> None:
    os.environ["TREEWRIGHT_CANARY"] = "secret"
    try:
        ended = await outcome(sandbox, "import os; print(sorted(os.environ), 'secret' in str(os.environ))")
    finally:
        del os.environ["TREEWRIGHT_CANARY"]
    names, _, secret = ended.stdout.decode().strip().rpartition(" ")
    assert secret == "False"
    assert set(eval(names)) <= {"PATH", "HOME", "TMPDIR", "LANG", "LC_CTYPE", "PWD"}


async def passes_no_descriptor_on(sandbox: Sandbox) -> None:
    source = """
import os
for number in range(3, 60):
    try: os.fstat(number); print(number)
    except OSError: pass
"""
    near, far = os.pipe()
    os.set_inheritable(near, True)
    os.set_inheritable(far, True)
    try:
        assert (await outcome(sandbox, source)).stdout == b""
        assert (await outcome(sandbox, source, channel=True)).stdout == b"3\n"
    finally:
        os.close(near)
        os.close(far)


async def has_a_private_folder_with_its_files(sandbox: Sandbox) -> None:
    source = "import os; print(sorted(os.listdir()), open('a.bin', 'rb').read()); open('left', 'w').close()"
    ended = await outcome(sandbox, source, files={"a.bin": b"\x00\xff", "b.txt": b""})
    assert ended.stdout == b"['a.bin', 'b.txt'] b'\\x00\\xff'\n", ended.stderr
    ended = await outcome(sandbox, "import os; print(os.listdir())")
    assert ended.stdout == b"[]\n"


async def carries_frames_both_ways(sandbox: Sandbox) -> None:
    async with sandbox.start(Job(python=ECHO, channel=True)) as process:
        for frame in (b"", b"x", bytes(range(256)) * 4096):
            await process.send(frame)
            assert await process.receive(1 << 20) == frame


async def keeps_frames_apart(sandbox: Sandbox) -> None:
    source = "import os; os.write(3, b'\\0\\0\\0\\1a\\0\\0\\0\\2bc\\0\\0\\0\\0')"
    async with sandbox.start(Job(python=source, channel=True)) as process:
        assert (await process.wait()).status == "ok"
        assert [await process.receive() for _ in range(3)] == [b"a", b"bc", b""]
        await refused(process.receive())
        await refused(process.send(b"x"))


async def refused(talk: Awaitable[object]) -> None:
    try:
        await talk
    except ChannelClosed:
        return
    raise AssertionError("the channel should be closed")


async def refuses_frames_that_are_too_long(sandbox: Sandbox) -> None:
    source = "import os, time; os.write(3, b'\\x7f\\xff\\xff\\xff' + b'A' * 4096); time.sleep(60)"
    async with sandbox.start(Job(python=source, channel=True)) as process:
        await refused(process.receive())
    async with sandbox.start(Job(python=ECHO, channel=True)) as process:
        await process.send(b"12345")
        await refused(process.receive(4))


async def survives_half_a_frame(sandbox: Sandbox) -> None:
    for source in ("import os; os.write(3, b'\\0\\0')", "import os; os.write(3, b'\\0\\0\\0\\7abc')"):
        async with sandbox.start(Job(python=source, channel=True)) as process:
            await refused(process.receive())


async def resumes_a_receive_that_was_given_up(sandbox: Sandbox) -> None:
    source = "import os, time; os.write(3, b'\\0\\0\\0\\2a'); time.sleep(1); os.write(3, b'b'); time.sleep(60)"
    async with sandbox.start(Job(python=source, channel=True)) as process:
        try:
            async with asyncio.timeout(0.5):
                await process.receive()
        except TimeoutError:
            pass
        assert await process.receive() == b"ab"


async def runs_trusted_text_alike(sandbox: Sandbox) -> None:
    async with sandbox.start(Job(python=ECHO, channel=True, trusted=True)) as process:
        await process.send(b"again")
        assert await process.receive() == b"again"
    ended = await outcome(sandbox, "print(__name__)", trusted=True)
    assert ended.stdout == b"__main__\n"


async def ends_at_the_memory_limit(sandbox: Sandbox) -> None:
    source = "pieces = []\nwhile True: pieces.append(bytearray(8 << 20))"
    ended = await outcome(sandbox, source, limits=Limits(memory_mb=128))
    assert ended.status == "memory"
    assert "128" in ended.detail


async def bounds_the_size_of_files(sandbox: Sandbox) -> None:
    source = """
written = 0
try:
    with open("big", "wb", buffering=0) as file:
        while written < 64 << 20: written += file.write(b"x" * 65536)
except OSError: pass
print(written)
"""
    ended = await outcome(sandbox, source, limits=Limits(disk_mb=2))
    assert int(ended.stdout or 0) <= 3 << 20


async def bounds_open_descriptors(sandbox: Sandbox) -> None:
    source = """
import os
count = 0
try:
    while count < 1000: os.dup(0); count += 1
except OSError: pass
print(count)
"""
    ended = await outcome(sandbox, source, limits=Limits(files=32))
    assert 0 < int(ended.stdout) <= 32


async def allows_threads(sandbox: Sandbox) -> None:
    source = """
import threading
done = []
threads = [threading.Thread(target=done.append, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(done))
"""
    assert (await outcome(sandbox, source)).stdout == b"[0, 1, 2, 3]\n"


async def runs_jobs_side_by_side(sandbox: Sandbox) -> None:
    async def one(number: int) -> None:
        ended = await outcome(sandbox, f"import time; time.sleep(0.1); print({number})", limits=Limits(wall_s=60, cpu_s=60))
        assert ended.stdout == f"{number}\n".encode(), ended

    async with asyncio.TaskGroup() as group:
        for number in range(12):
            group.create_task(one(number))


async def leaves_no_descriptor_in_the_host(sandbox: Sandbox) -> None:
    await outcome(sandbox, "pass")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(5):
        await outcome(sandbox, "print(1)", channel=True)
        await outcome(sandbox, "raise SystemExit(1)")
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208


async def has_a_level(sandbox: Sandbox) -> None:
    assert sandbox.level


async def runs_a_command(sandbox: Sandbox) -> None:
    job = Job(command=("sh", "-c", "cat; echo err >&2; exit 3"), stdin=b"in", limits=Limits(processes=2))
    async with sandbox.start(job) as process:
        ended = await process.wait()
    assert (ended.status, ended.code, ended.stdout, ended.stderr) == ("error", 3, b"in", b"err\n")


async def says_which_command_is_missing(sandbox: Sandbox) -> None:
    async with sandbox.start(Job(command=("no-such-command-here",), channel=True)) as process:
        await refused(process.receive())
        await refused(process.send(b""))
        process.kill()
        ended = await process.wait()
    assert ended.status == "unavailable"
    assert "no-such-command-here" in ended.detail


COMMAND_CASES: tuple[Case, ...] = (runs_a_command, says_which_command_is_missing)
CASES: tuple[Case, ...] = (
    ends_well,
    tells_the_exit_code,
    tells_the_signal_of_a_crash,
    shows_an_uncaught_exception,
    refuses_what_is_not_python,
    is_the_main_module,
    gives_standard_input_and_then_its_end,
    has_empty_input_by_default,
    keeps_bytes_as_they_are,
    ends_a_flood_of_output,
    allows_output_up_to_the_cap,
    keeps_output_of_what_it_ends,
    ends_at_the_wall_limit,
    ends_at_the_processor_limit,
    cannot_be_outstayed_by_masking_signals,
    kills_children_with_the_job,
    kills_children_that_outlive_the_program,
    is_not_held_up_by_a_child_that_keeps_its_pipes,
    leaves_nothing_when_the_block_is_left,
    leaves_nothing_when_cancelled,
    can_be_killed,
    keeps_its_outcome_when_killed_too_late,
    hides_the_environment,
    passes_no_descriptor_on,
    has_a_private_folder_with_its_files,
    carries_frames_both_ways,
    keeps_frames_apart,
    refuses_frames_that_are_too_long,
    survives_half_a_frame,
    resumes_a_receive_that_was_given_up,
    runs_trusted_text_alike,
    ends_at_the_memory_limit,
    bounds_the_size_of_files,
    bounds_open_descriptors,
    allows_threads,
    runs_jobs_side_by_side,
    leaves_no_descriptor_in_the_host,
    has_a_level,
)
