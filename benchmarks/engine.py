"""The engine alone: CPU per node, journal bytes per node, import time. Writes docs/results/engine.md.

    .venv/bin/python benchmarks/engine.py

Each size runs in a process of its own, three times; the least CPU counts, since a busy machine only ever adds.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SIZES = (100, 1_000, 10_000, 100_000)
ORDERS = ("breadth_first", "best_first", "uct")


def cpu_of_a_search(order: str, nodes: int) -> float:
    """CPU seconds a node of one search of `nodes` executions with a strategy that answers at once."""
    from treewright.core import orders
    from treewright.core.budget import Budget, Limits
    from treewright.core.search import Answer, search
    from treewright.core.tree import Evaluation, Node, Proposal, Tree, Verdict, node_seed

    chosen = {
        "breadth_first": orders.breadth_first,
        "best_first": lambda: orders.best_first(lambda node: node.score - node.depth),
        "uct": orders.uct,
    }[order]()

    class AtOnce:
        def select(self, tree: Tree[int, int]) -> Node[int, int] | None:
            return chosen(tree)

        async def expand(self, node: Node[int, int]) -> list[Proposal[int]]:
            return [Proposal(i) for i in range(5)]

        async def execute(self, node: Node[int, int]) -> int:
            return node.action

        async def evaluate(self, node: Node[int, int], outcome: int) -> Evaluation:
            return Evaluation(node_seed(0, node.id) % 1000 / 1000, Verdict.EXPAND)

        async def answer(self, tree: Tree[int, int]) -> Answer:
            return Answer("", verified=False)

    budget = Budget(Limits(executions=nodes))
    started = time.process_time()
    asyncio.run(search(AtOnce(), budget=budget, parallel=4, emit=lambda event: None, tree=Tree()))
    return (time.process_time() - started) / nodes


def journal_bytes() -> tuple[int, int, int, float]:
    """Nodes, bytes of the journal, bytes of the texts in it, seconds: a scripted CodeTree run with long texts."""
    from treewright import CodeTask, Limits, solve
    from treewright.journal.sqlite import SQLiteJournal

    nodes = 200
    program = "def add(a, b):\n" + "".join(f"    # a line of a longer program, number {{n}}, {i}\n" for i in range(30))
    rows = [{"when": "strategies to solve", "reply": "\n".join(f"{i}. Strategy number {i} in words." for i in range(1, 11))}]
    for n in range(nodes):
        rows.append(
            {
                "when": "Follow this strategy|Name it|improved program",
                "reply": f"```python\n{program}    return {-1 - n}\n```".replace("{n}", str(n)),
            }
        )
        rows.append({"when": "How close|carry out the", "reply": f"Off by a constant, case {n}.\n3"})
        rows.append({"when": "How close|carry out the", "reply": f"It does as it says, case {n}.\n4"})
        rows.append(
            {"when": "Reflect on", "reply": "\n".join(f"{i}. Return the sum, attempt {n}, way {i}." for i in range(1, 6))}
        )
    with tempfile.TemporaryDirectory() as folder:
        script, file = Path(folder) / "script.jsonl", Path(folder) / "journal.db"
        script.write_text("\n".join(map(json.dumps, rows)))
        journal = SQLiteJournal(file)
        started = time.perf_counter()
        task = CodeTask("Add two numbers.", tests=["assert add(1, 2) == 3"], entry_point="add", name="add")
        solution = solve(
            task, model=f"scripted:{script}", preset="paper", without=("abort",), budget=Limits(executions=nodes), journal=journal,
            sandbox="process",
        )  # fmt: skip
        seconds = time.perf_counter() - started
        journal.close()
        import sqlite3

        with sqlite3.connect(file) as database:
            database.execute("vacuum")
            texts = database.execute("select sum(length(body)) from text").fetchone()[0]
        return solution.usage.executions, file.stat().st_size, texts, seconds


def import_seconds() -> float:
    """Median seconds by which `import treewright` lengthens an interpreter's start."""

    def took(code: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - started

    pairs = [(took("import treewright"), took("pass")) for _ in range(11)]
    return statistics.median(a - b for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", nargs=2, metavar=("ORDER", "NODES"), help="run one size and print seconds a node")
    options = parser.parse_args()
    if options.one:
        print(cpu_of_a_search(options.one[0], int(options.one[1])))
        return
    lines = [
        "# The engine alone",
        "",
        f"`benchmarks/engine.py`, Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}.",
        "",
    ]
    lines += [
        "CPU a node in ms, a strategy that answers at once, 4 steps at work, 5 children a node; least of 3 processes.",
        "",
    ]
    lines += ["| order | " + " | ".join(f"{n:,}" for n in SIZES) + " | largest / least |", "|---|" + "---|" * (len(SIZES) + 1)]
    for order in ORDERS:
        row = []
        for nodes in SIZES:
            command = [sys.executable, __file__, "--one", order, str(nodes)]
            row.append(
                min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(3)) * 1000
            )
        lines.append(f"| {order} | " + " | ".join(f"{ms:.4f}" for ms in row) + f" | {max(row) / min(row):.2f} |")
        print(lines[-1], flush=True)
    executed, size, texts, seconds = journal_bytes()
    lines += [
        "",
        f"Journal: {executed} nodes of a scripted CodeTree run (preset paper, 3 to 4 calls a node), {size:,} bytes, of which",
    ]
    lines += [f"{texts:,} are compressed texts: **{(size - texts) / executed:.0f} bytes a node beside the texts**."]
    lines += ["", f"The same run, sandbox and journal included: {seconds / executed * 1000:.1f} ms a node."]
    lines += [
        "",
        f"`import treewright`: {import_seconds() * 1000:.0f} ms (median of 11, an empty interpreter's start taken off).",
    ]
    (ROOT / "docs/results/engine.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
