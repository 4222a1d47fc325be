"""What the nodes of Tree-of-Code hold, its settings, and its presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from treewright.core.errors import UserError
from treewright.core.tree import Node, Tree
from treewright.roles.tool_programs import ProgramRun
from treewright.roles.tree_of_code import History


@dataclass(frozen=True, slots=True)
class Draw:
    """What a node tries: a program by this model of the pool, under this prompt of the pool."""

    model: int
    prompt: str


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """What a node showed.

    Args:
        thought: what the model wrote before its program.
        program: the program; "" when it wrote none.
        run: what came of it.
    """

    thought: str
    program: str
    run: ProgramRun


ProgramNode = Node[Draw, ProgramOutcome]
ProgramTree = Tree[Draw, ProgramOutcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How Tree-of-Code searches. The defaults are the paper's.

    Args:
        layers: L, most programs on a path, >= 1 (paper: 3). "3-3" names layers, then nodes.
        width: M, programs of the first layer and below each failed one, >= 1 (paper: 3). The virtual root holds the task.
        strict: a run in which a tool reported an error is a failure, even if the program caught it.
        history: what a child is shown of its ancestors; the paper shows all and leaves the question open.
        adaptive: a failure that says plainly what to mend (no program, a syntax error, a wrong call) gets one child.
        distinct: siblings draw different pairs of model and prompt as long as there are any.
        temperature: of the programs, >= 0.
        worded: the model puts every winning answer into words; off, only one that is long.
    """

    layers: int = 3
    width: int = 3
    strict: bool = False
    history: History = "full"
    adaptive: bool = False
    distinct: bool = False
    temperature: float = 0.7
    worded: bool = True

    def __post_init__(self) -> None:
        if self.layers < 1 or self.width < 1:
            raise UserError(f"{self.layers} layers of width {self.width} hold no program: give at least 1 of each")


ToolPreset = Literal["paper", "recommended"]

#: The paper's tree as it stands.
PAPER = Settings()
#: Siblings that differ, ancestors in brief, short answers as they are.
RECOMMENDED = Settings(history="summary", adaptive=True, distinct=True, worded=False)
PRESETS: dict[str, Settings] = {"paper": PAPER, "recommended": RECOMMENDED}
#: A single program, no tree: the paper's "1-1".
CODE_PROGRAM = Settings(layers=1, width=1, worded=False)
