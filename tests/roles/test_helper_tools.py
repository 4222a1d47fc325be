"""The helpers: a model asked by a running program, on the page that this program has open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_data import DATA, needs_data
from scripted_tools import ScriptedTool, ScriptedToolbox, failing
from treewright.bench.pages import BOTTOM, Browser
from treewright.core.budget import Budget
from treewright.core.errors import BudgetSpent
from treewright.core.events import Event, ToolCalled
from treewright.models.base import Caller, Reply, Request
from treewright.models.scripted import Scripted
from treewright.roles.asking import Asker, Unreadable
from treewright.roles.helper_tools import (
    LINKS_CHARS,
    MOST_VIEWS,
    PAGE_CHARS,
    PROMPT_CHARS,
    UNREAD,
    UNREADABLE,
    HelperTools,
    clickable,
    read_choice,
)
from treewright.roles.tool_programs import ProgramRun, program_runner
from treewright.sandbox.base import Limits
from treewright.sandbox.process import ProcessSandbox
from treewright.tools.base import Card, Result
from treewright.tools.effects import Effects
from treewright.tools.functions import from_functions
from treewright.tools.guarded import Guarded
from treewright.tools.handling import handling_of
from treewright.tools.metered import Metered

#: The search of appendix B.3 goes no deeper.
DEEPEST = 30
SITE = {
    "/": "Home\n- Team [Clickable '/team']\n- Shop [Clickable '/shop']\na\nb\n- Jobs [Clickable '/jobs']",
    "/team": "Team\n- Ann [Clickable '/team/ann']\n- Home [Clickable '/']",
    "/team/ann": "Ann\n1\n2\n3\n4\nAnn's room is 12.",
    "/shop": "Shop\nNothing for sale.",
    "/jobs": "Jobs\nNone.\n- Home [Clickable '/']",
}


class Taped:
    """A model that keeps what it was asked and replies by rule or from a list."""

    name = "taped"

    def __init__(self, replies: Iterable[str] | Callable[[str], str]) -> None:
        left = iter(() if callable(replies) else replies)
        self._reply = replies if callable(replies) else lambda text: next(left)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        return Reply(self._reply(request.messages[-1].text))

    @property
    def asked(self) -> list[str]:
        return [request.messages[-1].text for request in self.requests]


Call = Callable[..., Awaitable[Any]]


@asynccontextmanager
async def helped(model: Taped, pages: Mapping[str, str] = SITE, node: str = "0.1") -> AsyncIterator[Call]:
    """Calls tools of a site with the helpers, as a program does."""
    async with from_functions([Browser(pages)]) as tools, HelperTools(tools, Asker(model)).session(node) as session:

        async def call(name: str, **arguments: Any) -> Any:
            result = await session.call(name, arguments)
            assert result.failure is None, result
            return result.value

        yield call


def chosen(
    *replies: str, page: str = "/", visited: Iterable[str] = (), pages: Mapping[str, str] = SITE
) -> tuple[Taped, str, str]:
    """What `next_action` gives for a page that was just opened: the model, the action, the page."""
    model = Taped(replies)

    async def go() -> tuple[str, str]:
        async with helped(model, pages) as call:
            first = await call("click_url", url=page)
            action, seen = await call(
                "next_action", query="Where is Ann?", current_page_content=first, visited_urls=list(visited)
            )
            return action, seen

    return model, *asyncio.run(go())


def helper(toolbox: ScriptedToolbox, model: Taped, name: str, **arguments: Any) -> Result:
    async def go() -> Result:
        async with HelperTools(toolbox, Asker(model)).session("0.1") as session:
            return await session.call(name, arguments)

    return asyncio.run(go())


def test_the_handler_asks_once_with_the_first_20000_characters() -> None:
    model = Taped(["  A summary.\n"])
    result = helper(ScriptedToolbox(), model, "res_handler", prompt="ab" * 9_999 + "cd" + "never")
    assert result == Result("A summary.")
    (request,) = model.requests
    assert request.messages[-1].text == "ab" * 9_999 + "cd"
    assert len(request.messages[-1].text) == PROMPT_CHARS == 20_000
    assert request.caller == Caller("0.1", "res_handler", 0)


def test_a_handler_whose_model_says_nothing_has_failed() -> None:
    model = Taped(["", "<think>hm</think>"])
    result = helper(ScriptedToolbox(), model, "res_handler", prompt="Sum up.")
    assert (result.failure, result.value) == ("raised", None)
    assert len(model.requests) == 2


def test_a_page_is_read_to_its_end_and_its_links_are_parted() -> None:
    model, action, seen = chosen("click /jobs", visited=["/shop", "/elsewhere"])
    assert (action, seen) == ("/jobs", SITE["/"])
    assert f"The page:\n{SITE['/']}\n" in model.asked[0]
    assert "Links not visited yet:\n- /team\n- /jobs\n" in model.asked[0]
    assert "Links visited before:\n- /shop\n" in model.asked[0]
    assert "Where is Ann?" in model.asked[0]
    assert model.requests[0].caller == Caller("0.1", "next_action", 0)


def test_the_page_of_the_program_that_called_is_left_scrolled_to_its_end_and_no_other() -> None:
    async def go() -> tuple[str, str]:
        model = Taped(["stop"])
        async with from_functions([Browser(SITE)]) as tools:
            helpers = HelperTools(tools, Asker(model))
            async with helpers.session("0.1") as one, helpers.session("0.2") as two:
                first = (await one.call("view", {})).value
                await one.call("next_action", {"query": "q", "current_page_content": first, "visited_urls": []})
                return (await one.call("view", {})).value, (await two.call("view", {})).value

    assert asyncio.run(go()) == ("- Jobs [Clickable '/jobs']", "\n".join(SITE["/"].splitlines()[:5]))


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("click /team", "/team"),
        ("The team has her.\n\n**click /team**", "/team"),
        ("Action: click '/team'.", "/team"),
        ("next action: `click [Clickable '/team']`", "/team"),
        ("Click on /team/", "/team"),
        ("click(/shop)", "/shop"),
        ("back", "back"),
        ("It is not here.\nGo back.", "back"),
        ("stop", "stop"),
        ("STOP: the page says it.", "stop"),
        ("click /team\nclick /nowhere", "/team"),
        ("click /shop\nstop and think\nclick /team\nThat is the way back to her.", "/team"),
        ("<think>click /shop</think>\nclick /team", "/team"),
    ],
)
def test_each_choice_is_read_however_it_is_written(reply: str, action: str) -> None:
    model, found, seen = chosen(reply)
    assert (found, seen, len(model.requests)) == (action, SITE["/"], 1)


@pytest.mark.parametrize(
    ("reply", "said"), [("I do not know.", "does not name an action"), ("click /moon", "'/moon' is no link of the page")]
)
def test_a_choice_that_cannot_be_read_is_asked_for_once_more(reply: str, said: str) -> None:
    model, action, seen = chosen(reply, "click /team")
    assert (action, seen) == ("/team", SITE["/"])
    assert said in model.asked[1]


@pytest.mark.parametrize(
    ("page", "visited", "action"),
    [
        ("/", [], "/team"),
        ("/", ["/team"], "/shop"),
        ("/", ["/team", "/shop", "/jobs"], "back"),
        ("/shop", ["/shop"], "back"),
        ("/shop", [], "stop"),
    ],
)
def test_without_a_readable_choice_the_first_new_link_is_taken_else_back_else_stop(
    page: str, visited: list[str], action: str
) -> None:
    model, found, seen = chosen("hm", "hm", page=page, visited=visited)
    assert found == action
    assert seen == f"{SITE[page]}\n{UNREADABLE}"
    assert len(model.requests) == 2


def test_a_long_page_is_shown_to_the_model_in_part_and_read_up_to_a_bound() -> None:
    line = "x" * 99
    pages = {"/": "\n".join(f"{line} [Clickable '/{number}']" for number in range(2000))}
    model, action, seen = chosen("click /40", pages=pages)
    assert action == "/40"
    assert len(seen) == PAGE_CHARS + 1 + len(UNREAD)
    assert seen.endswith(f"\n{UNREAD}")
    shown = model.asked[0].partition("The page:\n")[2].partition("\n\nLinks not visited yet:")[0]
    assert shown == seen[:PROMPT_CHARS]


def test_more_links_than_a_model_is_shown_are_counted_and_can_be_clicked() -> None:
    pages = {"/": "".join(f"[Clickable '/{number:0100}']" for number in range(100))}
    model, action, _ = chosen(f"click /{99:0100}", pages=pages)
    assert action == f"/{99:0100}"
    listed = model.asked[0].partition("Links not visited yet:\n")[2].partition("\n\nLinks visited")[0].splitlines()
    assert listed[-1] == f"(and {100 - LINKS_CHARS // 101} more)"


def views(*shown: Any, opened: str = "first") -> tuple[str, list[dict[str, Any]]]:
    """The page that `next_action` makes of what the tool `scroll_down` gives, call by call, and the calls."""
    left = iter(shown)
    tools = ScriptedToolbox([ScriptedTool("scroll_down", lambda: next(left)), ScriptedTool("view", lambda: "what is in view")])
    result = helper(tools, Taped(["stop"]), "next_action", query="q", current_page_content=opened, visited_urls=[])
    return result.value[1], tools.named("scroll_down")


def test_the_end_of_a_page_is_known_in_each_way_in_which_browsers_say_it() -> None:
    assert views("second", BOTTOM) == ("first\nsecond", [{}, {}])
    assert views(f"second\n{BOTTOM}") == ("first\nsecond", [{}])
    assert views("second", "You have reached the end of the page.") == ("first\nsecond", [{}, {}])
    assert views("second", "second") == ("first\nsecond", [{}, {}])
    assert views(opened=f"first\n{BOTTOM}") == ("first", [])
    assert views("We reached the end of the road", BOTTOM)[0] == "first\nWe reached the end of the road"


@pytest.mark.parametrize("given", [Result(failure="timeout"), "Error: no page is open.", {"not": "text"}])
def test_a_page_that_cannot_be_scrolled_on_is_used_as_far_as_it_was_read(given: Any) -> None:
    assert views("second", given)[0] == f"first\nsecond\n{UNREAD}"


def test_a_page_without_end_is_given_up() -> None:
    page, calls = views(*map(str, range(MOST_VIEWS + 1)))
    assert len(calls) == MOST_VIEWS
    assert page.endswith(UNREAD)


def test_a_page_is_not_scrolled_further_than_it_is_kept() -> None:
    page, calls = views(*(f"{number}" * 25_000 for number in range(9)))
    assert len(calls) == PAGE_CHARS // 25_000 + 1
    assert page.endswith(UNREAD)


def test_a_program_that_does_not_say_what_it_saw_is_helped_out() -> None:
    assert views(BOTTOM, opened=" \n")[0] == "what is in view"


def test_links_are_found_as_browsers_write_them() -> None:
    text = (
        """[Clickable '/a'] [clickable "/b c"] [x](https://e.test/y_(1) [x](/z) ![p](#q) [m](mailto:a@b.c) [Clickable '/a']"""
    )
    assert clickable(text) == ["/a", "/b c", "/z"]


