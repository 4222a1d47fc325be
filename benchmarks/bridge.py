"""What a tool call of a program costs, beside a bare exchange of JSON. Writes docs/results/bridge.md.

    .venv/bin/python benchmarks/bridge.py [--blocks 15] [--calls 5000] [--show]

Blocks of all rows take turns, so that a busy moment of the machine falls on all of them. The last row is two plain processes
that echo JSON over a socketpair, with nothing around it: no event loop, no checks, no threads. `--show` prints instead of
writing.
"""

import argparse
import asyncio
import json
import os
import platform
import socket
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.bridge import run_program
from treewright.sandbox.calling import Function, Parameter, Returned
from treewright.sandbox.landlock import LandlockSandbox
from treewright.sandbox.namespaces import NamespaceSandbox
from treewright.sandbox.process import ProcessSandbox

ROOT = Path(__file__).parent.parent
AIM = 20_000
LONG = "x" * 8192
LIMITS = Limits(wall_s=600, cpu_s=600, memory_mb=1024)
FUNCTIONS = [Function(name, (Parameter("x", "x"),)) for name in ("small", "long")]
PROGRAM = """\
import threading, time
def work(calls):
    for number in range(calls): {name}(number)
work(100)
threads = [threading.Thread(target=work, args=({calls} // {threads},)) for _ in range({threads} - 1)]
began, used = time.perf_counter(), time.process_time()
for thread in threads: thread.start()
work({calls} // {threads})
for thread in threads: thread.join()
final_answer([time.perf_counter() - began, time.process_time() - used])
"""
Block = Callable[[int], Awaitable[tuple[float, float, float]]]


@dataclass
class Row:
    """One line of the table: what runs, and (seconds, host CPU, child CPU) of each block, all for one call."""

    name: str
    block: Block
    seen: list[tuple[float, float, float]] = field(default_factory=list)


async def call(name: str, arguments: dict[str, Any]) -> Returned:
    return Returned(arguments["x"] if name == "small" else LONG)


def ours(sandbox: Sandbox, name: str, threads: int) -> Block:
    async def block(calls: int) -> tuple[float, float, float]:
        program = PROGRAM.format(name=name, calls=calls, threads=threads)
        used = time.process_time()
        done = await run_program(sandbox, program, FUNCTIONS, call, limits=LIMITS, most_calls=1 << 60)
        used = time.process_time() - used  # the start of the program included
        wall, child = done.answer[0]
        return wall / calls, used / calls, child / calls

    return block


def read(end: socket.socket) -> Any:
    data = end.recv(1 << 16)
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        if not (piece := end.recv(1 << 16)):
            raise EOFError
        data += piece
    return json.loads(data[4:])


def write(end: socket.socket, value: object) -> None:
    data = json.dumps(value).encode()
    end.sendall(len(data).to_bytes(4, "big") + data)


def calls_bare(end: socket.socket, calls: int) -> None:
    began, used = time.perf_counter(), time.process_time()
    for number in range(calls):
        write(end, ["call", number, "small", {"x": number}])
        read(end)
    write(end, ["answer", [time.perf_counter() - began, time.process_time() - used]])


def bare(reply: str) -> Block:
    """A child that calls, and this process that answers each call."""

    def exchange(calls: int) -> tuple[float, float, float]:
        near, far = socket.socketpair()
        child = os.fork()
        if not child:
            near.close()
            calls_bare(far, calls)
            os._exit(0)
        far.close()
        used = time.process_time()
        with near:
            while (said := read(near))[0] == "call":
                write(near, [said[1], True, reply or said[3]["x"]])
        used = time.process_time() - used
        os.waitpid(child, 0)
        wall, theirs = said[1]
        return wall / calls, used / calls, theirs / calls

    async def block(calls: int) -> tuple[float, float, float]:
        return exchange(calls)

    return block


def sandboxes(stack: ExitStack) -> list[Sandbox]:
    found: list[Sandbox] = []
    for make in (NamespaceSandbox, LandlockSandbox):
        with suppress(SandboxUnavailable):
            found.append(stack.enter_context(make()))
    return [*found, ProcessSandbox()]


async def measure(blocks: int, calls: int) -> list[Row]:
    with ExitStack() as stack:
        rows = []
        for sandbox in sandboxes(stack):
            rows.append(Row(f"{sandbox.level}: small", ours(sandbox, "small", 1)))
            rows.append(Row(f"{sandbox.level}: small, 8 threads", ours(sandbox, "small", 8)))
            rows.append(Row(f"{sandbox.level}: replies of 8 kB", ours(sandbox, "long", 1)))
        rows += [Row("bare socketpair: small", bare("")), Row("bare socketpair: replies of 8 kB", bare(LONG))]
        for number in range(blocks + 1):
            for row in rows:
                seen = await row.block(calls)
                if number:  # the first of each is for warming up
                    row.seen.append(seen)
    return rows


def line(row: Row, base: dict[str, float]) -> str:
    wall, host, child = (statistics.median(column) for column in zip(*row.seen, strict=True))
    best = min(seen[0] for seen in row.seen)
    share = base["long" if "8 kB" in row.name else "small"] / wall
    return f"| {row.name} | {1 / wall:,.0f} | {1 / best:,.0f} | {1e6 * host:.1f} | {1e6 * child:.1f} | {share:.2f} |"


def report(rows: list[Row], calls: int, loads: tuple[float, float]) -> str:
    base = {
        kind: statistics.median(seen[0] for seen in row.seen) for kind, row in zip(("small", "long"), rows[-2:], strict=True)
    }
    best = [
        max(1 / seen[0] for row in rows[:-2] if row.name.endswith(end) for seen in row.seen) for end in (": small", "8 threads")
    ]
    return "\n".join(
        [
            "# What a tool call of a program costs",
            "",
            f"Written by `benchmarks/bridge.py`: Python {platform.python_version()}, {os.cpu_count()} processors, load "
            f"{loads[0]:.1f} at the start and {loads[1]:.1f} at the end; {len(rows[0].seen)} blocks of {calls:,} calls a row. "
            "Medians of the blocks, and the best block. Read the figures as shares of the bare exchange, for the machine's "
            "speed changes with what else it does.",
            "",
            "| row | calls/s | best block, calls/s | host CPU µs a call | child CPU µs a call | share of bare |",
            "|---|---|---|---|---|---|",
            *(line(row, base) for row in rows),
            "",
            f"The aim is {AIM:,} small calls a second. The best block of one caller made {best[0]:,.0f}, of 8 threads {best[1]:,.0f}.",
            "",
        ]
    )


async def main(blocks: int, calls: int, show: bool) -> None:
    load = os.getloadavg()[0]
    rows = await measure(blocks, calls)
    text = report(rows, calls, (load, os.getloadavg()[0]))
    if show:
        print(text)
    else:
        (ROOT / "docs" / "results" / "bridge.md").write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.blocks, arguments.calls, arguments.show))
