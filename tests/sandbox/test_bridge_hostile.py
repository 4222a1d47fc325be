"""Programs that go past the functions they are given and speak on the channel themselves, or break it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from bridged import ECHO, LEVELS, ROOMY, answer, at_level, echo, ran
from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.bridge import Ran, run_program
from treewright.sandbox.calling import Failed, Returned
from treewright.sandbox.process import ProcessSandbox

RAW = """\
import json, posix
def say(text, length=None):
    data = text if isinstance(text, bytes) else text.encode()
    data = (len(data) if length is None else length).to_bytes(4, "big") + data
    while data: data = data[posix.write(3, data):]
def hear():
    data = b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"): data += posix.read(3, 1)
    return json.loads(data[4:])
"""


@pytest.fixture(scope="module", params=LEVELS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with at_level(request.param) as home:
        yield home


@pytest.mark.parametrize(
    "frame",
    [
        "''",
        "'no JSON'",
        "b'\\xff\\xfe'",
        "'null'",
        "'{}'",
        "'[]'",
        "'[1, true, 2]'",
        "'[\"call\"]'",
        '\'["call", "1", "echo", {}]\'',
        '\'["call", 1, "echo", [1]]\'',
        "'[\"call\", 1, 2, {}]'",
        '\'["call", 1, "echo", {"value": NaN}]\'',
        '\'["call", 1, "echo", {}, 5]\'',
        '\'["raised", "E", 1, ""]\'',
        "'[' * 100_000",
        '\'["answer", \' + "[" * 100_000 + "]" * 100_000 + "]"',
        '\'["call", 1, "echo", {"value": \' + "9" * 5_000 + "}]"',
    ],
)
def test_a_frame_that_is_no_call_ends_the_program(sandbox: Sandbox, frame: str) -> None:
    done = ran(sandbox, f"{RAW}say({frame})\nsay('[\"answer\",1]')\nwhile True: pass")
    assert (done.exit.status, done.exit.detail) == ("error", "it sent what is no call")
    assert (done.answer, done.calls) == ((), 0)


def test_a_length_that_is_a_lie_is_not_believed(sandbox: Sandbox) -> None:
    program = f"{RAW}say('x', length=(1 << 32) - 1)\nimport time\ntime.sleep(99)"
    done = ran(sandbox, program, limits=Limits(wall_s=0.5))
    assert (done.exit.status, done.exit.detail) == ("timeout", "more than 0.5 s of its own time")


def test_a_frame_that_never_comes_whole_costs_the_programs_own_time(sandbox: Sandbox) -> None:
    done = ran(sandbox, f"{RAW}say('[', length=1000)\nimport time\ntime.sleep(99)", limits=Limits(wall_s=0.5))
    assert done.exit.status == "timeout"


def test_a_program_that_closes_the_channel_goes_on_without_tools(sandbox: Sandbox) -> None:
    program = "import posix\nfinal_answer(1)\nposix.close(3)\nprint('on')\necho()"
    done = ran(sandbox, program)
    assert (done.exit.status, done.exit.code, done.exit.stdout) == ("error", 1, b"on\n")
    assert done.answer == (1,)
    assert b"OSError" in done.exit.stderr
    assert b'File "program.py", line 5' in done.exit.stderr
    assert b"guest" not in done.exit.stderr


def test_forged_calls_are_calls_and_nothing_more(sandbox: Sandbox) -> None:
    program = f"""{RAW}
