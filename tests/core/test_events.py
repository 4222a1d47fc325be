"""Events: a closed union of frozen values, each told apart by its kind."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import Any, get_args, get_origin

import pytest

from treewright.core import events
from treewright.core.budget import Spend
from treewright.core.events import (
    BudgetChanged,
    CommitBegun,
    CommitEnded,
    Event,
    ModelCalled,
    NodeEvaluated,
    NodeExpanded,
    ProgramRan,
    RunEnded,
    RunStarted,
    ToolCalled,
)
from treewright.core.tree import Evaluation, Proposal, Verdict

MEMBERS: list[type[Any]] = [get_origin(member) or member for member in get_args(Event)]
EXAMPLES: list[Event] = [
    RunStarted({"task": "add"}),
    NodeExpanded("0", (Proposal("try"),)),
    NodeEvaluated("0.0", "seen", Evaluation(0.5, Verdict.KEEP)),
    BudgetChanged(1, Spend(calls=1)),
    ModelCalled(1, "0", "solver", 0, "d1", "tiny", (("user", "hello"),), None, error="cut"),
    ProgramRan("0.0", "process", 1, 2, 0.25),
    ToolCalled("0.0", "weather", "{}", None, error="no such city"),
    CommitBegun("0.0", 1, "send", {"to": "ann"}),
    CommitEnded("0.0", 1, "done"),
    RunEnded("exhausted", True, False, False, "", "nothing passed", Spend()),
]


def test_the_union_names_every_event_there_is() -> None:
    written = {value for value in vars(events).values() if is_dataclass(value) and value.__module__ == events.__name__}
    assert written == set(MEMBERS) == {type(example) for example in EXAMPLES}


def test_the_kind_of_an_event_is_its_name() -> None:
    kinds = {type(example).__name__: example.kind for example in EXAMPLES}
    assert kinds == {name: re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in kinds}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.kind)
def test_an_event_is_frozen_and_holds_nothing_but_its_fields(example: Event) -> None:
    for name in [field.name for field in fields(example)]:
        with pytest.raises(FrozenInstanceError):
            setattr(example, name, None)
    assert not hasattr(example, "__dict__")


def test_events_are_equal_when_they_say_the_same() -> None:
    move = NodeExpanded("0", (Proposal("try", 0.5),))
    assert move == NodeExpanded("0", (Proposal("try", 0.5),))
    assert move != NodeExpanded("0", (Proposal("try", 0.25),))


def test_a_call_that_cost_nothing_says_so() -> None:
    call = ModelCalled(1, "0", "solver", 0, "d1", "tiny", (), "hello")
    assert (call.spent, call.error, call.finish, call.input_tokens, call.cached_tokens) == (Spend(), "", "stop", 0, 0)
    assert RunStarted({}).resumed == 0
