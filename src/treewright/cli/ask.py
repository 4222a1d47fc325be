"""`treewright ask`: a question, answered with tools."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from treewright.cli.solve import FLAG, JSON, Manner, carry_out, refuse_unwritable

if TYPE_CHECKING:
    from treewright.core.budget import Limits
    from treewright.spec import RunSpec


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """The options of a search with tools.

    Parameters
    ----------
    model
        Who writes: local, openai:NAME, anthropic:NAME, ..., scripted:FILE. Default: TREEWRIGHT_MODEL, else local.
    pool
        Another model to draw from for each program. May be repeated.
    strategy
        tree-of-code, code-program (a single program), codeact or react.
    preset
        recommended or paper.
    layers
        Most programs on a path. Default: 3.
    width
        Programs of the first layer, and below each one that failed. Default: 3.
    strict
        A program in which a tool reported an error has failed, even if it caught it.
    history
        What the writer of a program is shown of the attempts before it: full or summary.
    adaptive
        A failure that says plainly what to mend gets one child instead of several.
    prompts
        A folder of prompts to draw from, as `treewright prompts evolve` writes it.
    only
        Offer only tools whose names fit this pattern, such as 'find_*'. May be repeated.
    pure
        Tools that fit this pattern change nothing, whatever their source says. May be repeated.
    idempotent
        A second call of tools that fit this pattern adds nothing to the first. May be repeated.
    helpers
        Give programs two more tools, which ask the model: one to work on a text, one to choose the next link of a page.
    yes
        Make calls that are not taken back, such as sending a mail, without asking.
    dry_run
        Make no such call at all.
    seed
        Of all randomness of the search.
    sandbox
        Isolation of the programs: auto takes the strongest that works; see `treewright sandbox`.
    sandbox_python
        A virtual environment whose packages the programs may use, read-only.
    base_url
        Address of an OpenAI-compatible server.
    """

    model: str | None = None
    pool: Annotated[list[str] | None, Parameter(negative="")] = None
    strategy: str = "tree-of-code"
    preset: str = "recommended"
    layers: int | None = None
    width: int | None = None
    strict: bool | None = None
    history: str | None = None
    adaptive: bool | None = None
    prompts: Path | None = None
    only: Annotated[list[str] | None, Parameter(negative="")] = None
    pure: Annotated[list[str] | None, Parameter(negative="")] = None
    idempotent: Annotated[list[str] | None, Parameter(negative="")] = None
    helpers: bool = True
    yes: Annotated[bool, FLAG] = False
    dry_run: Annotated[bool, FLAG] = False
    seed: int = 0
    sandbox: str = "auto"
    sandbox_python: Path | None = None
    base_url: str | None = None

    def spec(self, query: str, tools: tuple[str, ...], *, limits: Limits, parallel: int) -> RunSpec:
        """The run that was chosen.

        Raises:
            UserError: two options contradict each other, or there is no such history.
        """
        from treewright.core.errors import UserError
        from treewright.core.task import ToolTask
        from treewright.solving import default_model
        from treewright.spec import RunSpec, ToolChoices

        if self.yes and self.dry_run:
            raise UserError("--yes and --dry-run contradict each other: give one of them")
        if self.history not in (None, "full", "summary"):
            raise UserError(f"unknown history {self.history!r}: choose full or summary")
        choices = ToolChoices(
            layers=self.layers,
            width=self.width,
            strict=self.strict,
            history=self.history,  # type: ignore[arg-type]  # checked above
            adaptive=self.adaptive,
            prompts=str(self.prompts) if self.prompts is not None else None,
            pool=tuple(self.pool or ()),
            only=tuple(self.only or ()),
            pure=tuple(self.pure or ()),
            idempotent=tuple(self.idempotent or ()),
            helpers=self.helpers,
            commits="yes" if self.yes else "dry_run" if self.dry_run else "ask",
        )
        return RunSpec(
            task=ToolTask(query, tools, name=" ".join(query.split())[:40]),
            model=self.model or default_model(),
            strategy=self.strategy,
            preset=self.preset,  # type: ignore[arg-type]  # checked when the run starts
            limits=limits,
            parallel=parallel,
            seed=self.seed,
            sandbox=self.sandbox,
            sandbox_python=str(self.sandbox_python) if self.sandbox_python is not None else None,
            base_url=self.base_url,
            tools=choices,
        )


DEFAULTS = ToolOptions()


def ask(
    question: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    tools: Annotated[list[str] | None, Parameter(negative="")] = None,
    web: Annotated[bool, FLAG] = False,
    options: ToolOptions = DEFAULTS,
    budget: Annotated[list[str] | None, Parameter(negative="", allow_leading_hyphen=True)] = None,
    parallel: int = 3,
    journal: Path | None = None,
    json: JSON = False,
    quiet: Annotated[bool, FLAG] = False,
    out: Path | None = None,
) -> int:
    """Answer a question with a tree of programs that call your tools.

    Parameters
    ----------
    question
        What to find out or to do, in words; - for standard input.
    tools
        A source of tools: a Python file (tools.py, or tools.py:NAME,NAME), a .json file with mcpServers, mcp:COMMAND or mcp+URL
        for one MCP server, an OpenAPI 3 document. May be repeated. `treewright tools SOURCE` lists what is in one.
    web
        Let programs open web pages too; the same as --tools web.
    budget
        The most it may spend: a number of programs, and tokens=…, usd=…, seconds=…, calls=…, tool_calls=…, with commas or
        repeated. Default: 39 programs.
    parallel
        Most programs at work at once.
    journal
        File the run is recorded in. Default: TREEWRIGHT_JOURNAL, else the user's own.
    json
        Print one JSON object instead of the answer.
    quiet
        Show no progress.
    out
        Write the answer to this file.
    """
    from treewright.answering import EXECUTIONS
    from treewright.cli.consent import ask_user
    from treewright.cli.options import read_budget
    from treewright.core.budget import Limits
    from treewright.opening import Given
    from treewright.runs import start

    limits = read_budget(budget or (), default=Limits(executions=EXECUTIONS))
    query = _standard_input() if question == "-" else question
    spec = options.spec(query, (*(tools or ()), *(["web"] if web else [])), limits=limits, parallel=parallel)
    refuse_unwritable(out)
    given = Given(allow=ask_user())
    return carry_out(
        lambda record, sink: start(spec, journal=record, sinks=[sink], given=given), journal, Manner(json, quiet, out)
    )


def _standard_input() -> str:
    from treewright.core.errors import UserError

    try:
        return sys.stdin.read() if sys.stdin is not None else ""
    except UnicodeDecodeError as error:
        raise UserError(f"standard input is not {error.encoding} text ({error.reason}): give the question as text") from error
