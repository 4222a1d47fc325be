"""How the nodes of each kind of search are shown: their title, their result in a word, and all there is to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treewright.core.tree import Node


@dataclass(frozen=True, slots=True)
class Section:
    """Something to read of a node: a heading, a text, and the language it is in, if it is code."""

    heading: str
    text: str
    language: str = ""


def title(node: Node[Any, Any]) -> str:
    """What a node tries, in a line; "" for nothing in particular."""
    from treewright.strategies.codetree_settings import CodeAction
    from treewright.strategies.tree_of_code_settings import Draw

    match node.proposal.action if node.proposal else None:
        case None:
            return "problem"
        case CodeAction(idea):
            return idea
        case Draw(model, prompt):
            return f"prompt {prompt}" + (f", model {model + 1}" if model else "")
        case other:
            return str(other)


def result(outcome: object) -> tuple[str, str]:
    """What came of a node, in a word or two, and its colour."""
    from treewright.strategies.codetree_settings import CodeOutcome
    from treewright.strategies.tree_of_code_settings import ProgramOutcome

    match outcome:
        case CodeOutcome(_, report):
            return f"{report.passed}/{report.total}", "green" if report.all_passed else "yellow" if report.passed else "red"
        case ProgramOutcome(run=run):
            if run.ended != "ok":
                return run.ended, "red"
            return (f"= {_line(run.answer)}", "green") if run.answer else ("no answer", "yellow")
        case _:
            return "", ""


def summary(outcome: object) -> tuple[str, str]:
    """What came of a node as a clause, and the telling line of its error, "" without one."""
    from treewright.strategies.codetree_settings import CodeOutcome
    from treewright.strategies.tree_of_code_settings import ProgramOutcome

    match outcome:
        case CodeOutcome(_, report):
            return f"{report.passed}/{report.total} tests", _telling(report.error)
        case ProgramOutcome(run=run):
            calls = f"{run.calls} tool call{'s' * (run.calls != 1)}"
            return f"{result(outcome)[0]} after {calls}", _telling(run.error)
        case _:
            return "done", ""


def _telling(error: str) -> str:
    lines = [line.strip() for line in error.splitlines() if any(map(str.isalnum, line))]  # no lone caret
    return lines[-1] if lines else ""


def good(outcome: object) -> bool:
    """Whether it did all that can be seen from here."""
    from treewright.strategies.codetree_settings import CodeOutcome
    from treewright.strategies.tree_of_code_settings import ProgramOutcome

    match outcome:
        case CodeOutcome(_, report):
            return report.all_passed
        case ProgramOutcome(run=run):
            return run.ended == "ok" and bool(run.answer)
        case _:
            return False


def sections(outcome: object) -> list[Section]:
    """All there is to read of what came of a node."""
    from treewright.roles.codetree import feedback
    from treewright.strategies.codetree_settings import CodeOutcome
    from treewright.strategies.tree_of_code_settings import ProgramOutcome

    match outcome:
        case CodeOutcome(program, report):
            return [*_code(program), Section("tests", feedback(report))]
        case ProgramOutcome(thought, program, run):
            planned = "\n".join(f"{call.tool}({call.arguments})" for call in run.planned)
            parts = [
                Section("thoughts", thought),
                *_code(program),
                Section("result", run.result),
                Section("noted calls", planned),
            ]
            return [part for part in parts if part.text]
        case _:
            return []


def fields(node: Node[Any, Any]) -> dict[str, Any]:
    """What is particular to the kind of search, for JSON."""
    from pydantic_core import to_jsonable_python

    from treewright.strategies.codetree_settings import CodeAction, CodeOutcome
    from treewright.strategies.tree_of_code_settings import Draw

    action, outcome = node.proposal.action if node.proposal else None, node.outcome
    if isinstance(action, Draw) or (outcome is not None and not isinstance(outcome, CodeOutcome)):
        return {"draw": to_jsonable_python(action), **(to_jsonable_python(outcome) or {})}
    return {
        "idea": action.idea if isinstance(action, CodeAction) else None,
        "program": outcome.program if outcome else None,
        "tests": to_jsonable_python(outcome.report) if outcome else None,
    }


def _code(program: str) -> list[Section]:
    return [Section("program", program.rstrip(), "python")] if program else []


def _line(text: str, most: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
