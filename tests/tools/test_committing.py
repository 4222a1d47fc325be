"""After a search: each planned call is asked about, written down before and after, made at most once, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from scripted_tools import ScriptedTool, ScriptedToolbox, failing
from treewright.core.errors import BudgetSpent
from treewright.tools.base import Card, Result
from treewright.tools.committing import Done, commit
from treewright.tools.planning import Planned

NOTES = tuple(Planned(number, "send", {"to": name}) for number, name in enumerate(("ann", "bob", "cat"), 1))


class Desk:
    """A toolbox, a user who answers, and a record."""

    def __init__(self, act: Any = lambda **arguments: "sent", allowed: Iterable[str] = ("ann", "bob", "cat")) -> None:
        self.log: list[tuple[str, Any]] = []
        self.toolbox = ScriptedToolbox([ScriptedTool("send", act, "commit")])
        self.allowed = set(allowed)

    def commit(self, *earlier: Planned | Done, planned: tuple[Planned, ...] = NOTES) -> list[str]:
        async def allow(card: Card, arguments: Any) -> bool:
            self.log.append(("ask", arguments["to"]))
            return arguments["to"] in self.allowed

        def before(call: Planned) -> None:
            self.log.append(("before", call.arguments["to"]))

        def after(done: Done) -> None:
            self.log.append(("after", (done.planned.arguments["to"], done.fate)))

        self.ends = asyncio.run(commit(planned, self.toolbox, allow=allow, before=before, after=after, earlier=earlier))
        assert [end.planned for end in self.ends] == list(planned)
        return [end.fate for end in self.ends]


def test_each_call_is_asked_about_written_down_made_and_written_down() -> None:
    desk = Desk()
    assert desk.commit(planned=NOTES[:2]) == ["done", "done"]
    assert desk.log == [
        ("ask", "ann"), ("before", "ann"), ("after", ("ann", "done")),
        ("ask", "bob"), ("before", "bob"), ("after", ("bob", "done")),
    ]  # fmt: skip
    assert desk.toolbox.calls == [("commit", "send", {"to": "ann"}), ("commit", "send", {"to": "bob"})]
    assert desk.ends[0].result == Result("sent")


def test_a_refusal_stops_the_rest() -> None:
    desk = Desk(allowed=["ann", "cat"])
    assert desk.commit() == ["done", "refused", "not_reached"]
    assert desk.toolbox.named("send") == [{"to": "ann"}]
    assert ("ask", "cat") not in desk.log


@pytest.mark.parametrize(
    ("failure", "fate"),
    [("raised", "failed"), ("unavailable", "failed"), ("timeout", "unknown"), ("too_large", "done"), ("not_json", "done")],
)
def test_a_failure_stops_the_rest_unless_the_work_was_done(failure: str, fate: str) -> None:
    desk = Desk(failing(failure, "so"))
    rest = ["done", "done"] if fate == "done" else ["not_reached"] * 2
    assert desk.commit() == [fate, *rest]
    assert ("after", ("ann", fate)) in desk.log


def test_what_was_done_before_is_not_done_again() -> None:
    desk = Desk()
    assert desk.commit(NOTES[0], Done(NOTES[0], "done", Result("sent"))) == ["done"] * 3
    assert desk.toolbox.named("send") == [{"to": "bob"}, {"to": "cat"}]


def test_what_broke_off_is_unknown_is_not_repeated_and_stops_the_rest() -> None:
    desk = Desk()
    assert desk.commit(NOTES[0], Done(NOTES[0], "done"), NOTES[1]) == ["done", "unknown", "not_reached"]
    assert "it may have happened" in desk.ends[1].result.message
    assert desk.toolbox.calls == []
    assert desk.log == []


def test_what_was_unknown_stays_unknown_and_what_failed_may_be_tried_again() -> None:
    assert Desk().commit(NOTES[0], Done(NOTES[0], "unknown"), planned=NOTES[:1]) == ["unknown"]
    assert Desk().commit(NOTES[0], Done(NOTES[0], "failed"), planned=NOTES[:1]) == ["done"]
    assert Desk().commit(NOTES[0], Done(NOTES[0], "failed"), NOTES[0], planned=NOTES[:1]) == ["unknown"]


def test_a_tool_that_is_gone_and_a_budget_that_is_spent_are_failures_and_nothing_was_done() -> None:
    assert Desk().commit(planned=(Planned(1, "gone", {"to": "x"}),)) == ["failed"]

    def spent(**arguments: Any) -> None:
        raise BudgetSpent("tool_calls")

    desk = Desk(spent)
    assert desk.commit(planned=NOTES[:1]) == ["failed"]
    assert ("after", ("ann", "failed")) in desk.log
