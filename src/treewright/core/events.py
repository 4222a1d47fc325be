"""Events: all that happens in a run, as a closed union of frozen values. The journal keeps them, sinks show them.

`NodeExpanded` and `NodeEvaluated` are the moves of the tree: applied in their recorded order they rebuild it. The others
say what was paid, and how the run began and ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal

from treewright.core.budget import Spend
from treewright.core.tree import A, Evaluation, O, Proposal


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run began, or was taken up again (`resumed`).

    Args:
        spec: the run as plain data, enough to start it again.
        resumed: how often it was taken up before; 0 at its first start.
    """

    spec: dict[str, Any]
    resumed: int = 0
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class NodeExpanded(Generic[A]):
    """An open node got its children (none: it is closed)."""

    node: str
    proposals: tuple[Proposal[A], ...]
    kind: Literal["node_expanded"] = "node_expanded"


@dataclass(frozen=True, slots=True)
class NodeEvaluated(Generic[O]):
    """A pending node was executed and judged. One execution was spent."""

    node: str
    outcome: O
    evaluation: Evaluation
    kind: Literal["node_evaluated"] = "node_evaluated"


@dataclass(frozen=True, slots=True)
class BudgetChanged:
    """An amount was reserved for one call that is about to be made.

    Written before the call. If the process dies before the matching `ModelCalled`, the call may have been paid, so a resumed
    run counts the whole amount as spent.

    Args:
        call: number of the call in the run, from 1; `ModelCalled.call` settles it.
        reserved: its worst case.
    """

    call: int
    reserved: Spend
    kind: Literal["budget_changed"] = "budget_changed"


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """One call of a model ended, well or badly. Written before its reply is used.

    Args:
        call: its number in the run, from 1.
        node: who asked.
        role: for what.
        attempt: 0 for the first ask, 1 for the repair ask.
        digest: of the request (`Request.digest`).
        model: name of the model.
        messages: what was asked: (speaker, text), oldest first.
        reply: what was answered; None when the call failed.
        error: why it failed, "" if it did not.
        finish: why the reply ended.
        input_tokens: counted by the provider, or estimated.
        output_tokens: the same.
        cached_tokens: part of the input that the provider had in its cache.
        spent: what the call is charged.
        seconds: how long it took.
    """

    call: int
    node: str
    role: str
    attempt: int
    digest: str
    model: str
    messages: tuple[tuple[str, str], ...]
    reply: str | None
    error: str = ""
    finish: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    spent: Spend = Spend()  # noqa: RUF009 - a frozen value
    seconds: float = 0.0
    kind: Literal["model_called"] = "model_called"


@dataclass(frozen=True, slots=True)
class ProgramRan:
    """A program of a node was run in the sandbox.

    Args:
        node: whose program.
        level: isolation in force.
        passed: visible tests passed.
        total: visible tests run.
        seconds: wall time of all of it.
    """

    node: str
    level: str
    passed: int
    total: int
    seconds: float
    kind: Literal["program_ran"] = "program_ran"


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A user's tool was called.

    Args:
        node: who called.
        tool: its name.
        arguments: as JSON.
        result: as JSON, cut; None when it failed.
        error: why it failed.
        seconds: how long it took.
    """

    node: str
    tool: str
    arguments: str
    result: str | None
    error: str = ""
    seconds: float = 0.0
    kind: Literal["tool_called"] = "tool_called"


@dataclass(frozen=True, slots=True)
class CommitBegun:
    """A call that is not taken back is about to be made for the chosen answer. Written before it.

    Without its `CommitEnded` on record nobody knows whether it was made, so it is never repeated.

    Args:
        node: whose program noted it.
        number: its place among that program's notes, from 1.
        tool: its name.
        arguments: plain JSON.
    """

    node: str
    number: int
    tool: str
    arguments: dict[str, Any]
    kind: Literal["commit_begun"] = "commit_begun"


@dataclass(frozen=True, slots=True)
class CommitEnded:
    """What became of that call: "done", "failed" (nothing was done) or "unknown".

    Args:
        node: as in `CommitBegun`.
        number: as in `CommitBegun`.
        fate: in a word.
        message: what the tool said of a failure.
    """

    node: str
    number: int
    fate: str
    message: str = ""
    kind: Literal["commit_ended"] = "commit_ended"


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run ended, or stopped so that it can be resumed.

    Args:
        reason: "accepted", "exhausted", the limit that was reached, "interrupted", or the fault in one sentence.
        finished: False when resuming can still change the answer.
        solved: the answer passes every visible test.
        verified: the search accepted the answer.
        answer: its text.
        evidence: what speaks for it, in a sentence.
        spent: by the whole run, all of its sittings together.
    """

    reason: str
    finished: bool
    solved: bool
    verified: bool
    answer: str
    evidence: str
    spent: Spend
    kind: Literal["run_ended"] = "run_ended"


Event = (
    RunStarted
    | NodeExpanded[Any]
    | NodeEvaluated[Any]
    | BudgetChanged
    | ModelCalled
    | ProgramRan
    | ToolCalled
    | CommitBegun
    | CommitEnded
    | RunEnded
)

#: A sink takes each event as it happens; the first one of a run is its journal. A sink that raises stops the run.
Sink = Callable[[Event], None]
