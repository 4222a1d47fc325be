"""Turns of the multi-turn baselines, carried out so that a run can be taken up at any turn.

A turn starts afresh and first repeats what the turns before did, silently: code is run again, with calls of pure tools answered
from the search's record; of single calls only those of tools with a state are made again, in the turn's own session.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from treewright.roles.tool_programs import ProgramRun, RunProgram, as_text, looks_failed, planned_by
from treewright.roles.turns import ANSWER_TOOL
from treewright.tools.base import Result, Toolbox

#: Carries out a turn: (node id, acts of the turns before, this act) -> what came of it.
Act = Callable[[str, Sequence[str], str], Awaitable[ProgramRun]]

_AGAIN = """\
def again(blocks, names):
    import contextlib, io
    answer, names["final_answer"] = names["final_answer"], lambda value: None
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for block in blocks:
            try:
                exec(compile(block, "<earlier>", "exec"), names)
            except BaseException:
                pass
    names["final_answer"] = answer
"""


def code_turn(run: RunProgram) -> Act:
    """Runs a block of code with the variables that the blocks before left."""

    async def act(node: str, before: Sequence[str], block: str) -> ProgramRun:
        return await run(node, with_state(before, block))

    return act


def with_state(before: Sequence[str], block: str) -> str:
    """One program that does what `before` did without printing or answering, then `block`, which starts at its second line."""
    if not before:
        return block
    return f"_scope = {{}}; exec({_AGAIN!r}, _scope); _scope['again']({list(before)!r}, globals()); del _scope\n{block}"


def call_turn(toolbox: Toolbox) -> Act:
    """Makes one call, after those before of tools that keep a state or whose calls are only noted."""
    repeated = {card.name for card in toolbox.cards if card.stateful or card.effect == "commit"}

    async def act(node: str, before: Sequence[str], call: str) -> ProgramRun:
        name, arguments = _call(call)
        started = perf_counter()
        async with toolbox.session(node) as session:
            for earlier, given in map(_call, before):
                if earlier in repeated:
                    await session.call(earlier, given)
            if name == ANSWER_TOOL:
                answer = as_text(arguments.get("answer", next(iter(arguments.values()), ""))).strip()
                return ProgramRun("ok", answer, planned=planned_by(session), final=bool(answer))
            ran = _told(await session.call(name, arguments))
            return replace(ran, planned=planned_by(session), seconds=round(perf_counter() - started, 4))

    return act


def _told(result: Result) -> ProgramRun:
    if result.failure:
        return ProgramRun("error", error=result.message, calls=1, tool_errors=1)
    return ProgramRun("ok", output=as_text(result.value), calls=1, tool_errors=int(looks_failed(result)))


def _call(text: str) -> tuple[str, dict[str, Any]]:
    call = json.loads(text)
    return call["tool"], call["arguments"]