@given(st.text(max_size=300), st.lists(st.sampled_from(["/", "/a", "back", "https://e.test/x#y"]), unique=True))
def test_a_choice_is_a_link_of_the_page_or_a_way_out_or_unreadable(text: str, links: list[str]) -> None:
    with suppress(Unreadable):
        assert read_choice(text, links) in {*links, "back", "stop"}


def test_visited_links_are_known_in_other_spellings() -> None:
    _, action, _ = chosen("hm", "hm", visited=["'/team/'", "/shop#top"])
    assert action == "/jobs"
    pages = {"/": "[Clickable '/team/'] [Clickable '/shop#top'] [Clickable '/jobs']"}
    assert chosen("hm", "hm", visited=["/team", "/shop"], pages=pages)[1] == "/jobs"


def test_helpers_are_offered_beside_the_tools_where_they_can_work() -> None:
    def offered(*tools: ScriptedTool) -> list[str]:
        return [card.name for card in HelperTools(ScriptedToolbox(tools), Asker(Scripted([]))).cards]

    assert offered() == ["res_handler"]
    assert offered(ScriptedTool("scroll_down")) == ["scroll_down", "res_handler", "next_action"]
    assert offered(ScriptedTool("scroll_down", effect="commit")) == ["scroll_down", "res_handler"]
    assert offered(ScriptedTool("scroll_down", card=Card("scroll_down", "", {"type": "object", "required": ["by"]}))) == [
        "scroll_down",
        "res_handler",
    ]


