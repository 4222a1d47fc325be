"""No barriers: a scripted model that takes 1 s a call, 20 executions, 8 steps at work. Writes docs/results/latency.md.

    .venv/bin/python benchmarks/latency.py

The longest path is taken from the run's own events: over all nodes, the calls made for a node and for all its ancestors, one
after the other, each at the latency it had. No search can be quicker than its longest path.
"""

import json
import os
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from treewright import CodeTask, Limits, solve
from treewright.core.events import Event, ModelCalled, ProgramRan

ROOT = Path(__file__).parent.parent
LATENCY, EXECUTIONS = 1.0, 20


def run(parallel: int, strategy: str, preset: str) -> tuple[float, float, int, int]:
    """Wall seconds, seconds of the longest path, calls, executions."""
    rows = [{"when": "strategies to solve", "reply": "\n".join(f"{i}. Strategy number {i} in words." for i in range(1, 11))}]
    for n in range(200):
        rows.append({"when": "Reflect on", "reply": f"1. First plan, {n}.\n2. Second plan, {n}."})
        rows.append({"when": "How close", "reply": f"Case {n}.\n3"})
        rows.append({"reply": f"```python\ndef add(a, b):\n    return {-1 - n}\n```"})
    busy: defaultdict[str, float] = defaultdict(float)

    def note(event: Event) -> None:
        if isinstance(event, ModelCalled | ProgramRan):
            busy[event.node] += event.seconds

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.jsonl"
        script.write_text("\n".join(json.dumps({**row, "latency_s": LATENCY}) for row in rows))
        task = CodeTask("Add two numbers.", tests=["assert add(1, 2) == 3"], entry_point="add")
        started = time.perf_counter()
        solution = solve(
            task, model=f"scripted:{script}", strategy=strategy, preset=preset, budget=Limits(executions=EXECUTIONS),
            parallel=parallel, sinks=[note], journal=Path(folder) / "journal.db", sandbox="process",
        )  # fmt: skip
        wall = time.perf_counter() - started
    paths = [sum(busy.get(line, 0.0) for line in _line(node)) for node in busy]
    return wall, max(paths), solution.usage.calls, solution.usage.executions


def _line(node: str) -> list[str]:
    parts = node.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def main() -> None:
    lines = [
        "# No barriers",
        "",
        f"`benchmarks/latency.py`: {LATENCY:.0f} s a call, {EXECUTIONS} executions, load {os.getloadavg()[0]:.1f}.",
        "",
    ]
    lines += [
        "| strategy | at work | calls | executions | wall s | longest path s | wall / longest path | calls / at work, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for strategy, preset in (("codetree", "official"), ("codetree", "recommended"), ("resample", "recommended")):
        for parallel in (8, 20):
            wall, path, calls, executions = run(parallel, strategy, preset)
            lines.append(
                f"| {strategy} {preset} | {parallel} | {calls} | {executions} | {wall:.2f} | {path:.2f} | {wall / path:.2f} | {calls * LATENCY / parallel:.1f} |"
            )
            print(lines[-1], flush=True)
    lines += ["", "The last column is a second lower bound: with n steps at work, n calls can be under way at most."]
    (ROOT / "docs/results/latency.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
