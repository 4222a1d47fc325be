"""Cases: how a job begins and ends, and what becomes of its input and output."""

from __future__ import annotations

import time

from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.conformance.tools import outcome


async def ends_well(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "print('out'); import sys; print('err', file=sys.stderr)")
    assert (ended.status, ended.code, ended.signal) == ("ok", 0, None)
    assert (ended.stdout, ended.stderr) == (b"out\n", b"err\n")
    assert ended.wall_s > 0


async def tells_the_exit_code(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "print('before', flush=True); raise SystemExit(7)")
    assert (ended.status, ended.code, ended.stdout) == ("error", 7, b"before\n")
    for leave in ("exit", "quit"):  # programs rely on them, though only the module `site` makes them
        assert (await outcome(sandbox, f"{leave}(3)")).code == 3


async def tells_the_signal_of_a_crash(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "import os; os.abort()")
    assert (ended.status, ended.code, ended.signal) == ("error", None, 6)
    assert "SIGABRT" in ended.detail


async def shows_an_uncaught_exception(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "def f():\n    return 1 / 0\nf()")
    assert (ended.status, ended.code) == ("error", 1)
    assert b"line 2, in f" in ended.stderr
    assert ended.stderr.rstrip().endswith(b"ZeroDivisionError: division by zero")


async def refuses_what_is_not_python(sandbox: Sandbox) -> None:
    for source in ("x = (", "x = '\0'", "\ud800"):
        ended = await outcome(sandbox, source)
        assert ended.status == "error", (source, ended)
        assert b"Error" in ended.stderr


async def is_the_main_module(sandbox: Sandbox) -> None:
    source = """
from __future__ import annotations
import dataclasses, pickle, sys
@dataclasses.dataclass
class Point:
    x: int
    y: "list[int]" = dataclasses.field(default_factory=list)
assert pickle.loads(pickle.dumps(Point(1))) == Point(1)
assert len(sys.argv) == 1
print(__name__, "\N{SNOWMAN}")
"""
    ended = await outcome(sandbox, source)
    assert ended.stdout.decode() == "__main__ \N{SNOWMAN}\n", ended.stderr.decode()


async def gives_standard_input_and_then_its_end(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * 2000
    source = "import sys; data = sys.stdin.buffer.read(); print(len(data), sum(data), sys.stdin.buffer.read())"
    ended = await outcome(sandbox, source, stdin=data)
    assert ended.stdout == f"{len(data)} {sum(data)} b''\n".encode()


async def has_empty_input_by_default(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "try: input()\nexcept EOFError: print('end')")
    assert ended.stdout == b"end\n"


async def keeps_bytes_as_they_are(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "import os; os.write(1, bytes(range(256))); os.write(2, b'\\xff\\x00')")
    assert (ended.stdout, ended.stderr) == (bytes(range(256)), b"\xff\x00")


async def ends_a_flood_of_output(sandbox: Sandbox) -> None:
    for stream in (1, 2):
        started = time.monotonic()
        source = f"import os\nwhile True: os.write({stream}, b'x' * 65536)"
        ended = await outcome(sandbox, source, limits=Limits(output_kb=64, wall_s=20, cpu_s=20))
        assert ended.status == "output"
        assert len((ended.stdout, ended.stderr)[stream - 1]) == 64 * 1024
        assert time.monotonic() - started < 15


async def allows_output_up_to_the_cap(sandbox: Sandbox) -> None:
    ended = await outcome(sandbox, "import os; os.write(1, b'x' * 8192)", limits=Limits(output_kb=8))
    assert (ended.status, len(ended.stdout)) == ("ok", 8192)


async def keeps_output_of_what_it_ends(sandbox: Sandbox) -> None:
    source = "import time; print('so far', flush=True); time.sleep(60)"
    ended = await outcome(sandbox, source, limits=Limits(wall_s=1.5))
    assert (ended.status, ended.stdout) == ("timeout", b"so far\n")
