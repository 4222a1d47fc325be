from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from scripted_sandbox import Script, ScriptedSandbox
from treewright.core.errors import SandboxUnavailable
from treewright.core.task import CodeTask
from treewright.sandbox.base import Exit, Limits
from treewright.sandbox.harness import Report, run_tests
from treewright.sandbox.judging.candidate import Candidate, LoadFailed, Source
from treewright.sandbox.judging.encoding import encode
from treewright.sandbox.judging.messages import Value
from treewright.sandbox.judging.session import Ended

READY = b'["ready"]'
LOADED = encode(["loaded", [["f", "function", ""]], ["f"]]).encode()
AWAY = Script((), Exit("unavailable", detail="no room"))


def with_candidate(sandbox: ScriptedSandbox, use: Callable[[Candidate], Awaitable[None]]) -> Candidate:
    async def run() -> Candidate:
        source = Source("", "def f(): pass", ("f",))
        async with Candidate(sandbox, source, Limits(), call_s=5, load_s=5, total_s=50) as candidate:
            await use(candidate)
        return candidate

    return asyncio.run(run())


def report(*scripts: Script, tests: tuple[str, ...] = ("assert f() == 1", "assert f() == 2")) -> Report:
    return asyncio.run(run_tests(ScriptedSandbox(*scripts), "program", CodeTask("p", tests=tests, entry_point="f")))


def value(plain: object) -> bytes:
    return encode(["value", plain]).encode()


def test_a_program_is_loaded_once_and_asked_often() -> None:
    sandbox = ScriptedSandbox(Script((READY, LOADED, value(1), value(2))))
    assert [result.verdict for result in report(*sandbox._scripts).results] == ["pass", "pass"]


def test_the_sandbox_gets_a_second_chance() -> None:
    found = report(AWAY, Script((READY, LOADED, value(1), value(3))))
    assert [result.verdict for result in found.results] == ["pass", "fail"]


def test_a_sandbox_that_fails_twice_is_nobodys_fault_but_its_own() -> None:
    with pytest.raises(SandboxUnavailable, match=r"scripted.*no room"):
        report(AWAY)
    with pytest.raises(SandboxUnavailable, match="no room"):
        report(Script((READY, LOADED)), AWAY)  # it was gone when the program was to be loaded again


def test_whole_programs_get_a_second_chance_too() -> None:
    async def run(*scripts: Script) -> Report:
        from treewright.core.task import Example

        task = CodeTask("p", examples=(Example("", "x"),))
        return await run_tests(ScriptedSandbox(*scripts), "program", task)

    assert asyncio.run(run(AWAY, Script((), Exit("ok", code=0, stdout=b"x\n")))).all_passed
    with pytest.raises(SandboxUnavailable, match="no room"):
        asyncio.run(run(AWAY))


@pytest.mark.parametrize(
    "forged",
    [b"\xff", b"pass", b'["result",0,"pass"]', b'["value"]', b'{"n":"f"}', b"[" * 100_000, b'["ready"]'],
)
def test_frames_that_make_no_sense_are_the_programs_error(forged: bytes) -> None:
    found = report(Script((READY, LOADED, forged)), Script((READY, LOADED, value(2))))
    assert [result.verdict for result in found.results] == ["error", "pass"]
    assert "interfered" in found.results[0].detail


def test_a_program_that_speaks_first_does_not_load() -> None:
    for frames in ((b'["loaded",[],[]]',), (READY, value(1))):
        found = report(Script(frames))
        assert [result.verdict for result in found.results] == ["error", "error"]
        assert "interfered" in found.error


@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        (Exit("ok", code=0), "error"),
        (Exit("error", code=1, stderr=b"Oh\x1b no"), "error"),
        (Exit("timeout"), "timeout"),
        (Exit("memory"), "memory"),
        (Exit("output"), "output"),
        (Exit("killed"), "killed"),
        (Exit("denied", detail="ptrace"), "denied"),
    ],
)
def test_each_end_of_the_job_is_a_verdict(end: Exit, verdict: str) -> None:
    found = report(Script((READY, LOADED, value(1)), end))
    assert [result.verdict for result in found.results] == ["pass", verdict]
    assert end.detail in found.results[1].detail
    assert "\x1b" not in found.results[1].detail


def test_what_it_printed_is_kept_over_all_its_jobs() -> None:
    async def use(candidate: Candidate) -> None:
        await candidate.load()
        assert await candidate.reply() == Value(1)
        with pytest.raises(Ended):
            await candidate.reply()
        await candidate.load()
        await candidate.stop()

    jobs = [Script((READY, LOADED, value(1)), Exit("ok", stdout=text)) for text in (b"one\n", b"two\xff\n")]
    assert with_candidate(ScriptedSandbox(*jobs), use).stdout == "one\ntwo\N{REPLACEMENT CHARACTER}\n"


def test_a_program_that_is_not_loaded_cannot_be_asked() -> None:
    async def use(candidate: Candidate) -> None:
        with pytest.raises(Ended, match="not loaded"):
            await candidate.reply()
        with pytest.raises(LoadFailed, match="exit code 0"):
            await candidate.load()

    with_candidate(ScriptedSandbox(Script()), use)


def test_limits_reach_the_job_with_time_for_all_tests() -> None:
    sandbox = ScriptedSandbox(Script((READY, LOADED)))

    async def run() -> None:
        task = CodeTask("p", tests=("assert f()",) * 3, entry_point="f", time_limit_s=4)
        await run_tests(sandbox, "program", task, limits=Limits(memory_mb=77, wall_s=10))

    asyncio.run(run())
    assert sandbox.jobs[0].limits.memory_mb == 77
    assert sandbox.jobs[0].limits.wall_s >= 10 + 3 * 4
    assert sandbox.jobs[0].trusted
    assert "program" not in (sandbox.jobs[0].python or "").split("\n")[-1]
