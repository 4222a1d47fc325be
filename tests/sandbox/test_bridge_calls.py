"""Many calls at once, time, budgets, cancellation: how calls and the program's life go together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from bridged import ECHO, LEVELS, QUICK, ROOMY, SLOW, answer, at_level, echo, ran
from sandbox_homes import descendants
from treewright.core.errors import BudgetSpent
from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.bridge import run_program
from treewright.sandbox.calling import Call, Failed, Returned

THREADS = """\
import threading
threading.stack_size(1 << 18)
def at_once(count, function, *arguments, daemon=False):
    threads = [threading.Thread(target=function, args=arguments, daemon=daemon) for _ in range(count)]
    for thread in threads: thread.start()
    return threads
"""


@pytest.fixture(scope="module", params=LEVELS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with at_level(request.param) as home:
        yield home


class Door:
    """A slow call waits until the door is opened, for ever if it is not; the others see to it."""

    def __init__(self, slow_ones: int = 1) -> None:
        self.waiting, self.most, self.cancelled, self._wanted = 0, 0, 0, slow_ones
        self.all_wait, self.opened = asyncio.Event(), asyncio.Event()

    async def slow(self) -> None:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        if self.waiting >= self._wanted:
            self.all_wait.set()
        try:
            await self.opened.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # something to put away
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1


def test_threads_that_call_at_once_run_side_by_side(sandbox: Sandbox) -> None:
    async def run() -> Any:
        door = Door(8)

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            if door.waiting == 7:
                door.opened.set()
            await door.slow()
            return Returned(arguments["value"])

        program = (
            f"{THREADS}found = []\ndef work(): found.append(echo(threading.get_ident()) == threading.get_ident())\n"
            "for thread in at_once(8, work): thread.join()\nfinal_answer(found)"
        )
        return await run_program(sandbox, program, [ECHO], call, limits=ROOMY)

    assert asyncio.run(run()).answer == ([True] * 8,)


def test_quick_calls_are_answered_while_a_slow_one_is_under_way(sandbox: Sandbox) -> None:
    async def run() -> Any:
        door = Door()

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            if name == "slow":
                await door.slow()
                return Returned("slow")
            await door.all_wait.wait()
            if arguments["value"] == 99:
                door.opened.set()
            return Returned(arguments["value"])

        program = (
            f"{THREADS}found = []\nslow_one, = at_once(1, lambda: found.append(slow()))\n"
            "for number in range(100): assert echo(number) == number\nslow_one.join()\nfinal_answer(found)"
        )
        return await run_program(sandbox, program, [ECHO, SLOW], call, limits=ROOMY)

    assert asyncio.run(run()).answer == (["slow"],)


def test_no_more_than_32_calls_are_under_way_and_the_rest_follow(sandbox: Sandbox) -> None:
    async def run() -> tuple[Any, int]:
        door = Door(32)

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            if door.waiting == 31:
                asyncio.get_running_loop().call_later(0.05, door.opened.set)
            await door.slow()
            return Returned(1)

        program = (
            f"{THREADS}found = []\nfor thread in at_once(60, lambda: found.append(slow())): thread.join()\n"
            "final_answer(sum(found))"
        )
        done = await run_program(sandbox, program, [SLOW], call, limits=ROOMY)
        return done.answer, door.most

    assert asyncio.run(run()) == ((60,), 32)


def test_threads_hand_the_reading_on_through_thousands_of_calls(sandbox: Sandbox) -> None:
    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        for _ in range(arguments["value"] % 4):
            await asyncio.sleep(0)
        return Returned(arguments["value"])

    program = (
        f"{THREADS}bad = []\ndef work(first):\n    for number in range(first, first + 300):\n"
        "        if echo(number) != number: bad.append(number)\n"
        "for thread in at_once(8, work, 0) + at_once(4, work, 1): thread.join()\nfinal_answer(bad)"
    )
    done = ran(sandbox, program, call)
    assert (done.answer, done.calls, done.failed_calls) == (([],), 3600, 0)


def test_a_signal_handler_that_breaks_a_call_off_leaves_the_line_in_order(sandbox: Sandbox) -> None:
    async def run() -> Any:
        door = Door()

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            if name == "slow":
                await door.slow()
            door.opened.set()
            return Returned(arguments.get("value", "late"))

        program = (
            "import signal\ndef ring(*_): raise TimeoutError\nsignal.signal(signal.SIGALRM, ring)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.05)\ntry: slow()\nexcept TimeoutError: pass\n"
            "final_answer([echo(1), echo(2)])"
        )
        return await run_program(sandbox, program, [ECHO, SLOW], call, limits=ROOMY)

    done = asyncio.run(run())
    assert done.answer == ([1, 2],), done


def test_calls_after_the_limit_fail_and_say_so(sandbox: Sandbox) -> None:
    made: list[str] = []

    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        made.append(name)
        return Returned(None)

    program = "echo(); echo(); echo()\ntry: echo()\nexcept ToolError as error: final_answer(str(error))"
    done = ran(sandbox, program, call, most_calls=3)
    assert done.answer == ("more than 3 calls in one program",)
    assert (len(made), done.calls, done.failed_calls) == (3, 4, 1)


def test_the_time_of_tools_is_not_the_programs(sandbox: Sandbox) -> None:
    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        await asyncio.sleep(1.0)
        return Returned(1)

    done = ran(sandbox, "final_answer(echo() + echo() + echo())", call, limits=Limits(wall_s=1.5, cpu_s=60))
    assert (done.exit.status, done.answer) == ("ok", (3,))
    assert 2.9 < done.tool_s <= done.exit.wall_s


@pytest.mark.parametrize("program", ["import time\necho()\ntime.sleep(99)", "echo()\nwhile True: pass", "while True: echo()"])
def test_a_program_that_takes_too_long_itself_is_ended_and_the_limit_named(sandbox: Sandbox, program: str) -> None:
    done = ran(sandbox, program, limits=Limits(wall_s=0.5, cpu_s=60), most_calls=1 << 60)
    assert (done.exit.status, done.exit.detail) == ("timeout", "more than 0.5 s of its own time")
    assert done.exit.wall_s < 30


def test_tools_that_take_too_long_together_end_the_program(sandbox: Sandbox) -> None:
    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        await asyncio.Event().wait()
        return Returned(None)

    done = ran(sandbox, "echo()", call, limits=Limits(wall_s=0.3, cpu_s=60), tool_s=0.3)
    assert (done.exit.status, done.calls) == ("timeout", 1)


def test_a_spent_budget_ends_the_program_and_is_raised_as_itself(sandbox: Sandbox) -> None:
    async def run() -> Door:
        door = Door()

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            if name == "slow":
                await door.slow()
            await door.all_wait.wait()
            raise BudgetSpent("tool calls")

        program = f"{THREADS}at_once(1, slow)\ntry: quick()\nexcept BaseException: pass\nwhile True: pass"
        with pytest.raises(BudgetSpent, match="tool calls"):
            await run_program(sandbox, program, [SLOW, QUICK], call, limits=ROOMY)
        return door

    door = asyncio.run(run())
    assert (door.waiting, door.cancelled) == (0, 1)


def test_calls_under_way_are_cancelled_and_awaited_when_the_program_ends(sandbox: Sandbox) -> None:
    async def run() -> Any:
        door = Door(5)

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            await (door.slow() if name == "slow" else door.all_wait.wait())
            return Returned(None)

        program = f"{THREADS}at_once(5, slow, daemon=True)\nquick()\nfinal_answer('left')"
        done = await run_program(sandbox, program, [SLOW, QUICK], call, limits=ROOMY)
        return done.exit.status, done.answer, door.waiting, door.cancelled, len(asyncio.all_tasks())

    assert asyncio.run(run()) == ("ok", ("left",), 0, 5, 1)


def test_cancellation_from_outside_leaves_nothing(sandbox: Sandbox) -> None:
    async def run() -> Any:
        await run_program(sandbox, "pass", [], echo, limits=ROOMY)  # what a sandbox keeps is there from now on
        before, door = set(descendants()), Door()

        async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
            await door.slow()
            return Returned(None)

        running = asyncio.ensure_future(run_program(sandbox, "slow()", [SLOW], call, limits=ROOMY))
        await door.all_wait.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return door.cancelled, len(asyncio.all_tasks()), set(descendants()) - before

    assert asyncio.run(run()) == (1, 1, set())


def test_a_fault_of_ours_in_a_call_is_not_hidden(sandbox: Sandbox) -> None:
    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised:
        ran(sandbox, "echo()", call)
    assert raised.group_contains(ZeroDivisionError)


def test_a_call_that_catches_its_own_cancellation_still_answers(sandbox: Sandbox) -> None:
    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            await asyncio.sleep(0)
        return Returned("timed out")

    slow: Call = call
    assert answer(sandbox, "final_answer([echo(), echo()])", slow) == ["timed out"] * 2
