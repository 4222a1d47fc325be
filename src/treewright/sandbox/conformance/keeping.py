"""Cases: what a job sees and has, its channel, its limits of memory, files and descriptors."""

from __future__ import annotations

import asyncio
import os
from textwrap import indent

from treewright.sandbox.base import Job, Limits, Sandbox
from treewright.sandbox.conformance.tools import outcome, refused

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
    guest = f"def main():\n{indent(ECHO, '    ')}"
    async with sandbox.start(Job(python=guest, channel=True, trusted=True)) as process:
        await process.send(b"again")
        assert await process.receive() == b"again"
    ended = await outcome(sandbox, "def main(): print(__name__)", trusted=True)
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
