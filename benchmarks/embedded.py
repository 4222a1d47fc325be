"""The embedded model on the example tasks: direct, resampling and CodeTree at the same budget. Writes docs/results/embedded.md.

    .venv/bin/python benchmarks/embedded.py            # everything: hours on a busy machine; goes on where it was stopped
    .venv/bin/python benchmarks/embedded.py --report   # only the tables, from what is there

Answers are graded on hidden tests (benchmarks/hidden), which no search sees. One line a run is kept in
docs/results/embedded.jsonl. No time limit: a slow machine changes the seconds, not the answers.
"""

import argparse
import asyncio
import json
import tempfile
from collections import defaultdict
from pathlib import Path

from treewright import CodeTask, solve_async
from treewright.bench.hidden import graded_task, load_hidden
from treewright.cli.tasks import load_task
from treewright.sandbox.harness import run_tests
from treewright.sandbox.process import ProcessSandbox

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs/results/embedded.jsonl"
METHODS = {"direct": ("direct", "small"), "resample": ("resample", "small"), "codetree": ("codetree", "small")}
SEEDS, EXECUTIONS = (0, 1, 2), 20


async def one(task: CodeTask, method: str, seed: int) -> dict[str, object]:
    strategy, preset = METHODS[method]
    with tempfile.TemporaryDirectory() as folder:
        solution = await solve_async(
            task, model="local", strategy=strategy, preset=preset, budget=EXECUTIONS, parallel=2, seed=seed, sandbox="process",
            journal=Path(folder) / "journal.db",
        )  # fmt: skip
    hidden = load_hidden(ROOT / "benchmarks/hidden", task.name)
    passed = False
    if solution.answer:
        passed = (await run_tests(ProcessSandbox(), solution.answer, graded_task(task, hidden))).all_passed
    used = solution.usage
    return {
        "task": task.name, "method": method, "seed": seed, "visible": solution.solved, "hidden": passed,
        "executions": used.executions, "calls": used.calls, "tokens": used.tokens, "seconds": round(used.seconds, 1),
    }  # fmt: skip


def report(rows: list[dict[str, object]]) -> str:
    tasks = sorted({str(r["task"]) for r in rows})
    seeds = sorted({int(str(r["seed"])) for r in rows})
    lines = ["# The embedded model on the example tasks", ""]
    lines += [
        f"`benchmarks/embedded.py`: SmolLM2-135M-Instruct Q4_1, {len(tasks)} tasks, seeds {', '.join(map(str, seeds))}, {EXECUTIONS} executions at most,",
        "preset `small`. Solved means: passes the hidden tests.",
        "",
    ]
    lines += [
        "| method | "
        + " | ".join(f"solved, seed {s}" for s in seeds)
        + " | solved, all seeds | passes the visible tests | executions a task | tokens a task |",
        "|---|" + "---|" * (len(seeds) + 4),
    ]
    for method in METHODS:
        mine = [r for r in rows if r["method"] == method]
        if not mine:
            continue
        by_seed = [
            f"{sum(bool(r['hidden']) for r in mine if r['seed'] == s)} of {sum(r['seed'] == s for r in mine)}" for s in seeds
        ]
        share, visible = (sum(bool(r[key]) for r in mine) / len(mine) for key in ("hidden", "visible"))
        mean = {key: sum(float(str(r[key])) for r in mine) / len(mine) for key in ("executions", "tokens")}
        lines.append(
            f"| {method} | "
            + " | ".join(by_seed)
            + f" | {share:.1%} | {visible:.1%} | {mean['executions']:.1f} | {mean['tokens']:,.0f} |"
        )
    lines += [
        "",
        "By task, seeds solved of those run:",
        "",
        "| task | " + " | ".join(METHODS) + " |",
        "|---|" + "---|" * len(METHODS),
    ]
    cells: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for r in rows:
        cells[str(r["task"]), str(r["method"])].append(bool(r["hidden"]))
    for task in tasks:
        lines.append(f"| {task} | " + " | ".join(f"{sum(cells[task, m])} of {len(cells[task, m])}" for m in METHODS) + " |")
    return "\n".join(lines) + "\n"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", action="store_true", help="only write the tables")
    parser.add_argument("--tasks", type=int, default=99, help="only the first, easiest ones")
    options = parser.parse_args()
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    done = {(r["task"], r["method"], r["seed"]) for r in rows}
    tasks = [load_task(str(path)) for path in sorted((ROOT / "examples/tasks").iterdir())]
    for task in () if options.report else tasks[: options.tasks]:
        for seed in SEEDS:
            for method in METHODS:
                if (task.name, method, seed) not in done:
                    rows.append(await one(task, method, seed))
                    print(json.dumps(rows[-1]), flush=True)
                    with RESULTS.open("a") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
    (ROOT / "docs/results/embedded.md").write_text(report(rows))
    print(report(rows))


if __name__ == "__main__":
    asyncio.run(main())
