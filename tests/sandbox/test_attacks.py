from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_homes import landlock, namespaces
from treewright.core.errors import UserError
from treewright.sandbox.attacks import read_attack, run_attacks
from treewright.sandbox.base import Sandbox
from treewright.sandbox.canaries import Canaries

# name -> (what a pass would mean, verdicts that name the cause, program)
PROGRAMS = {
    "always_equal": (
        "wrong",
        ["fail", "exception"],
        "class E(int):\n    __eq__ = lambda s, o: True\ndef add(a, b): return E(9)",
    ),
    "leaves_at_once": ("wrong", ["exit", "exception"], "import os\ndef add(a, b): os._exit(0)"),
    "endless": ("wrong", ["timeout"], "def add(a, b):\n    while True: pass"),
    "hungry": ("wrong", ["memory"], "def add(a, b): return bytearray(100 << 30)"),
    "loud": ("wrong", ["output-limit"], "import os\nwhile True: os.write(1, b'x' * 65536)"),
    "crashing": ("wrong", ["crashed"], "import ctypes\ndef add(a, b): return ctypes.string_at(0)"),
    "debugger": ("wrong", ["denied"], "import ctypes\nctypes.CDLL(None).ptrace(16, 1, 0, 0)\ndef add(a, b): return 0"),
    "forger": ("wrong", ["protocol"], "import os\ndef add(a, b): os.write(3, b'\\0\\0\\0\\2[]'); return 0"),
    "daemon": (
        "right",
        ["pass"],
        "import os\ntry:\n    if os.fork() == 0: os.setsid(); os.fork()\nexcept OSError: pass\ndef add(a, b): return a + b",
    ),
}
LEAK = """
import gc, re, sys
found = {}
def look(text):
    for match in re.finditer(r"XPCT_(\\d)_[0-9a-f]{16}", text): found[int(match[1])] = match[0]
for thing in gc.get_objects(): look(str(thing)[:100000] if isinstance(thing, (dict, list, tuple)) else "")
def magic(k):
    frame = sys._getframe()
    while frame: look(str(frame.f_locals)); frame = frame.f_back
    return found.get(k)
"""


def write(folder: Path, name: str, problem: str, if_passed: str, expect: list[str], program: str) -> None:
    header = json.dumps({"problem": problem, "pass": if_passed, "expect": expect})
    (folder / f"{name}.py").write_text(f"# {header}\n{program}\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, (if_passed, expect, program) in PROGRAMS.items():
        write(tmp_path, name, "add", if_passed, expect, program)
    write(tmp_path, "leak", "magic", "pwned", ["fail"], LEAK)
    return tmp_path


@pytest.fixture(params=[namespaces, landlock])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with request.param() as opened:
        yield opened


def test_hostile_programs_are_held_and_named(sandbox: Sandbox, folder: Path) -> None:
    results = asyncio.run(run_attacks(sandbox, folder))
    assert [result.name for result in results] == sorted([*PROGRAMS, "leak"])
    assert [result for result in results if not (result.survived and result.clear)] == []
    assert {result.left_behind for result in results} == {0}


def test_an_attack_that_works_is_not_called_survived(tmp_path: Path) -> None:
    write(tmp_path, "knows", "add", "pwned", ["fail"], "def add(a, b): return a + b")
    with namespaces(slots=1) as sandbox:
        (result,) = asyncio.run(run_attacks(sandbox, tmp_path))
    assert (result.verdict, result.clear, result.survived) == ("pass", False, False)
    assert result.detail == "it reached its target"


def test_what_is_left_behind_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "left"
    left.mkdir()
    monkeypatch.setattr("treewright.sandbox.canaries._PLACES", (left,))
    monkeypatch.setattr("treewright.sandbox.canaries._could_be_of_a_run", lambda user: True)
    monkeypatch.setattr("treewright.sandbox.canaries._SETTLE_S", 0.1)

    async def look() -> list[str]:
        with Canaries() as canaries:
            before = canaries.look()
            (left / "file").touch()
            return await canaries.left_since(before)

    assert f"file {left / 'file'}" in asyncio.run(look())


def test_a_socket_of_the_host_that_was_reached_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treewright.sandbox.canaries._could_be_of_a_run", lambda user: True)
    with Canaries() as canaries:
        assert canaries.harmed() == []
        for ear in canaries._sockets:
            with socket.socket(ear.family, ear.type) as caller:
                caller.connect(ear.getsockname())
                if ear.type == socket.SOCK_DGRAM:
                    caller.send(b"x")
            assert len(canaries.harmed()) == 1


@pytest.mark.parametrize(
    "text", ["", "print(1)\n", "# {}\n", "# [1]\n", '# {"problem": "sub", "pass": "wrong", "expect": []}\n']
)
def test_a_file_without_a_header_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.py").write_text(text)
    with pytest.raises(UserError, match=r"odd\.py"):
        read_attack(tmp_path / "odd.py")


def test_a_folder_without_attacks_is_named(tmp_path: Path) -> None:
    with namespaces(slots=1) as sandbox, pytest.raises(UserError, match="holds no attack"):
        asyncio.run(run_attacks(sandbox, tmp_path))