def test_a_tool_of_the_users_with_the_name_of_a_helper_stays() -> None:
    tools = ScriptedToolbox([ScriptedTool("res_handler", lambda prompt: "mine")])
    assert [card.source for card in HelperTools(tools, Asker(Scripted([]))).cards] == ["mcp:scripted"]
    assert helper(tools, Taped([]), "res_handler", prompt="x") == Result("mine")


def test_arguments_that_do_not_fit_are_said_to_whoever_called() -> None:
    for arguments in ({}, {"prompt": 3.5, "x": 1}, {"prompt": None}):
        result = helper(ScriptedToolbox(), Taped(["never"]), "res_handler", **arguments)
        assert (result.failure, "prompt" in result.message) == ("invalid", True)


def test_a_spent_budget_ends_the_program_and_is_no_result() -> None:
    class Spent:
        name = "spent"

        async def complete(self, request: Request) -> Reply:
            raise BudgetSpent("tokens")

    async def go() -> None:
        async with HelperTools(ScriptedToolbox(), Asker(Spent())).session("0.1") as session:
            await session.call("res_handler", {"prompt": "x"})

    with pytest.raises(BudgetSpent):
        asyncio.run(go())


def test_what_a_toolbox_knows_of_its_tools_is_handed_on_and_helpers_have_more_time() -> None:
    undone: list[str] = []
    tools = ScriptedToolbox(
        [
            ScriptedTool("buy", effect="commit", undo=lambda what: undone.append(what), timeout_s=3),
            ScriptedTool("x", failing("raised")),
        ]
    )
    helpers = HelperTools(tools, Asker(Taped(["hello"])))
    assert handling_of(helpers)["buy"] == handling_of(tools)["buy"]
    assert (handling_of(helpers)["res_handler"].timeout_s or 0) > 60

    async def go() -> None:
        async with Guarded(helpers).session("0") as session:
            assert (await session.call("res_handler", {"prompt": "hi"})).value == "hello"
            assert (await session.call("x", {})).failure == "raised"
            assert hasattr(session, "undo")
            await session.undo("buy", {"what": "car"}, None)

    asyncio.run(go())
    assert undone == ["car"]


