"""Programs that call the user's tools: run one in the sandbox, with a session of its own, and say what came of it.

The program finds one function for each tool among its globals. Calls come out of the sandbox over the bridge to the toolbox, so
keys and connections never go in. Stateful tools are new for every program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.bridge import Ran, run_program
from treewright.sandbox.calling import Failed, Function, Parameter, Returned
from treewright.sandbox.judging.messages import clean
from treewright.tools.base import Card, Result, Session, Toolbox
from treewright.tools.cards import docstring, python_parameters, signature
from treewright.tools.planning import Planned

OUTPUT_CHARS = 20_000
#: How tools that report their errors as ordinary results begin them.
_ERROR = re.compile(r"\s*(?:error|exception|traceback|failed|failure)\b", re.IGNORECASE)
_DESCRIPTION_CHARS = 2400
_LATER = "    Only noted while you work; it is carried out once, for the answer that is chosen."


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """What came of a program.

    Args:
        ended: "ok" when it ran to its end, else the sandbox's status ("error", "timeout", "memory", ...).
        answer: what it gave to `final_answer`, else what it printed, as text; "" for nothing.
        output: what it printed, cut.
        error: why it failed, with the traceback; "" when it did not.
        calls: tool calls it made.
        tool_errors: of those, the ones that failed or whose result says that something failed.
        planned: calls it noted, in order.
        seconds: wall time, tools included.
        final: `answer` was given to `final_answer`.
    """

    ended: str
    answer: str = ""
    output: str = ""
    error: str = ""
    calls: int = 0
    tool_errors: int = 0
    planned: tuple[Planned, ...] = ()
    seconds: float = 0.0
    final: bool = False

    @property
    def result(self) -> str:
        """What a model is shown of it."""
        given = f"It gave this final answer: {self.answer}" if self.answer and self.answer != self.output.strip() else ""
        printed = f"It printed:\n{self.output.strip()}" if self.output.strip() else "It printed nothing."
        return "\n".join(filter(None, (printed, given, f"It failed: {self.error}" if self.error else "")))


#: Runs a node's program: (node id, program) -> what came of it.
RunProgram = Callable[[str, str], Awaitable[ProgramRun]]


def describe(cards: Sequence[Card]) -> str:
    """The tools as a model reads them: one signature and description each."""
    return "\n\n".join(_described(card) for card in cards)


def _described(card: Card) -> str:
    lines = "\n".join(f"    {line}" for line in docstring(card)[:_DESCRIPTION_CHARS].splitlines())
    return "\n".join(filter(None, (signature(card), lines, _LATER if card.effect == "commit" else "")))


def functions(cards: Sequence[Card]) -> tuple[Function, ...]:
    """The tools as the functions of a program."""
    return tuple(_function(card) for card in cards)


def _function(card: Card) -> Function:
    parameters = tuple(Parameter(p.name, p.wire, p.required, p.default, p.annotation) for p in python_parameters(card))
    return Function(card.name, parameters, docstring(card))


def program_runner(sandbox: Sandbox, toolbox: Toolbox, limits: Limits) -> RunProgram:
    """Runs programs in `sandbox`, each with a fresh session of `toolbox`.

    Args:
        sandbox: where.
        toolbox: an open one.
        limits: of each program; its wall time does not count the tools'.
    """
    offered = functions(toolbox.cards)

    async def run(node: str, program: str) -> ProgramRun:
        async with toolbox.session(node) as session:
            suspect = 0

            async def call(name: str, arguments: dict[str, Any]) -> Returned | Failed:
                nonlocal suspect
                result = await session.call(name, arguments)
                suspect += looks_failed(result)
                return Failed(result.message) if result.failure else Returned(result.value)

            ran = await run_program(sandbox, program, offered, call, limits=limits)
            return _told(ran, suspect, planned_by(session))

    return run


def planned_by(session: Session) -> tuple[Planned, ...]:
    """The calls that a session has noted instead of making them."""
    return tuple(getattr(session, "planned", ()))


def looks_failed(result: Result) -> bool:
    """Whether a call failed, or its result says so, as many tools report their errors."""
    value = result.value
    if result.failure:
        return True
    if isinstance(value, dict):
        return bool(value.get("error") or value.get("exception"))
    return isinstance(value, str) and _ERROR.match(value) is not None


def as_text(value: object) -> str:
    """A value of a program as an answer: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _told(ran: Ran, tool_errors: int, planned: tuple[Planned, ...]) -> ProgramRun:
    ended = ran.exit
    output = clean(ended.stdout.decode("utf-8", "replace"))[:OUTPUT_CHARS]
    answer = clean(as_text(ran.answer[0])) if ran.answer else output
    error = ""
    if ended.status != "ok":
        said = ran.trace or ended.stderr.decode("utf-8", "replace")[-OUTPUT_CHARS:]
        error = clean("\n".join(filter(None, (ended.detail if not ran.raised else "", said.strip()))))
    return ProgramRun(
        ended.status, answer.strip(), output, error, ran.calls, tool_errors, planned, round(ended.wall_s, 4), bool(ran.answer)
    )
