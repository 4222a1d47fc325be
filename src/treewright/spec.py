"""What a run is, as plain values: the `RunSpec` it starts from and the `Solution` it ends with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from treewright.core.budget import Limits, Spend
from treewright.core.errors import JournalError
from treewright.core.task import CodeTask, ToolTask
from treewright.core.tree import Tree
from treewright.roles.tree_of_code import History
from treewright.strategies.codetree_presets import Preset

#: The papers' budget: programs written and run.
EXECUTIONS = 20

#: What each reason of a search means, for people.
REASONS = {
    "accepted": "accepted",
    "exhausted": "nothing was left to try",
    "executions": "the budget of executions is spent",
    "calls": "the budget of calls is spent",
    "tool_calls": "the budget of tool calls is spent",
    "tokens": "the budget of tokens is spent",
    "dollars": "the budget of dollars is spent",
    "seconds": "the time is over",
    "interrupted": "interrupted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoices:
    """Choices for tasks with tools. None: as the preset has it.

    Args:
        layers: most programs on a path, >= 1.
        width: programs of the first layer and below each failed one, >= 1.
        strict: a run in which a tool reported an error is a failure.
        history: what a program's writer is shown of earlier attempts: "full" or "summary".
        adaptive: a failure that says plainly what to mend gets one child.
        prompts: a folder of prompts to draw from; the package's own when None.
        pool: models to draw from, beside the run's own.
        commits: tools with effects that cannot be taken back are asked about ("ask"), called ("yes") or not called ("dry_run")
            once the answer is chosen.
        only: patterns of names of the tools to offer ("find_*"); all without any.
        pure: patterns of tools that change nothing, whatever their source says of them.
        idempotent: patterns of tools whose second call adds nothing.
        helpers: programs also get `res_handler` and, where there are pages to scroll, `next_action`.
    """

    layers: int | None = None
    width: int | None = None
    strict: bool | None = None
    history: History | None = None
    adaptive: bool | None = None
    prompts: str | None = None
    pool: Sequence[str] = ()
    commits: Literal["ask", "yes", "dry_run"] = "ask"
    only: Sequence[str] = ()
    pure: Sequence[str] = ()
    idempotent: Sequence[str] = ()
    helpers: bool = True

    def __post_init__(self) -> None:
        for name in ("pool", "only", "pure", "idempotent"):
            object.__setattr__(self, name, tuple(getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """A run as a value.

    Args:
        task: what to solve.
        model: name of the model ("local", "openai:gpt-4o-mini", "scripted:replies.jsonl", ...).
        strategy: one of `STRATEGIES`.
        preset: "recommended", "paper", "official" or "small".
        without: parts of CodeTree to leave out: "verification", "abort", "scoring".
        limits: the most it may spend.
        parallel: most steps at work at once, >= 1.
        seed: of all its randomness.
        sandbox: isolation of its programs: "auto" for the strongest that works, or the name of a level.
        sandbox_python: a virtual environment, or its interpreter, whose packages the programs may use, read-only.
        warm: packages that are imported once for all programs, by name.
        base_url: address of an OpenAI-compatible server.
        tools: choices for tasks with tools.
    """

    task: CodeTask | ToolTask
    model: str
    strategy: str = "codetree"
    preset: Preset = "recommended"
    without: Sequence[str] = ()
    limits: Limits = Limits(executions=EXECUTIONS)  # noqa: RUF009 - a frozen value
    parallel: int = 1
    seed: int = 0
    sandbox: str = "auto"
    sandbox_python: str | None = None
    warm: Sequence[str] = ()
    base_url: str | None = None
    tools: ToolChoices = ToolChoices()

    def __post_init__(self) -> None:
        object.__setattr__(self, "without", tuple(self.without))
        object.__setattr__(self, "warm", tuple(self.warm))


@dataclass(frozen=True, slots=True)
class Solution:
    """How a run ended.

    Args:
        run_id: its id in the journal.
        task: name of the task.
        strategy: that was used.
        model: that was used.
        solved: the answer passes every visible test.
        verified: the search accepted the answer.
        answer: the program, or the answer to the question; "" when there is none.
        reason: why the search ended and what speaks for the answer, in a sentence.
        ended: the same as one word: "accepted", "exhausted", "interrupted", or the limit that was reached.
        usage: what the run spent, in all its sittings.
        tree: all its nodes.
    """

    run_id: str
    task: str
    strategy: str
    model: str
    solved: bool
    verified: bool
    answer: str
    reason: str
    ended: str
    usage: Spend
    tree: Tree[Any, Any]


def plain_spec(spec: RunSpec) -> dict[str, Any]:
    """A spec as plain data, for the journal."""
    from pydantic import TypeAdapter

    plain: dict[str, Any] = TypeAdapter(RunSpec).dump_python(spec, mode="json")
    return plain


def spec_from_plain(plain: dict[str, Any]) -> RunSpec:
    """The spec that `plain_spec` made plain.

    Raises:
        JournalError: it is not one that this version knows.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(RunSpec).validate_python(plain)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise JournalError(f"the run cannot be taken up: this version does not know its {where} ({first['msg']})") from error
