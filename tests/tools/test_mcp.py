"""MCP servers as toolboxes: real child processes and a real HTTP server, which answer, fail, hang and die."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from treewright.core.errors import UserError
from treewright.tools.base import Card, Result
from treewright.tools.mcp import McpToolbox, from_mcp_config
from treewright.tools.mcp_config import ServerConfig, read_config

SERVER = str(Path(__file__).parent.parent / "mcp_server.py")
KEY = "sk-paper-1234"
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("divide", {"a": 1, "b": 4}),
    ("weather", {"city": "Rome"}),
    ("send_mail", {"to": "ann"}),
    ("picture", {}),
    ("divide", {"a": 1, "b": 0}),
    ("divide", {"a": "one"}),
    ("no_such_tool", {}),
    ("shout", {"text": "hey"}),
    ("secret", {}),
)


def entry(role: str = "stdio", **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [SERVER, role], "env": {"PAPER_TOKEN": KEY}, **more}


def toolbox(role: str = "stdio", *, call_timeout_s: float = 60.0, pure: tuple[str, ...] = (), **more: Any) -> McpToolbox:
    (box,) = from_mcp_config({"mcpServers": {"workshop": entry(role, **more)}}, call_timeout_s=call_timeout_s, pure=pure)
    return box


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


async def until(reached: Callable[[], bool]) -> bool:
    """Whether it is reached within a minute."""
    for _ in range(1200):
        if reached():
            return True
        await asyncio.sleep(0.05)
    return False


@cache
def visit() -> tuple[dict[str, Card], list[Result]]:
    """Cards and results of one server, for the tests that change nothing in it."""

    async def visited() -> tuple[dict[str, Card], list[Result]]:
        async with toolbox(pure=("p*d",)) as box, box.session("n1") as session:
            assert box.problem == ""
            return {card.name: card for card in box.cards}, [await session.call(*call) for call in CALLS]

    return asyncio.run(visited())


def test_cards_say_what_the_server_says_and_names_become_identifiers() -> None:
    found = visit()[0]
    assert found["divide"].description == "Divide a by b."
    assert found["divide"].parameters["required"] == ["a", "b"]
    assert (found["divide"].returns or {})["type"] == "number"
    assert found["weather"].description == "Look at the sky. The weather of a city."
    assert set((found["weather"].returns or {})["properties"]) == {"city", "degrees"}
    assert {card.source for card in found.values()} == {"mcp:workshop"}
    assert not any(card.stateful for card in found.values())
    effects = {name: card.effect for name, card in found.items()}
    assert effects["divide"] == "pure"  # readOnlyHint
    assert effects["weather"] == "idempotent"  # idempotentHint, destructiveHint false
    assert effects["count"] == "commit"  # destructiveHint is true unless it is said to be false
    assert effects["send_mail"] == "commit"  # nothing said
    assert effects["pid"] == "pure"  # the user says so


def test_results_are_structured_content_or_text_and_errors_say_what_the_tool_said() -> None:
    results = visit()[1]
    assert [result.value for result in results[:4]] == [
        0.25,
        {"city": "Rome", "degrees": 21.5},
        {"sent": "ann"},
        "here\n[image, image/png, 3 bytes]",
    ]
    assert [result.failure for result in results[4:7]] == ["raised", "raised", "invalid"]
    assert "b must not be 0" in results[4].message
    assert results[7].value == "HEY"  # what it printed meanwhile does no harm
    assert results[8].value == "token [secret], home unknown"  # a key it repeats is taken out, other variables it never gets


def test_calls_run_side_by_side_and_one_that_hangs_is_given_up_alone() -> None:
    async def together() -> list[Result]:
        async with toolbox(call_timeout_s=2) as box, box.session() as session:
            return await asyncio.gather(
                session.call("nap", {"seconds": 60}), *(session.call("divide", {"a": n, "b": 1}) for n in range(50))
            )

    slow, *quick = asyncio.run(together())
    assert slow.failure == "timeout"
    assert [result.value for result in quick] == list(range(50))


def test_a_server_that_dies_is_started_once_more_and_then_is_unavailable() -> None:
    async def story() -> tuple[list[Result], list[Result]]:
        async with toolbox() as box, box.session() as session:
            first = await asyncio.gather(session.call("nap", {"seconds": 60}), session.call("die", {}))
            return list(first), [await session.call(name, {}) for name in ("count", "die", "count", "count")]

    in_flight, later = asyncio.run(story())
    assert [result.failure for result in in_flight] == ["unavailable", "unavailable"]
    assert later[0].value == 1
    assert [result.failure for result in later[1:]] == ["unavailable"] * 3
    assert later[3].message == (
        'the MCP server "workshop" is not available: it ended with status 3: fatal: no more paper, token [secret], in tray.txt'
    )


def test_servers_that_do_not_start_have_a_reason_and_the_others_go_on(capfd: pytest.CaptureFixture[str]) -> None:
    servers = {name: entry(name) for name in ("broken", "junk", "paged")}
    servers["absent"] = {"command": "no-such-command-anywhere"}
    servers["off"] = {**entry(), "disabled": True}

    async def problems() -> dict[str, tuple[str, int]]:
        boxes = from_mcp_config({"mcpServers": servers})
        boxes += from_mcp_config({"mcpServers": {"silent": entry("silent")}}, start_timeout_s=2)
        await asyncio.gather(*(box.__aenter__() for box in boxes))
        try:
            async with boxes[0].session() as session:
                assert (await session.call("divide", {"a": 1, "b": 1})).failure == "invalid"
            async with boxes[2].session() as session:
                assert (await session.call("tool_9", {})).value == "tool.9"
            return {box.source: (box.problem, len(box.cards)) for box in boxes}
        finally:
            await asyncio.gather(*(box.__aexit__(None, None, None) for box in boxes))

    found = asyncio.run(problems())
    said = 'the MCP server "broken" is not available: it ended with status 1: no module named paper'
    assert found["mcp:broken"] == (said, 0)
    said = 'the MCP server "silent" did not start within 2 s; its last line: waiting for a licence'
    assert found["mcp:silent"] == (said, 0)
    assert found["mcp:junk"][0] == ""
    assert found["mcp:junk"][1] > 5
    assert found["mcp:paged"] == ("", 10)
    assert "no-such-command-anywhere" in found["mcp:absent"][0]
    assert "mcp:off" not in found
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("cancelled", [False, True])
def test_nothing_that_was_started_is_left(cancelled: bool) -> None:
    pids: list[int] = []

    async def work() -> None:
        async with toolbox() as box, box.session() as session:
            pids.extend([(await session.call(name, {})).value for name in ("pid", "child")])
            if cancelled:
                await session.call("nap", {"seconds": 60})

    async def story() -> None:
        task = asyncio.create_task(work())
        if cancelled:
            await until(lambda: len(pids) == 2)
            task.cancel()
            await asyncio.sleep(0.05)
            task.cancel()  # somebody is impatient
        await asyncio.wait({task})
        assert task.cancelled() is cancelled
        assert len(pids) == 2
        assert await until(lambda: not any(map(alive, pids)))

    asyncio.run(story())


def test_a_start_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        note = tmp_path / "pid"
        script = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
        box = McpToolbox(ServerConfig("slow", command=sys.executable, args=("-c", script)))
        task = asyncio.create_task(box.__aenter__())
        await until(lambda: note.exists() and note.read_text() != "")
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        assert await until(lambda: not alive(int(note.read_text())))

    asyncio.run(story())


def test_a_fresh_server_has_a_process_for_each_session_that_calls_it() -> None:
    async def story() -> None:
        async with toolbox(fresh=True) as box:
            assert all(card.stateful for card in box.cards)
            async with box.session() as one, box.session() as other, box.session():
                counted = await asyncio.gather(one.call("count", {}), other.call("count", {}))
                assert [result.value for result in counted] == [1, 1]
                assert (await one.call("count", {})).value == 2
                pid = (await one.call("pid", {})).value
                assert (await other.call("die", {})).failure == "unavailable"
                # Started again it would have forgotten what it was told.
                assert (await other.call("count", {})).failure == "unavailable"
            assert not alive(pid)

    asyncio.run(story())


@contextmanager
def http_server(port: int) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, SERVER, "http", str(port)])
    try:
        while process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_a_server_behind_a_url_is_called_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESAME", "open-sesame")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"
    headers = {"Authorization": "Bearer ${SESAME}"}
    config = {"mcpServers": {"far": {"url": url, "headers": headers}, "stranger": {"type": "http", "url": url}}}

    async def story() -> None:
        with http_server(port):
            boxes = from_mcp_config(config)
            await asyncio.gather(*(box.__aenter__() for box in boxes))
            far, stranger = boxes
            async with far.session() as session:
                assert (await session.call("divide", {"a": 1, "b": 4})).value == 0.25
        assert stranger.cards == ()
        assert "is not available" in stranger.problem
        async with far.session() as session:
            with http_server(port):
                found = [await session.call("count", {}) for _ in range(2)]  # the first may find the old connection broken
                assert found[1].value in {1, 2}
            lost = [await session.call("count", {}) for _ in range(3)]
        assert {result.failure for result in lost} == {"unavailable"}
        assert "open-sesame" not in "".join(result.message for result in lost) + stranger.problem
        for box in boxes:
            await box.__aexit__(None, None, None)

    asyncio.run(story())


def test_variables_are_filled_in_and_one_that_is_missing_is_named(tmp_path: Path) -> None:
    environ = {"HOME_OF_PAPER": "/srv/paper", "TOKEN": "sesame-1234"}
    servers = {
        "files": {
            "command": "${HOME_OF_PAPER}/run",
            "args": ["--mode=${MODE:-fast}", "$5"],
            "env": {"TOKEN": "${env:TOKEN}"},
            "cwd": "${HOME_OF_PAPER}",
        },
        "search": {
            "type": "streamable-http",
            "url": "https://example.org/mcp",
            "headers": {"Authorization": "Bearer ${TOKEN}"},
        },
        "off": {"command": "${NOBODY_KNOWS}", "disabled": True},
    }
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    files, search = read_config(path, environ)
    assert (files.command, files.args, files.cwd) == ("/srv/paper/run", ("--mode=fast", "$5"), "/srv/paper")
    assert files.env == {"TOKEN": "sesame-1234"}
    assert search.headers == {"Authorization": "Bearer sesame-1234"}
    assert "sesame" not in repr(files) + repr(search)
    assert search.cleaned("token sesame-1234 in /srv/paper/x.py") == "token [secret] in x.py"
    with pytest.raises(UserError, match='"files" needs the environment variable HOME_OF_PAPER, which is not set'):
        read_config(path, {"TOKEN": "t"})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("{}", 'has no "mcpServers" object'),
        ('{"mcpServers": {"a": "run"}}', 'has to be an object with "command" or "url"'),
        ('{"mcpServers": {"a": {}}}', 'needs a "command"'),
        ('{"mcpServers": {"a": {"type": "http"}}}', 'needs a "url"'),
        ('{"mcpServers": {"a": {"type": "sse", "url": "http://x"}}}', "is of type 'sse'"),
        ('{"mcpServers": {"a": {"command": "x", "args": "y"}}}', "has to be a list of texts"),
        ('{"mcpServers": {"a": {"command": "x", "env": [1]}}}', "has to be an object of texts"),
    ],
)
def test_a_file_of_the_wrong_shape_is_refused_in_one_sentence(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(content)
    with pytest.raises(UserError, match=said):
        from_mcp_config(path)
    with pytest.raises(UserError, match="cannot be read"):
        from_mcp_config(tmp_path / "absent.json")