async def search(call: Call, query: str, visited: list[str], content: str, depth: int = 0) -> str:
    """The recursive search of appendix B.3."""
    if depth >= DEEPEST:
        return ""
    action, page = await call("next_action", query=query, current_page_content=content, visited_urls=visited)
    if action == "stop":
        return str(await call("res_handler", prompt=f"{query}\n\n{page}"))
    if action == "back":
        return await search(call, query, visited, await call("go_to_previous_page"), depth + 1)
    content = await call("click_url", url=action)
    return await search(call, query, [*visited, action], content, depth + 1)


def reader(wanted: str, answer: str) -> Callable[[str], str]:
    """A model that stops at a text, else clicks the first new link, else goes back."""

    def reply(asked: str) -> str:
        if "What is to be done next?" not in asked:
            return answer
        page = asked.partition("The page:\n")[2].partition("\n\nLinks not visited yet:")[0]
        new = asked.partition("Links not visited yet:\n- ")[2].partition("\n")[0]
        return "stop" if wanted in page else f"click {new}" if new else "back"

    return reply


def found(model: Taped, pages: Mapping[str, str]) -> tuple[str, int]:
    async def go() -> str:
        async with helped(model, pages) as call:
            return await search(call, "Where is it?", ["/"], await call("view"))

    return asyncio.run(go()), sum("What is to be done next?" in text for text in model.asked)


