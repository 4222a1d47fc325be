"""Runs with tools, put together with models that say what they are told and programs that run right here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scripted_tools import Act, ScriptedTool
from treewright.assembly import PROGRAMS
from treewright.core.errors import ModelUnavailable
from treewright.core.events import Event, RunEnded, Sink, ToolCalled
from treewright.core.task import ToolTask
from treewright.journal.base import Journal
from treewright.journal.sqlite import SQLiteJournal
from treewright.models.base import Reply, Request
from treewright.models.estimates import usual_usage
from treewright.opening import Given
from treewright.runs import Run, resume, start
from treewright.sandbox.process import ProcessSandbox
from treewright.spec import RunSpec, Solution
from treewright.tools.base import Card, Effect
from treewright.tools.combined import Combined
from treewright.tools.loading import load_tools

TASK = ToolTask("How many?", name="how many")
SPEC = RunSpec(task=TASK, model="chatter", strategy="tree-of-code", sandbox="process", parallel=3)


def code(program: str, thought: str = "I think.") -> str:
    """A reply with a program."""
    return f"{thought}\n<execute>\n{program}\n</execute>"


def toolbox_of(*tools: object) -> Combined:
    """A closed toolbox of functions and classes."""
    return load_tools(tools)


def scripted(
    name: str, act: Act = lambda **arguments: arguments, effect: Effect = "idempotent", *, undo: Act | None = None, **types: str
) -> ScriptedTool:
    """A scripted tool with parameters of these JSON types, all required."""
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in types.items()}, "required": [*types]}
    return ScriptedTool(name, act, effect, undo, card=Card(name, f"Does {name}.", schema, effect=effect, source="scripted"))


@dataclass(slots=True, eq=False)
class Chatter:
    """Says its replies one after the other, whoever asks.

    Args:
        replies: texts, or what is raised.
        name: of the model.
        asked: all that was asked.
    """

    replies: Sequence[str | BaseException]
    name: str = "chatter"
    asked: list[Request] = field(default_factory=list)

    async def complete(self, request: Request) -> Reply:
        if len(self.asked) >= len(self.replies):
            raise ModelUnavailable(f"{self.name} has no reply left")
        said = self.replies[len(self.asked)]
        self.asked.append(request)
        if isinstance(said, BaseException):
            raise said
        return Reply(said, usual_usage(request, said))


@dataclass(slots=True, eq=False)
class ByNode:
    """Says at each node what stands there for it, however often it is asked; a dead model otherwise.

    Args:
        programs: node -> its program; `otherwise` elsewhere.
        otherwise: on any other node.
        name: of the model.
        asked: all that was asked.
    """

    programs: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = "raise ValueError('no')"
    name: str = "chatter"
    asked: list[Request] = field(default_factory=list)

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        await asyncio.sleep(0)
        said = code(self.programs.get(request.caller.node, self.otherwise))
        return Reply(said, usual_usage(request, said))


@dataclass(slots=True, eq=False)
class Desk:
    """Journals in a folder; runs by one model over one toolbox."""

    folder: Path
    opened: list[SQLiteJournal] = field(default_factory=list)

    def journal(self, name: str = "") -> SQLiteJournal:
        self.opened.append(SQLiteJournal(self.folder / (name or f"{len(self.opened)}.db")))
        return self.opened[-1]

    def cut(self, some: Sequence[Event]) -> SQLiteJournal:
        """The journal that is left when the process dies after these events."""
        journal = self.journal()
        for event in some:
            journal.append("run", event)
        journal.close()
        return self.journal(f"{len(self.opened) - 1}.db")

    def given(self, model: Any, toolbox: Any, allow: Any = None) -> Given:
        models = tuple(model) if isinstance(model, list | tuple) else (model,)
        return Given(models, ProcessSandbox(), toolbox, allow)

    def go(
        self, journal: Journal, model: Any, toolbox: Any, *, allow: Any = None, sinks: Sequence[Sink] = (), **spec: Any
    ) -> Solution:
        given = self.given(model, toolbox, allow)
        return asyncio.run(start(replace(SPEC, **spec), journal=journal, run_id="run", sinks=sinks, given=given).go())

    def resume(self, journal: Journal, model: Any, toolbox: Any, *, allow: Any = None, **settings: Any) -> Solution:
        run: Run = resume("run", journal=journal, given=self.given(model, toolbox, allow), **settings)
        return asyncio.run(run.go())


@contextmanager
def tools_desk(folder: Path) -> Iterator[Desk]:
    desk = Desk(folder)
    try:
        yield desk
    finally:
        for journal in desk.opened:
            journal.close()


def events(journal: Journal) -> list[Event]:
    return [entry.event for entry in journal.read("run", PROGRAMS)]


def ended(journal: Journal) -> RunEnded:
    last = events(journal)[-1]
    assert isinstance(last, RunEnded)
    return last


def tool_calls(some: Sequence[Event]) -> list[ToolCalled]:
    return [event for event in some if isinstance(event, ToolCalled)]


def dying(where: Callable[[Event], bool]) -> Sink:
    """A sink that breaks down right after an event is on record, as when the process dies there."""

    def sink(event: Event) -> None:
        if where(event):
            raise OSError("the power is gone")

    return sink
