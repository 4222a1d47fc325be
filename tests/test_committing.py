"""Calls that are not taken back: noted by every program, made once, for the chosen one, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scripted_tools import Act, ScriptedToolbox, failing
from tools_desk import SPEC, ByNode, Chatter, Desk, code, dying, ended, events, scripted, tools_desk
from treewright.core.budget import Limits
from treewright.core.events import CommitBegun, CommitEnded, Event, NodeEvaluated, RunEnded
from treewright.journal.base import Journal
from treewright.runs import past_of, start
from treewright.spec import Solution, ToolChoices
from treewright.tools.base import Card

MAIL = "send(to='ann')\n"
YES = ToolChoices(commits="yes")
ONCE = [{"to": "ann"}]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with tools_desk(tmp_path) as desk:
        yield desk


def post(act: Act = lambda to: "sent") -> ScriptedToolbox:
    """A toolbox that sends mail."""
    return ScriptedToolbox([scripted("send", act, "commit", to="string"), scripted("look", lambda: 1)])


def commits(journal: Journal) -> list[tuple[str, str, int, str]]:
    """Kind, node, number and tool or fate of each event of a commit."""
    told: list[tuple[str, str, int, str]] = []
    for event in events(journal):
        match event:
            case CommitBegun(node, number, tool):
                told.append(("begun", node, number, tool))
            case CommitEnded(node, number, fate):
                told.append(("ended", node, number, fate))
    return told


def test_39_programs_send_one_mail(desk: Desk) -> None:
    late = {"0.2.2.2": f"{MAIL}final_answer('sent')"}
    journal, box = desk.journal(), post()
    choices = ToolChoices(commits="yes", adaptive=False)
    solution = desk.go(journal, ByNode(late, f"{MAIL}1 / 0"), box, tools=choices, limits=Limits(executions=39))
    assert (solution.usage.executions, solution.answer, solution.verified) == (39, "sent", True)
    assert [(node, tool) for node, tool, _ in box.calls] == [("commit", "send")]
    assert box.named("send") == ONCE
    assert commits(journal) == [("begun", "0.2.2.2", 1, "send"), ("ended", "0.2.2.2", 1, "done")]
    assert solution.reason.endswith("; send: done")


def test_the_calls_of_the_winner_alone_are_made_in_their_order(desk: Desk) -> None:
    programs = {
        "0.0": "send(to='bob')\nfinal_answer(1)",
        "0.1": "send(to='ann')\nsend(to='cat')\nfinal_answer(2)",
        "0.2": "send(to='dan')\nfinal_answer(2)",
    }
    box = post()
    assert desk.go(desk.journal(), ByNode(programs), box, tools=YES).answer == "2"
    assert box.named("send") == [{"to": "ann"}, {"to": "cat"}]


@pytest.mark.parametrize("strategy", ["codeact", "react"])
def test_calls_noted_in_earlier_turns_are_made_once(desk: Desk, strategy: str) -> None:
    replies = {
        "codeact": [code("send(to='ann')"), code("look()"), code("final_answer('sent')")],
        "react": ['{"tool": "send", "arguments": {"to": "ann"}}', '{"tool": "look", "arguments": {}}',
                  '{"tool": "final_answer", "arguments": {"answer": "sent"}}'],
    }  # fmt: skip
    box = post()
    solution = desk.go(desk.journal(), Chatter(replies[strategy]), box, tools=YES, strategy=strategy)
    assert (solution.answer, box.named("send")) == ("sent", ONCE)


def test_without_success_nothing_is_sent(desk: Desk) -> None:
    journal, box = desk.journal(), post()
    solution = desk.go(journal, ByNode(otherwise=f"{MAIL}print('partial')\n1 / 0"), box, tools=YES)
    assert (solution.answer, solution.verified) == ("partial", False)
    assert (box.calls, commits(journal)) == ([], [])


def sent_by(desk: Desk, mode: str, allow: Any, program: str = f"{MAIL}final_answer(1)") -> tuple[Solution, ScriptedToolbox]:
    box, choices = post(), ToolChoices(commits=mode)  # type: ignore[arg-type]  # one of the three
    return desk.go(desk.journal(), ByNode(otherwise=program), box, allow=allow, tools=choices), box


def asked_first(answers: Sequence[bool], asked: list[tuple[str, Mapping[str, Any]]]) -> Any:
    async def allow(card: Card, arguments: Mapping[str, Any]) -> bool:
        asked.append((card.name, arguments))
        return answers[len(asked) - 1]

    return allow


def test_the_user_is_asked_before_each_call_with_its_arguments(desk: Desk) -> None:
    asked = list[tuple[str, Mapping[str, Any]]]()
    two = f"{MAIL}send(to='bob')\nfinal_answer(1)"
    solution, box = sent_by(desk, "ask", asked_first([True, True], asked), two)
    assert asked == [("send", {"to": "ann"}), ("send", {"to": "bob"})]
    assert box.named("send") == [{"to": "ann"}, {"to": "bob"}]
    assert solution.reason.endswith("send: done; send: done")


def test_what_is_not_allowed_is_not_made_and_neither_is_what_follows(desk: Desk) -> None:
    asked = list[tuple[str, Mapping[str, Any]]]()
    three = f"{MAIL}send(to='bob')\nsend(to='cat')\nfinal_answer(1)"
    solution, box = sent_by(desk, "ask", asked_first([True, False], asked), three)
    assert box.named("send") == ONCE
    assert len(asked) == 2
    assert solution.reason.endswith("send: done; send: not allowed; send: not tried")
    assert (solution.answer, solution.verified) == ("1", True)


def test_where_there_is_nobody_to_ask_nothing_is_made(desk: Desk) -> None:
    solution, box = sent_by(desk, "ask", None)
    assert box.calls == []
    assert solution.reason.endswith("send: not allowed, as there was nobody to ask")


def test_yes_asks_nobody(desk: Desk) -> None:
    asked = list[tuple[str, Mapping[str, Any]]]()
    assert sent_by(desk, "yes", asked_first([], asked))[1].named("send") == ONCE
    assert asked == []


def test_a_dry_run_makes_and_asks_nothing(desk: Desk) -> None:
    asked = list[tuple[str, Mapping[str, Any]]]()
    solution, box = sent_by(desk, "dry_run", asked_first([], asked))
    assert (box.calls, asked) == ([], [])
    assert solution.reason.endswith("; 1 noted call was not made (dry run)")
    solution, _ = sent_by(desk, "dry_run", None, f"{MAIL}{MAIL}final_answer(1)")
    assert solution.reason.endswith("; 2 noted calls were not made (dry run)")


@pytest.mark.parametrize(
    ("failure", "fate", "told"),
    [("raised", "failed", "send: failed (no such box)"), ("timeout", "unknown", "send: may have happened (no such box)")],
)
def test_what_became_of_a_call_is_told_and_on_record(desk: Desk, failure: str, fate: str, told: str) -> None:
    journal = desk.journal()
    box = post(failing(failure, "no such box"))
    solution = desk.go(journal, ByNode(otherwise=f"{MAIL}final_answer(1)"), box, tools=YES)
    assert solution.reason.endswith(told)
    assert commits(journal)[-1] == ("ended", "0.0", 1, fate)
    assert len(box.named("send")) == 1


def test_a_budget_of_tool_calls_holds_for_them_too(desk: Desk) -> None:
    box = post()
    program = f"look()\n{MAIL}final_answer(1)"
    solution = desk.go(
        desk.journal(), ByNode(otherwise=program), box, limits=Limits(tool_calls=1),
        tools=ToolChoices(layers=1, width=1, commits="yes"),
    )  # fmt: skip
    assert box.named("send") == []
    assert solution.reason.endswith("send: failed (the budget of tool_calls is spent)")
    assert solution.usage.tool_calls == 1


def crash(
    desk: Desk, journal: Journal, box: ScriptedToolbox, where: type[Event], program: str = f"{MAIL}final_answer(1)"
) -> None:
    """Run until right after the first event of a kind, then break down."""
    sinks = [dying(lambda event: isinstance(event, where))]
    with pytest.raises(OSError, match="the power is gone"):
        desk.go(journal, ByNode(otherwise=program), box, tools=YES, sinks=sinks)


def test_a_call_that_was_begun_when_the_process_died_is_never_repeated(desk: Desk) -> None:
    journal, box = desk.journal(), post()
    two = f"{MAIL}send(to='bob')\nfinal_answer(1)"
    crash(desk, journal, box, CommitBegun, two)
    assert box.named("send") == [], "it died before the call; nobody can know"
    for _ in range(2):
        solution = desk.resume(journal, ByNode(), box)
        assert box.named("send") == []
        assert (solution.answer, solution.verified) == ("1", True)
        assert "send: may have happened (an earlier attempt broke off while send was called" in solution.reason
        assert solution.reason.endswith("send: not tried")
    assert commits(journal) == [("begun", "0.0", 1, "send")]


def test_a_call_that_was_made_when_the_process_died_is_done_and_the_rest_follows(desk: Desk) -> None:
    journal, box = desk.journal(), post()
    crash(desk, journal, box, CommitEnded, f"{MAIL}send(to='bob')\nfinal_answer(1)")
    assert box.named("send") == ONCE
    assert desk.resume(journal, ByNode(), box).reason.endswith("send: done; send: done")
    assert box.named("send") == [*ONCE, {"to": "bob"}]


def test_a_run_that_died_after_all_calls_makes_none_again(desk: Desk) -> None:
    journal, box = desk.journal(), post()
    crash(desk, journal, box, RunEnded)
    assert desk.resume(journal, ByNode(), box).answer == "1"
    assert box.named("send") == ONCE


def test_a_finished_run_that_is_resumed_makes_no_call(desk: Desk) -> None:
    journal, box = desk.journal(), post()
    first = desk.go(journal, ByNode(otherwise=f"{MAIL}final_answer(1)"), box, tools=YES)
    again = desk.resume(journal, ByNode(), box, limits=Limits(executions=99))
    assert (again.answer, again.reason) == (first.answer, first.reason)
    assert box.named("send") == ONCE


def test_another_winner_after_a_raised_budget_never_adds_calls(desk: Desk) -> None:
    programs = {name: f"send(to='{name}')\nfinal_answer({answer})" for name, answer in (("0.0", 1), ("0.1", 2), ("0.2", 2))}
    journal, box = desk.journal(), post()
    first = desk.go(journal, ByNode(programs), box, tools=YES, limits=Limits(executions=1), parallel=1)
    assert (first.answer, first.ended, box.named("send")) == ("1", "executions", [{"to": "0.0"}])
    more = desk.resume(journal, ByNode(programs), box, limits=Limits(executions=39))
    assert more.answer == "2"
    assert box.named("send") == [{"to": "0.0"}]
    assert more.reason.endswith("1 noted call was not made: those of an earlier answer of this run were")


def test_the_same_winner_after_a_raised_budget_makes_no_call_again(desk: Desk) -> None:
    journal, box = desk.journal(), post()
    model = ByNode(otherwise=f"{MAIL}final_answer(1)")
    desk.go(journal, model, box, tools=YES, limits=Limits(executions=1), parallel=1)
    more = desk.resume(journal, model, box, limits=Limits(executions=39))
    assert (more.usage.executions, box.named("send")) == (3, ONCE)
    assert more.reason.endswith("send: done")


def test_a_run_that_is_interrupted_sends_nothing_yet(desk: Desk) -> None:
    journal, box = desk.journal(), post()

    def stop(event: Event) -> None:
        if isinstance(event, NodeEvaluated):
            run.stop()

    model = ByNode(otherwise=f"{MAIL}final_answer(1)")
    spec = replace(SPEC, tools=YES, parallel=1)
    run = start(spec, journal=journal, run_id="run", sinks=[stop], given=desk.given(model, box))
    assert asyncio.run(run.go()).ended == "interrupted"
    assert (box.named("send"), commits(journal), ended(journal).finished) == ([], [], False)
    assert desk.resume(journal, model, box).reason.endswith("send: done")
    assert box.named("send") == ONCE


def test_what_was_begun_and_ended_is_part_of_the_past(desk: Desk) -> None:
    journal, box = desk.journal(), post()
    solution = desk.go(journal, ByNode(otherwise=f"{MAIL}final_answer(1)"), box, tools=YES)
    past = past_of(journal, "run")
    assert past.commits == [CommitBegun("0.0", 1, "send", {"to": "ann"}), CommitEnded("0.0", 1, "done")]
    assert past.spent == solution.usage
    assert solution.usage.tool_calls == 1


def test_a_call_given_the_result_of_a_planned_call_is_refused_inside_the_program(desk: Desk) -> None:
    box = post()
    solution = desk.go(desk.journal(), ByNode(otherwise="send(to=str(send(to='ann')))\nfinal_answer(1)"), box, tools=YES)
    assert (solution.verified, box.calls) == (False, [])
