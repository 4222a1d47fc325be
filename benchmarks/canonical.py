"""Are right programs judged right, and empty ones wrong? Runs the benchmarks' own solutions through `run_tests`.

    python benchmarks/canonical.py DATA [--set mbppplus ...] [--program canonical|none|equal] [--sandbox LEVEL] [--parallel 2]

DATA holds `humaneval/HumanEval.jsonl.gz` (OpenAI), `humaneval/humaneval_codetree.jsonl.gz` (CodeTree), `mbppplus/
MbppPlus-OriginFmt.jsonl.gz` (EvalPlus), `mbpp/mbpp.jsonl.gz` and `mbpp/sanitized_task_ids.json` (Google). Prints one line a set and
one for each problem that is judged otherwise than it should be. Three of the MBPP+ tests (737, 787, 794) assert nothing, so they
pass for any program.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treewright.core.task import CodeTask
from treewright.sandbox.harness import Report, run_tests
from treewright.sandbox.select import select

EQUAL = """
class Equal:
    def __init__(self, *_, **__): pass
    def __eq__(self, other): return True
    def __ne__(self, other): return True
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __sub__(self, other): return 0
    __rsub__ = __add__ = __radd__ = __sub__
    def __abs__(self): return self
    def __bool__(self): return True
    def __hash__(self): return 0
    def __iter__(self): return iter(())
    def __len__(self): return 0
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """A task with its own solution; `head` is what must stand before another one."""

    task: CodeTask
    solution: str
    head: str = ""

    def program(self, kind: str) -> str:
        """The program to judge: "canonical", "none" (always returns None) or "equal" (an object that equals everything)."""
        if kind == "canonical":
            return self.solution
        value = "None" if kind == "none" else "Equal()"
        return f"{self.head}\n{EQUAL}\ndef {self.task.entry_point}(*_, **__): return {value}\n"


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def humaneval(data: Path) -> Iterator[Problem]:
    for row in rows(data / "humaneval/HumanEval.jsonl.gz"):
        task = CodeTask(row["prompt"], tests=(row["test"],), entry_point=row["entry_point"], name=row["task_id"])
        yield Problem(task, row["prompt"] + row["canonical_solution"], row["prompt"])


def humaneval_visible(data: Path) -> Iterator[Problem]:
    for row in rows(data / "humaneval/humaneval_codetree.jsonl.gz"):
        task = CodeTask(row["prompt"], tests=tuple(row["given_tests"]), entry_point=row["entry_point"], name=row["task_id"])
        yield Problem(task, row["prompt"] + row["canonical_solution"], row["prompt"])


def mbppplus(data: Path) -> Iterator[Problem]:
    for row in rows(data / "mbppplus/MbppPlus-OriginFmt.jsonl.gz"):
        name = entry_point(row["code"], row["test"].rpartition("inputs =")[2])
        task = CodeTask(row["prompt"], tests=(row["test"],), entry_point=name, name=f"Mbpp/{row['task_id']}", time_limit_s=5.0)
        yield Problem(task, row["code"])


def mbpp_sanitized(data: Path) -> Iterator[Problem]:
    chosen = set(json.loads((data / "mbpp/sanitized_task_ids.json").read_text()))
    for row in rows(data / "mbpp/mbpp.jsonl.gz"):
        if row["task_id"] in chosen:
            name = entry_point(row["code"], row["test_list"][0])
            tests, setup = tuple(row["test_list"]), row["test_setup_code"]
            yield Problem(
                CodeTask(row["text"], tests, entry_point=name, setup=setup, name=f"MBPP/{row['task_id']}"), row["code"]
            )


SETS: dict[str, Callable[[Path], Iterator[Problem]]] = {
    "humaneval": humaneval,
    "humaneval-visible": humaneval_visible,
    "mbppplus": mbppplus,
    "mbpp-sanitized": mbpp_sanitized,
}


def entry_point(code: str, test: str) -> str:
    """The function of `code` that `test` calls."""
    names: list[str] = re.findall(r"^def (\w+)", code, re.MULTILINE)
    return next((name for name in reversed(names) if re.search(rf"\b{name}\s*\(", test)), names[-1])


async def run_set(name: str, problems: list[Problem], kind: str, level: str, parallel: int) -> None:
    sandbox = await select(level)
    places = asyncio.Semaphore(parallel)

    async def judge(problem: Problem) -> Report:
        async with places:
            return await run_tests(sandbox, problem.program(kind), problem.task)

    started = time.monotonic()
    reports = await asyncio.gather(*map(judge, problems))
    seconds = time.monotonic() - started
    passed = sum(report.all_passed for report in reports)
    checks = sum(report.total for report in reports)
    print(f"{name}, {sandbox.level}: {kind} passes {passed} of {len(problems)} problems, {checks} checks, {seconds:.1f} s")
    for problem, report in zip(problems, reports, strict=True):
        if report.all_passed != (kind == "canonical"):
            first = next((result for result in report.results if result.verdict != "pass"), None)
            why = f"{first.verdict}: {first.test[:80]!r} {first.detail[:200]!r}" if first else "passes"
            print(f"  {problem.task.name} {report.error[:200] or why}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--set", nargs="+", choices=SETS, default=list(SETS), dest="sets")
    parser.add_argument("--program", choices=("canonical", "none", "equal"), default="canonical")
    parser.add_argument("--sandbox", default="auto", help="auto, namespaces, landlock or process")
    parser.add_argument("--parallel", type=int, default=2)
    options = parser.parse_args()
    for name in options.sets:
        asyncio.run(run_set(name, list(SETS[name](options.data)), options.program, options.sandbox, options.parallel))


if __name__ == "__main__":
    main()
