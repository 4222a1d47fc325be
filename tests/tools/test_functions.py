"""Functions and classes as tools: cards, checked arguments, threads, failures as data, state of one's own, undoing."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from treewright.core.errors import UserError
from treewright.tools.base import Result
from treewright.tools.cards import signature
from treewright.tools.decorator import settings_of
from treewright.tools.functions import from_functions, tool
from treewright.tools.handling import Handling, undo


def weather(city: str, days: int = 3, unit: Literal["C", "F"] = "C") -> list[str]:
    """Forecast the weather.

    Args:
        city: where.
        days: how many.
    """
    return [f"{city} {day} {unit}" for day in range(days)]


def called(functions: Any, *calls: tuple[str, dict[str, Any]]) -> list[Result]:
    """The results of calls in one session."""

    async def run() -> list[Result]:
        async with from_functions(functions) as toolbox, toolbox.session() as session:
            return [await session.call(name, arguments) for name, arguments in calls]

    return asyncio.run(run())


def test_a_card_comes_from_hints_and_docstring() -> None:
    (card,) = from_functions([weather], "my.py").cards
    assert signature(card) == 'weather(city: str, days: int = 3, unit: Literal["C", "F"] = \'C\') -> list[str]'
    assert (card.description, card.effect, card.source, card.stateful) == (
        "Forecast the weather.",
        "idempotent",
        "my.py",
        False,
    )
    assert card.parameters["properties"]["days"]["description"] == "how many."


def test_the_decorator_leaves_a_function_as_it_was_and_says_what_it_cannot() -> None:
    @tool(effect="pure", name="plus", timeout_s=2)
    def add(a: int, b: int) -> int:
        return a + b

    assert add(1, 2) == 3
    toolbox = from_functions([add])
    assert [(card.name, card.effect) for card in toolbox.cards] == [("plus", "pure")]
    assert toolbox.handling == {"plus": Handling(undo=False, timeout_s=2)}
    assert settings_of(tool(weather)) is not None


@pytest.mark.parametrize(
    "settings", [{"effect": "harmless"}, {"undo": print}, {"effect": "pure", "undo": print}, {"timeout_s": 0}]
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"effect|undo|timeout_s"):
        tool(**settings)


def test_a_parameter_without_a_hint_is_named_with_the_way_out() -> None:
    def search(query, limit: int = 3):  # type: ignore[no-untyped-def]  # what is tested
        return query

    with pytest.raises(UserError, match=r"^shop\.py: parameter query of search has no type hint: write query: str"):
        from_functions([search], "shop.py")


def test_a_hint_that_has_no_form_in_json_is_named() -> None:
    def draw(where: threading.Thread) -> None: ...

    with pytest.raises(UserError, match=r"^tools\.py: the type hints of draw cannot be turned into a tool"):
        from_functions([draw])


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(UserError, match="is no function"):
        from_functions([7])


def test_arguments_are_checked_and_coerced_and_faults_name_the_field() -> None:
    fine, wrong, missing, extra = called(
        [weather],
        ("weather", {"city": "Rome", "days": "1"}),
        ("weather", {"city": "Rome", "days": "soon"}),
        ("weather", {}),
        ("weather", {"city": "Rome", "dayz": 1}),
    )
    assert fine == Result(["Rome 0 C"])
    assert [(r.failure, r.message.partition(":")[0]) for r in (wrong, missing, extra)] == [
        ("invalid", "days"), ("invalid", "city"), ("invalid", "dayz"),
    ]  # fmt: skip


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    (result,) = called([weather], ("wether", {}))
    assert (result.failure, "weather" in result.message) == ("invalid", True)


def test_every_kind_of_parameter_gets_its_arguments() -> None:
    def mixed(a: int, /, b: int, *rest: int, c: int = 4, **more: int) -> list[Any]:
        return [a, b, list(rest), c, more]

    (result,) = called([mixed], ("mixed", {"a": 1, "b": 2, "rest": [3, 3], "c": 5, "d": 6}))
    assert result.value == [1, 2, [3, 3], 5, {"d": 6}]


@dataclass
class Film:
    title: str
    years: tuple[int, ...]


def test_results_become_plain_json() -> None:
    def film() -> Film:
        return Film("Dune", (1984, 2021))

    assert called([film], ("film", {})) == [Result({"title": "Dune", "years": [1984, 2021]})]


def circle() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"\xff", circle(), threading.Lock()])
def test_what_has_no_form_in_json_is_said_to_have_none(value: Any) -> None:
    def give() -> Any:
        return value

    async def give_later() -> Any:
        return value

    assert [r.failure for r in called([give, give_later], ("give", {}), ("give_later", {}))] == ["not_json", "not_json"]


def test_what_a_function_raises_is_data_without_paths_and_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "k3y-abcdefgh")

    def broken(how: str) -> None:
        if how == "exit":
            raise SystemExit(3)
        if how == "cancel":
            raise asyncio.CancelledError
        raise FileNotFoundError(f"no file {Path.cwd()}/data.csv for k3y-abcdefgh")

    async def later(how: str) -> None:
        broken(how)

    for name in ("broken", "later"):
        plain, ended = called([broken, later], (name, {"how": ""}), (name, {"how": "exit"}))
        assert plain == Result(failure="raised", message="FileNotFoundError: no file data.csv for [secret]")
        assert ended == Result(failure="raised", message="SystemExit: 3")
    assert called([later], ("later", {"how": "cancel"}))[0] == Result(failure="raised", message="CancelledError")


def test_a_key_that_is_missing_makes_a_tool_unavailable_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_API_KEY", raising=False)

    def shop() -> str:
        return os.environ["SHOP_API_KEY"]

    def other() -> str:
        return {"A": "b"}["SHOP_API_KEY"]

    unset, raised = called([shop, other], ("shop", {}), ("other", {}))
    assert unset == Result(failure="unavailable", message="the environment variable SHOP_API_KEY is not set")
    assert raised.failure == "raised"


def test_functions_that_block_run_beside_each_other_and_off_the_event_loop() -> None:
    together = threading.Barrier(3, timeout=20)

    def meet() -> bool:
        together.wait()
        return threading.current_thread() is threading.main_thread()

    async def run() -> list[Result]:
        async with from_functions([meet]) as toolbox, toolbox.session() as session:
            return await asyncio.gather(*(session.call("meet", {}) for _ in range(3)))

    assert asyncio.run(run()) == [Result(False)] * 3


def test_a_function_that_hangs_times_out_and_others_go_on() -> None:
    release = threading.Event()

    @tool(timeout_s=0.05)
    def hang() -> None:
        release.wait(60)

    @tool(timeout_s=0.05)
    async def hang_too() -> None:
        await asyncio.sleep(60)

    try:
        slow, slow_too, fine = called([hang, hang_too, weather], ("hang", {}), ("hang_too", {}), ("weather", {"city": "x"}))
    finally:
        release.set()
    assert slow == Result(failure="timeout", message="hang took more than 0.05 s")
    assert slow_too.failure == "timeout"
    assert fine.failure is None


class Counter:
    """Counts."""

    def __init__(self) -> None:
        self.count = 0

    def up(self, by: int = 1) -> int:
        """Count up."""
        self.count += by
        return self.count

    async def read(self) -> int:
        return self.count

    def _hidden(self) -> None: ...


def test_public_methods_are_tools_and_each_session_has_an_instance_of_its_own() -> None:
    async def run() -> list[Any]:
        toolbox = from_functions([Counter])
        assert [(card.name, card.stateful) for card in toolbox.cards] == [("up", True), ("read", True)]
        async with toolbox, toolbox.session() as one, toolbox.session() as other:
            await asyncio.gather(*(one.call("up", {}) for _ in range(20)))
            return [(await session.call("read", {})).value for session in (one, other)]

    assert asyncio.run(run()) == [20, 0]


def test_an_instance_is_copied_for_each_session() -> None:
    counter = Counter()
    counter.count = 5
    assert [r.value for r in called([counter], ("up", {}))] == [6]
    assert [r.value for r in called([counter], ("up", {}))] == [6]
    assert counter.count == 5


def test_an_instance_that_cannot_be_copied_is_refused_with_the_way_out() -> None:
    counter = Counter()
    counter.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="give the class Counter itself"):
        from_functions([counter])


def test_a_class_that_cannot_be_made_makes_its_tools_unavailable() -> None:
    class Shop:
        def __init__(self) -> None:
            raise ConnectionError("no shop today")

        def buy(self) -> None: ...

    assert called([Shop], ("buy", {})) == [Result(failure="unavailable", message="ConnectionError: no shop today")]


def test_a_context_manager_is_entered_at_the_first_call_and_left_with_the_session() -> None:
    log: list[str] = []

    class Shop:
        def __enter__(self) -> Shop:
            log.append("enter")
            return self

        def __exit__(self, *error: object) -> None:
            log.append("exit")
            raise RuntimeError("nobody is to hear this")

        def buy(self) -> None:
            log.append("buy")

    class Bank:
        async def __aenter__(self) -> Bank:
            log.append("aenter")
            return self

        async def __aexit__(self, *error: object) -> None:
            log.append("aexit")

        async def pay(self) -> None:
            log.append("pay")

    called([Shop, Bank])
    assert log == []
    called([Shop, Bank], ("buy", {}), ("pay", {}))
    assert log == ["enter", "buy", "aenter", "pay", "aexit", "exit"]


def test_an_instance_is_busy_until_a_call_that_timed_out_has_really_ended() -> None:
    release, order = threading.Event(), []

    class Slow:
        @tool(timeout_s=0.05)
        def hang(self) -> None:
            release.wait(60)
            order.append("hang")

        def then(self) -> None:
            order.append("then")

    async def run() -> list[Result]:
        async with from_functions([Slow]) as toolbox, toolbox.session() as session:
            first = await session.call("hang", {})
            second = asyncio.ensure_future(session.call("then", {}))
            await asyncio.sleep(0.05)
            assert order == []
            release.set()
            return [first, await second]

    assert [r.failure for r in asyncio.run(run())] == ["timeout", None]
    assert order == ["hang", "then"]


def test_settings_of_a_class_are_those_of_its_methods_unless_they_say_otherwise() -> None:
    @tool(effect="pure")
    class Shop:
        def look(self) -> None: ...

        @tool(effect="commit", undo="_give_back")
        def buy(self, what: str) -> str:
            return what

        def _give_back(self, what: str, result: str) -> None: ...

    toolbox = from_functions([Shop])
    assert [(card.name, card.effect) for card in toolbox.cards] == [("look", "pure"), ("buy", "commit")]
    assert toolbox.handling["buy"].undo


def test_an_undo_that_does_not_exist_is_refused() -> None:
    class Shop:
        @tool(effect="commit", undo="give_bakc")
        def buy(self) -> None: ...

    with pytest.raises(UserError, match="Shop has no method 'give_bakc'"):
        from_functions([Shop])


def test_undo_gets_the_arguments_and_if_it_wants_the_result() -> None:
    log: list[Any] = []

    def cancel(item: str, count: int, result: dict[str, int]) -> None:
        log.append((item, count, result))

    def forget(item: str) -> None:
        raise ValueError("too late")

    @tool(effect="commit", undo=cancel)
    def order(item: str, count: int = 1) -> dict[str, int]:
        return {"number": 7}

    @tool(effect="commit", undo=forget)
    def remember(item: str) -> None: ...

    async def run() -> list[Result]:
        async with from_functions([order, remember, weather]) as toolbox, toolbox.session() as session:
            arguments = {"item": "tea", "count": "2"}
            value = (await session.call("order", arguments)).value
            return [
                await undo(session, "order", arguments, value),
                await undo(session, "remember", {"item": "x"}, None),
                await undo(session, "weather", {"city": "x"}, None),
            ]

    fine, failed, impossible = asyncio.run(run())
    assert (fine.failure, log) == (None, [("tea", 2, {"number": 7})])
    assert failed == Result(failure="raised", message="ValueError: too late")
    assert impossible.failure == "unavailable"


def test_names_that_python_has_taken_are_changed_and_two_of_one_name_are_told_apart() -> None:
    @tool(name="list")
    def listing() -> None: ...

    @tool(name="weather")
    def other() -> None: ...

    assert [card.name for card in from_functions([weather, other, listing]).cards] == ["weather", "weather_2", "list_"]


def test_a_generator_is_read_to_its_end_and_what_it_raises_is_data() -> None:
    def numbers(bad: bool) -> Iterator[int]:
        yield 1
        if bad:
            raise ValueError("no more")

    fine, failed = called([numbers], ("numbers", {"bad": False}), ("numbers", {"bad": True}))
    assert fine == Result([1])
    assert failed.failure is not None