say('["call", 7, "echo", {{"value": 1}}]'); first = hear()
say('["call", 7, "echo", {{"value": 2}}]'); again = hear()
say('["call", -{10**30}, "echo", {{}}]'); odd = hear()
final_answer([first, again, odd])"""
    done = ran(sandbox, program)
    assert done.answer == ([[7, True, 1], [7, True, 2], [-(10**30), True, None]],)
    assert done.calls == 3


def test_only_functions_that_were_given_can_be_called(sandbox: Sandbox) -> None:
    made: list[str] = []

    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        made.append(name)
        return Returned(1)

    program = f"""{RAW}say('["call", 1, "other", {{}}]')\nfinal_answer(hear())"""
    assert answer(sandbox, program, call) == [1, False, "there is no function other"]
    assert made == []


def test_replies_that_nobody_waits_for_are_dropped(sandbox: Sandbox) -> None:
    program = f"""{RAW}for _ in range(50): say('["call", 0, "echo", {{}}]')\nfinal_answer([echo(1), echo(2)])"""
    assert answer(sandbox, program) == [1, 2]


def beside(sandbox: Sandbox, program: str, limits: Limits) -> tuple[Ran, int]:
    """How a program ran, and how often something else had its turn meanwhile."""

    async def run() -> tuple[Ran, int]:
        turns = 0

        async def tick() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0.01)
                turns += 1

        ticking = asyncio.ensure_future(tick())
        done = await run_program(sandbox, program, [ECHO], echo, limits=limits)
        ticking.cancel()
        return done, turns

    return asyncio.run(run())


@pytest.mark.parametrize("frame", ['["answer", "\' + "x" * 1_000_000 + \'"]', '["answer", 1]', '["raised", "E", "", ""]'])
def test_a_flood_of_frames_does_not_keep_the_host_from_other_work(sandbox: Sandbox, frame: str) -> None:
    program = f"{RAW}text = '{frame}'\nwhile True: say(text)"
    done, turns = beside(sandbox, program, Limits(wall_s=1.0, cpu_s=60))
    assert (done.exit.status, done.exit.detail) == ("timeout", "more than 1 s of its own time")
    assert done.exit.wall_s < 30
    assert turns >= 5


def test_a_flood_of_calls_whose_replies_nobody_reads_is_the_programs_own_time(sandbox: Sandbox) -> None:
    program = f"""{RAW}text = '["call", 1, "echo", {{"value": "' + "x" * 100_000 + '"}}]'\nwhile True: say(text)"""
    done, turns = beside(sandbox, program, Limits(wall_s=1.0, cpu_s=60))
    assert done.exit.status == "timeout"
    assert done.exit.wall_s < 30
    assert turns >= 5


def test_what_was_said_before_the_end_is_heard(sandbox: Sandbox) -> None:
    program = f"""{RAW}
for number in range(100): say('["call", 1, "echo", {{}}]')
final_answer("last words")
posix._exit(0)"""
    done = ran(sandbox, program)
    assert (done.exit.status, done.answer) == ("ok", ("last words",))


def test_ending_is_noticed_while_as_many_calls_as_may_be_are_under_way(sandbox: Sandbox) -> None:
    async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
        await asyncio.Event().wait()
        return Returned(None)

    program = f"""{RAW}
for number in range(100): say('["call", 1, "echo", {{}}]')
final_answer("last words")
import time
time.sleep(0.2)
posix._exit(0)"""
    done = ran(sandbox, program, call)
    assert (done.exit.status, done.answer, done.calls) == ("ok", ("last words",), 32)


def test_a_process_that_the_program_makes_can_neither_call_nor_answer() -> None:
    program = """\
import os
def forked(act):
    child = os.fork()
    if child: return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try: act()
    except RuntimeError as error: os._exit(42 if "first process" in str(error) else 1)
    os._exit(0)
codes = [forked(lambda: echo(1)), forked(lambda: final_answer("the child's"))]
if not os.fork(): raise KeyError("the child's")
os.wait()
final_answer([*codes, echo(2)])
"""
    done = ran(ProcessSandbox(), program)
    assert (done.exit.status, done.raised, done.answer) == ("ok", "", ([42, 42, 2],))
    assert b'KeyError: "the child\'s"' in done.exit.stderr


def test_a_child_that_outlives_the_program_keeps_nobody_waiting() -> None:
    program = "import os, time\nfinal_answer(1)\nif not os.fork():\n    os.setsid()\n    time.sleep(99)"
    done = ran(ProcessSandbox(), program, limits=ROOMY)
    assert (done.exit.status, done.answer) == ("ok", (1,))
    assert done.exit.wall_s < 30
