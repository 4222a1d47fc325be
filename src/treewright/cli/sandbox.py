"""`treewright sandbox`: how programs are isolated on this machine, and the proof of it."""

from __future__ import annotations

import asyncio
import json as json_
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from treewright.cli import UNAVAILABLE, UNVERIFIED, VERIFIED
from treewright.cli.solve import JSON

if TYPE_CHECKING:
    from rich.console import Console

    from treewright.sandbox.attacks import AttackResult
    from treewright.sandbox.base import Sandbox
    from treewright.sandbox.select import Finding


def sandbox(
    level: str = "auto",
    /,
    *,
    attacks: Path | None = None,
    sandbox_python: Path | None = None,
    json: JSON = False,
) -> int:
    """Say which isolation programs get here, what it covers and what it does not, how to get a stronger one, and prove it.

    Parameters
    ----------
    level
        auto for the strongest that works, or namespaces, landlock, podman, docker, process. An image can follow: podman:IMAGE.
    attacks
        Run the hostile programs of this folder instead, and say what became of each. Exit status 0 only if all survived.
    sandbox_python
        A virtual environment whose packages the programs may use.
    json
        Print JSON: an object an attack, or one with the levels and the checks.
    """
    if attacks is not None:
        return asyncio.run(_attacks(level, attacks, sandbox_python, json=json))
    return asyncio.run(_survey(level, sandbox_python, json=json))


async def _survey(level: str, python: Path | None, *, json: bool) -> int:
    from rich.console import Console

    from treewright.core.errors import SandboxUnavailable
    from treewright.sandbox.conformance import check
    from treewright.sandbox.select import survey

    findings = await survey(python=python)
    async with AsyncExitStack() as stack:
        try:
            chosen = await _opened(level, python, stack)
        except SandboxUnavailable:
            chosen = None
        results = await check(chosen) if chosen is not None else {}
    name = chosen.level if chosen is not None else ""
    failed = [case for case, fault in results.items() if fault]
    if json:
        levels = [
            {"level": f.cover.level, "works": f.works, "covers": f.cover.covers, "misses": f.cover.misses,
             "reason": f.reason, "remedy": f.remedy} for f in findings
        ]  # fmt: skip
        print(json_.dumps({"chosen": name, "levels": levels, "checks": {c: not fault for c, fault in results.items()}}))
    else:
        _print_survey(Console(highlight=False, soft_wrap=True), findings, name, results)
    return UNAVAILABLE if chosen is None else UNVERIFIED if failed else VERIFIED


def _print_survey(console: Console, findings: tuple[Finding, ...], chosen: str, results: dict[str, str]) -> None:
    for finding in findings:
        cover = finding.cover
        mark = "chosen" if cover.level == chosen else "works here" if finding.works else "not here"
        if cover.level == "process":
            mark = "chosen, because it was asked for" if chosen == "process" else "only if asked for"
        console.print(f"{cover.level}: {mark}", style="bold green" if cover.level == chosen else "bold", markup=False)
        if not finding.works:
            console.print(f"  {finding.reason}\n  to get it: {finding.remedy}", markup=False)
        if cover.level == chosen or not chosen:
            for line in cover.covers:
                console.print(f"  covered      {line}", markup=False)
            for line in cover.misses:
                console.print(f"  not covered  {line}", markup=False)
    if not chosen:
        console.print("no isolation works here: programs run only with --sandbox process", style="bold red")
        return
    passed = sum(not fault for fault in results.values())
    style = "bold green" if passed == len(results) else "bold red"
    console.print(f"{passed} of {len(results)} checks of the conformance suite passed", style=style)
    for case, fault in results.items():
        if fault:
            console.print(f"  {case}: {fault}", markup=False)


async def _attacks(level: str, folder: Path, python: Path | None, *, json: bool) -> int:
    from treewright.sandbox.attacks import run_attacks

    def tell(result: AttackResult) -> None:
        if json:
            print(json_.dumps(_as_json(result)), flush=True)
            return
        mark = "survived" if result.survived else "NOT SURVIVED"
        cause = "" if result.clear else "  (another cause was expected)"
        why = "" if result.survived else f"  {result.detail}"
        print(f"{result.name:26} {result.verdict:13} {mark}  {result.wall_s:6.2f} s{cause}{why}", flush=True)

    async with AsyncExitStack() as stack:
        chosen = await _opened(level, python, stack)
        results = await run_attacks(chosen, folder, each=tell)
    survived = sum(r.survived for r in results)
    if not json:
        clear = sum(r.clear for r in results)
        print(f"{survived} of {len(results)} survived at level {chosen.level}, {clear} with a verdict that names the cause")
    return VERIFIED if survived == len(results) else UNVERIFIED


def _as_json(result: AttackResult) -> dict[str, object]:
    return {
        "name": result.name,
        "verdict": result.verdict,
        "clear": result.clear,
        "survived": result.survived,
        "wall_s": round(result.wall_s, 3),
        "left_behind": result.left_behind,
    }


async def _opened(level: str, python: Path | None, stack: AsyncExitStack) -> Sandbox:
    from treewright.sandbox.select import Home, select

    chosen = await select(level, python=python)
    if isinstance(chosen, Home):
        stack.callback(chosen.close)
    return chosen
