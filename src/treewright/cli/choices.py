"""What can be chosen for a search, the same for every command that starts one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from treewright.core.budget import Limits
    from treewright.core.task import CodeTask
    from treewright.spec import RunSpec


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The options of a search.

    Parameters
    ----------
    model
        Who writes: local, local:FILE.gguf, openai:NAME, anthropic:NAME, ..., scripted:FILE. Default: TREEWRIGHT_MODEL,
        else local.
    strategy
        codetree, codetree-bfs, codetree-dfs, strategy-list, resample or direct.
    preset
        recommended, paper, official (the authors' script) or small (no Critic). Default: recommended, small with local.
    without
        Leave a part of codetree out: verification, abort or scoring. May be repeated.
    seed
        Of all randomness of the search.
    sandbox
        Isolation of the programs: auto takes the strongest that works; see `treewright sandbox`.
    sandbox_python
        A virtual environment whose packages the programs may use, read-only.
    warm
        A package to import once for all programs, such as numpy. May be repeated.
    base_url
        Address of an OpenAI-compatible server.
    """

    model: str | None = None
    strategy: str = "codetree"
    preset: str | None = None
    without: Annotated[list[str] | None, Parameter(negative="")] = None
    seed: int = 0
    sandbox: str = "auto"
    sandbox_python: Path | None = None
    warm: Annotated[list[str] | None, Parameter(negative="")] = None
    base_url: str | None = None

    @property
    def model_name(self) -> str:
        """The model that was named, else the environment's, else the embedded one."""
        from treewright.solving import default_model

        return self.model or default_model()

    def spec(self, task: CodeTask, *, limits: Limits, parallel: int) -> RunSpec:
        """The run of `task` that was chosen.

        Raises:
            UserError: there is no such preset.
        """
        from treewright.solving import default_preset
        from treewright.spec import RunSpec
        from treewright.strategies.codetree_presets import preset_named

        name = self.model_name
        return RunSpec(
            task=task,
            model=name,
            strategy=self.strategy,
            preset=preset_named(self.preset or default_preset(name)),
            without=tuple(self.without or ()),
            limits=limits,
            parallel=parallel,
            seed=self.seed,
            sandbox=self.sandbox,
            sandbox_python=str(self.sandbox_python) if self.sandbox_python is not None else None,
            warm=tuple(self.warm or ()),
            base_url=self.base_url,
        )


DEFAULTS = Choices()
