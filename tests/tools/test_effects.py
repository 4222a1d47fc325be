"""What a search does to the world: pure results are shared, commits are only noted, what can be undone is undone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripted_tools import ScriptedTool, ScriptedToolbox, failing, waiting
from treewright.core.errors import BudgetSpent
from treewright.tools.base import Card, Result
from treewright.tools.committing import Done, commit
from treewright.tools.effects import Effects, Mode
from treewright.tools.planning import Planned

PURE = "pure"


def in_one_session(toolbox: ScriptedToolbox, *calls: tuple[str, dict[str, Any]], mode: Mode = "ask") -> tuple[Any, ...]:
    """Results of the calls, then the notes, then what is stuck."""

    async def run() -> tuple[Any, ...]:
        async with Effects(toolbox, mode=mode) as effects:
            async with effects.session("0.1") as session:
                results = [await session.call(name, arguments) for name, arguments in calls]
            return results, session.planned, effects.stuck

    return asyncio.run(run())


def test_a_pure_result_is_asked_for_once_in_the_whole_search() -> None:
    toolbox = ScriptedToolbox([ScriptedTool("look", lambda **a: {"rows": [a]}, "pure")])

    async def run() -> list[Any]:
        values = []
        async with Effects(toolbox, mode="ask") as effects:
            for node in ("0.1", "0.2"):
                async with effects.session(node) as session:
                    for arguments in ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}):
                        values.append((await session.call("look", arguments)).value)
                        values[-1]["rows"].append("mine")
        return values

    assert asyncio.run(run()) == [{"rows": [{"a": 1, "b": 2}, "mine"]}] * 4
    assert toolbox.calls == [("0.1", "look", {"a": 1, "b": 2})]
    assert toolbox.sessions == 0


def test_idempotent_tools_and_pure_ones_with_a_state_are_called_each_time() -> None:
    state = ScriptedTool("page", effect="pure", card=Card("page", "", effect="pure", stateful=True))
    toolbox = ScriptedToolbox([ScriptedTool("put"), state])
    in_one_session(toolbox, *[("put", {}), ("page", {})] * 3)
    assert len(toolbox.calls) == 6


@pytest.mark.parametrize(
    ("failure", "calls"), [("timeout", 2), ("unavailable", 2), ("raised", 1), ("invalid", 1), ("too_large", 1)]
)
def test_failures_that_may_pass_are_not_kept(failure: str, calls: int) -> None:
    toolbox = ScriptedToolbox([ScriptedTool("look", failing(failure, "no"), "pure")])
    results, _, _ = in_one_session(toolbox, ("look", {}), ("look", {}))
    assert results == [Result(failure=failure, message="no")] * 2  # type: ignore[arg-type]  # names of failures
    assert len(toolbox.calls) == calls


def test_calls_under_way_are_shared_and_who_is_cancelled_takes_nothing_from_the_others() -> None:
    async def run() -> tuple[Any, ...]:
        release = asyncio.Event()
        toolbox = ScriptedToolbox([ScriptedTool("look", waiting(release.wait, 7), "pure")])
        async with Effects(toolbox, mode="ask") as effects, effects.session() as session:
            waiters = [asyncio.ensure_future(session.call("look", {})) for _ in range(3)]
            await asyncio.sleep(0)
            waiters[0].cancel()
            await asyncio.sleep(0)
            release.set()
            ends = await asyncio.gather(*waiters, return_exceptions=True)
        return ends, len(toolbox.calls)

    (cancelled, *answers), calls = asyncio.run(run())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert (answers, calls) == ([Result(7), Result(7)], 1)


def test_a_call_that_nobody_waits_for_any_more_is_cancelled_and_can_be_made_again() -> None:
    async def run() -> list[str]:
        log: list[str] = []

        async def act() -> int:
            try:
                await asyncio.sleep(60 if not log else 0)
            except asyncio.CancelledError:
                log.append("cancelled")
                raise
            return 7

        toolbox = ScriptedToolbox([ScriptedTool("look", act, "pure")])
        async with Effects(toolbox, mode="ask") as effects, effects.session() as session:
            waiters = [asyncio.ensure_future(session.call("look", {})) for _ in range(2)]
            for _ in range(5):
                await asyncio.sleep(0)
            for waiter in waiters:
                waiter.cancel()
            await asyncio.gather(*waiters, return_exceptions=True)
            log.append(str((await session.call("look", {})).value))
        return log

    assert asyncio.run(run()) == ["cancelled", "7"]


def test_a_spent_budget_reaches_every_waiter_as_it_is_and_is_not_kept() -> None:
    def spent() -> None:
        raise BudgetSpent("tool_calls")

    toolbox = ScriptedToolbox([ScriptedTool("look", spent, "pure")])

    async def run() -> list[Any]:
        async with Effects(toolbox, mode="ask") as effects, effects.session() as session:
            return await asyncio.gather(*(session.call("look", {}) for _ in range(2)), return_exceptions=True)

    assert [type(end) for end in asyncio.run(run())] == [BudgetSpent] * 2
    with pytest.raises(BudgetSpent):
        in_one_session(toolbox, ("look", {}))


def test_a_commit_is_noted_and_the_program_is_told_so() -> None:
    toolbox = ScriptedToolbox([ScriptedTool("send", effect="commit")])
    results, planned, _ = in_one_session(toolbox, ("send", {"to": "ann"}), ("send", {"to": "bob"}))
    assert toolbox.calls == []
    assert planned == (Planned(1, "send", {"to": "ann"}), Planned(2, "send", {"to": "bob"}))
    assert results[0].value["planned"] is True
    assert "send is done once, after the search" in results[0].value["note"]


@pytest.mark.parametrize(
    ("returns", "kind"), [({"type": "string"}, str), ({"type": "null"}, type(None)), ({"type": "object"}, dict)]
)
def test_a_stand_in_follows_the_return_schema(returns: dict[str, Any], kind: type) -> None:
    tool = ScriptedTool("send", effect="commit", card=Card("send", "", returns=returns, effect="commit"))
    results, _, _ = in_one_session(ScriptedToolbox([tool]), ("send", {}))
    assert type(results[0].value) is kind


def test_what_is_not_known_before_the_search_ends_cannot_be_an_argument() -> None:
    card = Card("book", "", returns={"type": "string"}, effect="commit")
    toolbox = ScriptedToolbox([ScriptedTool("send", effect="commit"), ScriptedTool("book", effect="commit", card=card)])
    (sent, booked), _, _ = in_one_session(toolbox, ("send", {}), ("book", {}))
    for value in (sent.value, [sent.value], booked.value, {"text": f"number {booked.value}"}):
        (result,), planned, _ = in_one_session(toolbox, ("send", {"number": value}))
        assert (result.failure, planned) == ("refused", ())


def test_a_commit_with_wrong_arguments_is_not_noted() -> None:
    card = Card("send", "", {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}, effect="commit")
    (result,), planned, _ = in_one_session(ScriptedToolbox([ScriptedTool("send", effect="commit", card=card)]), ("send", {}))
    assert (result.failure, planned) == ("invalid", ())


def cart(undo: Callable[..., Any] = lambda **arguments: None, act: Any = lambda **arguments: 1) -> ScriptedToolbox:
    return ScriptedToolbox([ScriptedTool("put", act, "commit", undo=undo)])


def test_what_can_be_undone_is_done_for_real_undone_in_reverse_and_noted() -> None:
    toolbox = cart()
    results, planned, stuck = in_one_session(toolbox, ("put", {"n": 1}), ("put", {"n": 2}))
    assert [result.value for result in results] == [1, 1]
    assert toolbox.named("put") == [{"n": 1}, {"n": 2}]
    assert [arguments["n"] for _, _, arguments in toolbox.undone] == [2, 1]
    assert [note.arguments["n"] for note in planned] == [1, 2]
    assert stuck == ()


def test_a_dry_run_does_not_even_do_what_can_be_undone() -> None:
    toolbox = cart()
    results, planned, _ = in_one_session(toolbox, ("put", {"n": 1}), mode="dry_run")
    assert (toolbox.calls, toolbox.undone, len(planned)) == ([], [], 1)
    assert results[0].value["planned"] is True


def test_what_failed_is_not_undone_and_what_may_have_been_done_is_stuck() -> None:
    toolbox = cart(act=lambda how: Result(failure=how, message="so"))
    _, planned, stuck = in_one_session(toolbox, ("put", {"how": "raised"}), ("put", {"how": "timeout"}))
    assert (toolbox.undone, planned) == ([], ())
    assert [(one.node, one.tool, one.arguments["how"]) for one in stuck] == [("0.1", "put", "timeout")]


def test_an_undo_that_fails_is_stuck_and_the_others_are_undone() -> None:
    toolbox = cart(undo=lambda n: Result(failure="raised", message="too late") if n == 2 else None)
    _, _, stuck = in_one_session(toolbox, *(("put", {"n": n}) for n in (1, 2, 3)))
    assert [arguments["n"] for _, _, arguments in toolbox.undone] == [3, 2, 1]
    assert [(one.arguments["n"], one.why) for one in stuck] == [(2, "undoing it failed (raised): too late")]


def test_a_program_that_is_cancelled_is_undone_to_the_end() -> None:
    async def slow_undo(n: int) -> None:
        await asyncio.sleep(0.01)

    toolbox = cart(undo=slow_undo)

    async def run() -> bool:
        async def program(effects: Effects) -> None:
            async with effects.session() as session:
                for n in (1, 2):
                    await session.call("put", {"n": n})
                await asyncio.sleep(60)

        async with Effects(toolbox, mode="yes") as effects:
            task = asyncio.ensure_future(program(effects))
            await asyncio.sleep(0.02)
            task.cancel()
            await asyncio.sleep(0.005)
            task.cancel()  # while it undoes
            await asyncio.wait([task])
            return task.cancelled()

    assert asyncio.run(run())
    assert [arguments["n"] for _, _, arguments in toolbox.undone] == [2, 1]


def test_an_error_of_the_block_comes_out_as_it_is() -> None:
    async def run() -> None:
        async with Effects(ScriptedToolbox([]), mode="ask"):
            raise BudgetSpent("seconds")

    with pytest.raises(BudgetSpent):
        asyncio.run(run())


emails = st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=39)
attempts = st.lists(st.sampled_from(["fine", "dies before", "dies in the call", "tool says no"]), max_size=4)


@settings(max_examples=60)
@given(programs=emails, chosen=st.integers(0, 38), cancelled=st.sets(st.integers(0, 38)), attempts=attempts)
def test_however_many_programs_send_however_often_it_is_tried_each_mail_of_the_winner_is_sent_at_most_once(
    programs: list[list[int]], chosen: int, cancelled: set[int], attempts: list[str]
) -> None:
    asyncio.run(search_and_commit(programs, chosen % len(programs), cancelled, attempts))


async def search_and_commit(programs: list[list[int]], chosen: int, cancelled: set[int], attempts: list[str]) -> None:
    sent: list[dict[str, Any]] = []
    how = ["fine"]

    def send(**mail: Any) -> Any:
        if how[0] == "tool says no":
            return Result(failure="raised", message="no")
        sent.append(mail)
        if how[0] == "dies in the call":
            raise KeyboardInterrupt
        return "sent"

    toolbox = ScriptedToolbox([ScriptedTool("send", send, "commit")])
    notes: dict[int, tuple[Planned, ...]] = {}

    async def program(number: int, effects: Effects) -> None:
        async with effects.session(str(number)) as session:
            for mail in programs[number]:
                assert (await session.call("send", {"mail": mail, "program": number})).failure is None
                await asyncio.sleep(0)
        notes[number] = session.planned

    async with Effects(toolbox, mode="yes") as effects:
        tasks = [asyncio.ensure_future(program(number, effects)) for number in range(len(programs))]
        await asyncio.sleep(0)
        for number in (cancelled - {chosen}) & set(range(len(programs))):
            tasks[number].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert sent == []
    record: list[Planned | Done] = []

    async def allow(card: Card, arguments: Any) -> bool:
        return True

    def before(call: Planned) -> None:
        record.append(call)
        if how[0] == "dies before":
            raise KeyboardInterrupt

    ends: tuple[Done, ...] = ()
    for attempt in [*attempts, "fine"]:
        how[0] = attempt
        try:
            ends = await commit(notes[chosen], toolbox, allow=allow, before=before, after=record.append, earlier=tuple(record))
        except KeyboardInterrupt:
            continue
    assert len(sent) <= len(programs[chosen])
    assert [mail["mail"] for mail in sent] == programs[chosen][: len(sent)]
    assert all(mail["program"] == chosen for mail in sent)
    if not {"dies before", "dies in the call"} & set(attempts):
        assert [end.fate for end in ends] == ["done"] * len(programs[chosen])
        assert len(sent) == len(programs[chosen])
