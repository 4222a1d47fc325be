"""Consent: what is asked on the terminal, what counts as yes, and that silence is no."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from command import COMMAND, environment
from tools_desk import code
from treewright.cli.consent import ask_user
from treewright.tools.base import Card

TOOLS = '''
from pathlib import Path
from treewright import tool


@tool(effect="commit")
def send(to: str) -> None:
    """Send a mail."""
    with Path("outbox").open("a") as file:
        file.write(to)
'''


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, dict[str, object]], tuple[bool, str]]:
    def asked(typed: str, arguments: dict[str, object]) -> tuple[bool, str]:
        shown = Terminal()
        monkeypatch.setattr(sys, "stdin", Terminal(typed))
        monkeypatch.setattr(sys, "stderr", shown)
        allow = ask_user()
        assert allow is not None
        allowed = asyncio.run(_awaited(allow, arguments))
        return allowed, shown.getvalue()

    return asked


async def _awaited(allow: object, arguments: dict[str, object]) -> bool:
    assert callable(allow)
    allowed: bool = await allow(Card("send", "Send."), arguments)
    return allowed


Asked = Callable[[str, dict[str, object]], tuple[bool, str]]


@pytest.mark.parametrize(
    ("typed", "allowed"),
    [("y\n", True), ("Yes \n", True), ("n\n", False), ("\n", False), ("", False), ("yep\n", False), ("no y\n", False)],
)
def test_only_a_plain_yes_allows(asked: Asked, typed: str, allowed: bool) -> None:
    assert asked(typed, {})[0] is allowed


def test_the_question_names_the_tool_and_shows_the_arguments(asked: Asked) -> None:
    shown = asked("n\n", {"to": "ann@例え.jp", "count": 3})[1]
    assert "send is not taken back once it is called" in shown
    assert '"to": "ann@例え.jp"' in shown
    assert '"count": 3' in shown
    assert shown.endswith("call it? (y/N)\n")


def test_arguments_cannot_steer_the_terminal(asked: Asked) -> None:
    shown = asked("n\n", {"to": "\x1b[2Kann\r\x9b"})[1]
    assert not [letter for letter in shown if ord(letter) < 32 and letter != "\n"]
    assert "\x9b" not in shown


def test_what_is_too_long_to_show_says_that_there_is_more(asked: Asked) -> None:
    shown = asked("n\n", {"text": "a" * 5000})[1]
    assert "characters more" in shown
    assert len(shown) < 2500
    assert "characters more" not in asked("n\n", {"text": "a" * 50})[1]


@pytest.mark.parametrize(("stdin", "stderr"), [(io.StringIO, Terminal), (Terminal, io.StringIO)])
def test_without_a_terminal_there_is_nobody_to_ask(
    monkeypatch: pytest.MonkeyPatch, stdin: type[io.StringIO], stderr: type[io.StringIO]
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin("y\n"))
    monkeypatch.setattr(sys, "stderr", stderr())
    assert ask_user() is None


def test_with_standard_input_closed_there_is_nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert ask_user() is None


def on_a_terminal(home: Path, typed: str, *arguments: str) -> tuple[int, str, str]:
    """The command with a terminal for its input and errors; `typed` is typed when it asks."""
    ours, theirs = pty.openpty()
    variables = environment(TERM="xterm-256color", TREEWRIGHT_JOURNAL=str(home / "own.db"))
    command = [*COMMAND, *arguments]
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, cwd=home, env=variables, text=True,
        start_new_session=True, preexec_fn=_take_terminal,
    ) as process:  # fmt: skip
        os.close(theirs)
        watch = threading.Timer(60, process.kill)
        watch.start()
        got, answered = b"", False
        with suppress(OSError):  # what a terminal gives when nobody holds its other end any more
            while more := os.read(ours, 65536):
                got += more
                if not answered and b"(y/N)" in got:
                    os.write(ours, typed.encode())
                    answered = True
        os.close(ours)
        assert process.stdout is not None
        out = process.stdout.read()
        watch.cancel()
    return process.returncode, out, got.decode()


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C typed there is a signal here


ASK = ("ask", "Tell Ann.", "--tools", "tools.py", "--model", "scripted:talk.jsonl", "--sandbox", "process")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS)
    row = json.dumps({"reply": code("send('ann')\nfinal_answer('sent')")})
    (tmp_path / "talk.jsonl").write_text(f"{row}\n" * 3)
    return tmp_path


@pytest.mark.parametrize(("typed", "sent", "told"), [("y\n", True, "send: done"), ("\n", False, "send: not allowed")])
def test_on_a_terminal_the_user_decides(home: Path, typed: str, sent: bool, told: str) -> None:
    status, out, shown = on_a_terminal(home, typed, *ASK)
    assert (status, out) == (0, "sent\n")
    assert shown.count("call it? (y/N)") == 1
    assert told in shown
    assert (home / "outbox").exists() == sent


def test_ctrl_c_at_the_question_calls_nothing_and_the_question_comes_again(home: Path) -> None:
    status, out, shown = on_a_terminal(home, "\x03", *ASK)
    assert (status, out) == (130, "")
    assert "Traceback" not in shown
    assert "to go on: treewright resume" in shown
    assert not (home / "outbox").exists()
    status, out, _ = on_a_terminal(home, "y\n", "resume", "last")
    assert (status, out, (home / "outbox").read_text()) == (0, "sent\n", "ann")
