"""Cases: limits of time, and that nothing of a job outlives it."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from treewright.sandbox.base import Job, Limits, Sandbox
from treewright.sandbox.conformance.tools import gone, marked, outcome


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
