"""Programs that call functions of a test's over the bridge."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sandbox_homes import landlock, namespaces
from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.bridge import Ran, run_program
from treewright.sandbox.calling import Call, Failed, Function, Parameter, Returned
from treewright.sandbox.process import ProcessSandbox

LEVELS = ["namespaces", "landlock", "process"]

ROOMY = Limits(wall_s=60, cpu_s=60, memory_mb=2048)  # for a busy machine, and for many threads
ECHO = Function("echo", (Parameter("value", "value", required=False),))
SLOW, QUICK = Function("slow"), Function("quick")


@contextmanager
def at_level(level: str) -> Iterator[Sandbox]:
    """The sandbox of that level; the test is skipped where there is none."""
    if level == "process":
        yield ProcessSandbox()
        return
    if level == "landlock":
        with landlock() as home:
            yield home
        return
    with namespaces() as strong:
        yield strong


async def echo(name: str, arguments: dict[str, Any]) -> Returned | Failed:
    """Gives back what `value` is."""
    return Returned(arguments.get("value"))


def ran(
    sandbox: Sandbox,
    program: str,
    call: Call = echo,
    functions: Sequence[Function] = (ECHO,),
    *,
    limits: Limits = ROOMY,
    **rest: Any,
) -> Ran:
    """How a program ran."""
    return asyncio.run(run_program(sandbox, program, functions, call, limits=limits, **rest))


def answer(sandbox: Sandbox, program: str, call: Call = echo, functions: Sequence[Function] = (ECHO,)) -> Any:
    """The answer of a program that runs to its end."""
    done = ran(sandbox, program, call, functions)
    assert (done.exit.status, done.raised) == ("ok", ""), done
    return done.answer[0]
