"""Threads for what blocks: bounded, handed on when a call hangs, and never a reason for the process not to end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

from treewright.tools.threads import Threads

HANGS = """
import asyncio, time
from treewright.tools.functions import from_functions
def hang() -> None:
    time.sleep(600)
async def run():
    async with from_functions([hang]) as toolbox, toolbox.session() as session:
        try:
            async with asyncio.timeout(0.05):
                await session.call("hang", {})
        except TimeoutError:
            print("left behind")
asyncio.run(run())
"""


def test_no_more_run_at_once_than_are_allowed_and_all_are_run() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def work() -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.002)
        with lock:
            running -= 1
        return 1

    async def run() -> int:
        threads = Threads(most=3)
        done = await asyncio.gather(*(threads.run(work) for _ in range(40)))
        threads.close()
        return sum(done)

    assert asyncio.run(run()) == 40
    assert most <= 3


def test_calls_that_hang_give_their_place_to_others_until_too_many_do() -> None:
    release = threading.Event()

    async def run() -> list[bool]:
        threads = Threads(most=1, most_left_behind=2)
        seen = []
        for _ in range(2):
            try:
                async with asyncio.timeout(0.02):
                    await threads.run(lambda: release.wait(60))
            except TimeoutError:
                seen.append(threads.exhausted)
        release.set()
        async with asyncio.timeout(20):
            while threads.exhausted:  # noqa: ASYNC110 - a thread that nobody waits for tells nobody
                await asyncio.sleep(0.005)
        seen.append(await threads.run(lambda: True))
        threads.close()
        return seen

    assert asyncio.run(run()) == [False, True, True]


def test_a_process_ends_though_a_function_hangs() -> None:
    ran = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "left behind\n"


def test_threads_end_with_the_pool() -> None:
    async def run() -> set[threading.Thread]:
        before = set(threading.enumerate())
        threads = Threads()
        await asyncio.gather(*(threads.run(lambda: None) for _ in range(5)))
        mine = set(threading.enumerate()) - before
        threads.close()
        return mine

    mine = asyncio.run(run())
    assert mine
    for thread in mine:
        thread.join(20)
        assert not thread.is_alive()