def test_a_recursive_search_finds_a_page_by_links_below_the_first_view_and_by_going_back() -> None:
    pages = {
        "/": "Home\n[Clickable '/a']\n[Clickable '/b']",
        "/a": "Dead end\n[Clickable '/']",
        "/b": "B\n1\n2\n3\n4\n[Clickable '/b/c']",
        "/b/c": "C\n1\n2\n3\n4\n5\nThe room is 12.",
    }
    model = Taped(reader("The room is 12.", "12"))
    assert found(model, pages) == ("12", 5)  # /, /a, / again, /b, /b/c
    assert model.asked[-1] == f"Where is it?\n\n{pages['/b/c']}"


@pytest.mark.parametrize(("away", "answer"), [(DEEPEST - 1, "12"), (DEEPEST, "")])
def test_a_recursive_search_ends_at_its_depth(away: int, answer: str) -> None:
    pages = {f"/{number or ''}": f"[Clickable '/{number + 1}']" for number in range(away)}
    pages[f"/{away}"] = "The room is 12."
    model = Taped(reader("The room is 12.", "12"))
    assert found(model, pages) == (answer, DEEPEST)


PROGRAM = """
def search(content, visited, depth=0):
    if depth == 30:
        return ""
    action, page = next_action("Where is it?", content, visited)
    if action == "stop":
        return res_handler("Say where it is. " + page)
    content = go_to_previous_page() if action == "back" else click_url(action)
    return search(content, visited + [action], depth + 1)

final_answer(search(view(), []))
"""


def test_whole_programs_use_the_helpers_through_every_layer_and_equal_prompts_are_asked_once() -> None:
    model, events = Taped(reader("room is 12", "12")), list[Event]()

    async def go() -> list[ProgramRun]:
        async with from_functions([Browser(SITE)]) as tools:
            metered = Metered(Guarded(HelperTools(tools, Asker(model))), Budget(), events.append)
            async with Effects(metered, mode="ask") as effects:
                run = program_runner(ProcessSandbox(), effects, Limits())
                return [await run("0.1", PROGRAM), await run("0.2", PROGRAM)]

    for ran in asyncio.run(go()):
        assert (ran.ended, ran.answer, ran.tool_errors) == ("ok", "12", 0), ran
    callers = [request.caller for request in model.requests]
    first = [Caller("0.1", "next_action", 0)] * 3 + [Caller("0.1", "res_handler", 0)]
    assert callers == [*first, *([Caller("0.2", "next_action", 0)] * 3)]
    calls = [(event.node, event.tool) for event in events if isinstance(event, ToolCalled)]
    assert calls.count(("0.1", "next_action")) == calls.count(("0.2", "next_action")) == 3
    assert [node for node, tool in calls if tool == "res_handler"] == ["0.1"]


@needs_data
def test_every_page_of_the_benchmark_is_read_whole_with_its_links_and_the_deepest_is_found() -> None:
    rows = [json.loads(line) for line in (Path(DATA) / "m3tooleval/web_pages.jsonl").read_text().splitlines()]
    pages = {row["name"]: row["content"] for row in rows}
    assert len(pages) == 55
    for path, content in pages.items():
        model, _, seen = chosen("stop", page=path, pages=pages)
        assert [line.rstrip() for line in seen.splitlines()] == [line.rstrip() for line in content.rstrip().splitlines()], path
        assert all(f"\n- {link}\n" in model.asked[0] for link in clickable(content)), path
    routes = {"/": list[str]()}
    for path in (waiting := ["/"]):
        for link in clickable(pages[path]):
            if link in pages and link not in routes:
                routes[link] = [*routes[path], link]
                waiting.append(link)
    farthest = max(routes, key=lambda path: len(routes[path]))
    assert len(routes[farthest]) > 2
    replies = [*(f"click {link}" for link in routes[farthest]), "stop", "the answer"]
    model = Taped(replies)
    assert found(model, pages) == ("the answer", len(replies) - 1)
    assert pages[farthest].splitlines()[-1].rstrip() in model.asked[-1]
