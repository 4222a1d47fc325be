"""How strategies are put together: names, shapes in the journal, settings from presets and choices, pools of models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scripted_tools import ScriptedTool, ScriptedToolbox
from tools_desk import SPEC, TASK, ByNode, Chatter, Desk, code, events, scripted, tools_desk
from tree_checks import facts
from treewright.assembly import PROGRAMS, STRATEGIES, Ports, named, shapes_of
from treewright.core.events import Event, NodeEvaluated, NodeExpanded, ProgramRan
from treewright.core.tree import Evaluation, Proposal, Verdict
from treewright.journal.base import PLAIN
from treewright.journal.sqlite import SQLiteJournal
from treewright.roles.tool_programs import ProgramRun
from treewright.runs import past_of
from treewright.sandbox.process import ProcessSandbox
from treewright.spec import ToolChoices, plain_spec, spec_from_plain
from treewright.strategies.baselines.turns import Turns
from treewright.strategies.tree_of_code import TreeOfCode
from treewright.strategies.tree_of_code_settings import CODE_PROGRAM, PAPER, RECOMMENDED, Draw, ProgramOutcome, Settings
from treewright.tools.effects import Effects
from treewright.tools.planning import Planned


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with tools_desk(tmp_path) as desk:
        yield desk


def built(**spec: Any) -> TreeOfCode:
    toolbox = Effects(ScriptedToolbox([ScriptedTool("look")]), mode="ask")
    ports = Ports(replace(SPEC, **spec), (Chatter(()),), ProcessSandbox(), lambda _: None, toolbox)
    made = STRATEGIES[ports.spec.strategy].build(ports)
    assert isinstance(made, TreeOfCode)
    return made


def test_each_strategy_is_for_one_kind_of_task() -> None:
    assert named("tools") == ["tree-of-code", "codeact", "react", "code-program"]
    assert set(named("code")) | set(named("tools")) == set(STRATEGIES)
    assert "codetree" in named("code")


@pytest.mark.parametrize(("preset", "chosen"), [("paper", PAPER), ("recommended", RECOMMENDED)])
def test_a_preset_is_the_settings(preset: str, chosen: Settings) -> None:
    assert built(preset=preset).settings == chosen
    assert built(preset=preset).programmer.history == chosen.history
    assert built(preset=preset).programmer.temperature == chosen.temperature


def test_choices_change_the_preset_one_by_one() -> None:
    choices = ToolChoices(layers=2, width=5, strict=True, history="full", adaptive=False)
    assert built(tools=choices).settings == replace(RECOMMENDED, layers=2, width=5, strict=True, history="full", adaptive=False)
    assert built(tools=ToolChoices(strict=False), preset="paper").settings == PAPER


def test_a_single_program_may_be_strict_and_nothing_else() -> None:
    assert built(strategy="code-program").settings == CODE_PROGRAM
    strict = built(strategy="code-program", tools=ToolChoices(strict=True, layers=3, width=3))
    assert strict.settings == replace(CODE_PROGRAM, strict=True)


def test_prompts_come_from_the_folder_that_was_named(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("Be brief.")
    made = built(tools=ToolChoices(prompts=str(tmp_path)))
    assert [(prompt.name, prompt.text) for prompt in made.programmer.prompts] == [("mine", "Be brief.")]
    assert len(built().programmer.prompts) >= 3


def test_the_baselines_are_turns_on_the_first_model() -> None:
    toolbox = Effects(ScriptedToolbox([ScriptedTool("look")]), mode="ask")
    models = (Chatter((), "one"), Chatter((), "two"))
    for name in ("codeact", "react"):
        ports = Ports(replace(SPEC, strategy=name), models, ProcessSandbox(), lambda _: None, toolbox)
        made = STRATEGIES[name].build(ports)
        assert isinstance(made, Turns)
        assert (made.actor.role, made.actor.ask.model.name) == (name, "one")
        assert "look" in made.actor.tools


def test_two_models_are_drawn_from_and_each_call_is_on_record_with_its_own(desk: Desk) -> None:
    journal, models = desk.journal(), (ByNode(name="one"), ByNode(name="two"))
    solution = desk.go(journal, models, ScriptedToolbox(), tools=ToolChoices(layers=2, adaptive=False))
    draws = {node.id: node.proposal.action.model for node in solution.tree.nodes.values() if node.proposal is not None}
    assert set(draws.values()) == {0, 1}
    for number, model in enumerate(models):
        assert {request.caller.node for request in model.asked} == {node for node, drawn in draws.items() if drawn == number}
    called = {call.node: call.model for call in past_of(journal, "run").calls}
    assert called == {node: ("one", "two")[drawn] for node, drawn in draws.items()}


def test_a_program_that_ran_is_an_event(desk: Desk) -> None:
    journal = desk.journal()
    desk.go(journal, ByNode({"0.0": "final_answer(5)"}, "raise KeyError"), ScriptedToolbox(), tools=ToolChoices(layers=1))
    ran = {event.node: (event.passed, event.total, event.level) for event in events(journal) if isinstance(event, ProgramRan)}
    assert ran == {"0.0": (1, 1, "process"), "0.1": (0, 1, "process"), "0.2": (0, 1, "process")}


texts = st.text(st.characters(exclude_categories=()), max_size=20)
plain: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 60), 1 << 60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(texts | st.just("§"), plain, max_size=3)
program_runs = st.builds(
    ProgramRun, texts, texts, texts, texts, st.integers(0, 99), st.integers(0, 99),
    st.lists(st.builds(Planned, st.integers(1, 9), texts, arguments), max_size=3).map(tuple), st.floats(0, 99), st.booleans(),
)  # fmt: skip


def test_the_journal_gives_outcomes_back_as_they_were_with_the_arguments_of_noted_calls(tmp_path: Path) -> None:
    numbers = iter(range(1000))
    with closing(SQLiteJournal(tmp_path / "j.db")) as journal:

        @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(st.builds(ProgramOutcome, texts, texts, program_runs), st.builds(Draw, st.integers(0, 9), texts))
        def check(outcome: ProgramOutcome, draw: Draw) -> None:
            run = f"run-{next(numbers)}"
            written: list[Event] = [
                NodeExpanded("0", (Proposal(draw),)),
                NodeEvaluated("0.0", outcome, Evaluation(1.0, Verdict.KEEP)),
            ]
            for event in written:
                journal.append(run, event)
            assert [entry.event for entry in journal.read(run, PROGRAMS)] == written

        check()


def test_the_shapes_follow_from_the_spec_and_are_plain_for_a_strategy_that_is_not_known() -> None:
    assert shapes_of(plain_spec(SPEC)) is PROGRAMS
    assert shapes_of({"strategy": "codeact"}) is PROGRAMS
    assert shapes_of({"strategy": "from the future"}) is PLAIN
    assert shapes_of({}) is PLAIN


def test_a_spec_with_all_choices_comes_back_as_it_was() -> None:
    choices = ToolChoices(
        layers=2, width=4, strict=True, history="summary", adaptive=False, prompts="p", pool=["a", "b"], commits="dry_run"
    )
    spec = replace(SPEC, tools=choices, task=replace(TASK, tools=("tools.py", "given:look")), seed=3)
    assert spec_from_plain(plain_spec(spec)) == spec
    assert choices.pool == ("a", "b")


def test_the_tree_on_record_is_the_tree_of_the_search(desk: Desk) -> None:
    journal = desk.journal()
    solution = desk.go(journal, ByNode({"0.0.1": "final_answer('x')"}, "print(1 / 0)"), ScriptedToolbox())
    assert facts(past_of(journal, "run").tree) == facts(solution.tree)


@pytest.mark.parametrize("strategy", ["codeact", "react"])
def test_the_baselines_answer_over_the_whole_path(desk: Desk, strategy: str) -> None:
    box = ScriptedToolbox([scripted("look", lambda x: x + 1, x="integer")])
    replies = {
        "codeact": [code("x = look(x=1)\nprint(x)"), code("final_answer(x)")],
        "react": ['{"tool": "look", "arguments": {"x": 1}}', '{"tool": "final_answer", "arguments": {"answer": 2}}'],
    }
    solution = desk.go(desk.journal(), Chatter(replies[strategy]), box, strategy=strategy)
    assert (solution.answer, solution.verified, solution.ended) == ("2", True, "accepted")
    assert solution.usage.executions == 2
