from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import pytest

from treewright.sandbox.base import Limits
from treewright.sandbox.verdicts import Ending, outcome

LIMITS = Limits(wall_s=10, cpu_s=2, memory_mb=100, output_kb=1, disk_mb=3)
PLAIN = Ending(code=0, cause=None, reached=True, stdout=b"o", stderr=b"e", wall_s=1.0, cpu_s=0.5, memory_mb=10.0)


@pytest.mark.parametrize(
    ("changes", "status", "detail"),
    [
        ({}, "ok", ""),
        ({"code": 3}, "error", "exit code 3"),
        ({"code": -signal.SIGSEGV}, "error", "SIGSEGV"),
        ({"code": -77}, "error", "77"),
        ({"code": -signal.SIGKILL, "cause": "timeout"}, "timeout", "10 s"),
        ({"code": -signal.SIGKILL, "cause": "output"}, "output", "1 KiB"),
        ({"code": -signal.SIGKILL, "cause": "killed"}, "killed", "caller"),
        ({"code": -signal.SIGKILL}, "killed", "outside"),
        ({"code": 0, "cause": "killed"}, "ok", ""),  # it was quicker
        ({"code": 5, "cause": "timeout"}, "error", "exit code 5"),
        ({"code": 0, "cause": "output"}, "output", "1 KiB"),
        ({"code": -signal.SIGXCPU, "cpu_s": 2.01}, "timeout", "processor"),
        ({"code": -signal.SIGXCPU, "cpu_s": 1.7}, "timeout", "processor"),  # by its own count it was there
        ({"code": -signal.SIGKILL, "cpu_s": 3.0}, "timeout", "processor"),
        ({"code": -signal.SIGKILL, "cpu_s": 1.9}, "killed", "outside"),
        ({"code": -signal.SIGXCPU, "cpu_s": 0.1}, "error", "SIGXCPU"),  # sent by itself
        ({"code": -signal.SIGALRM, "wall_s": 11.0}, "timeout", "10 s"),
        ({"code": -signal.SIGALRM}, "error", "SIGALRM"),
        ({"code": -signal.SIGSYS}, "denied", "not allowed"),
        ({"code": -signal.SIGXFSZ}, "error", "3 MiB"),
        ({"code": 1, "stderr": b"Traceback\nMemoryError\n"}, "memory", "100 MiB"),
        ({"code": 1, "stderr": b"Traceback\nMemoryError: no room\n"}, "memory", "100 MiB"),
        (
            {"code": 1, "stderr": b"numpy._core._exceptions._ArrayMemoryError: Unable to allocate 1. GiB: x.y"},
            "memory",
            "100 MiB",
        ),
        ({"code": 1, "stderr": b"pyarrow.lib.ArrowMemoryError: malloc of size 64 failed"}, "memory", "100 MiB"),
        ({"code": 1, "stderr": b"MemoryError\nValueError: x"}, "error", "exit code 1"),
        ({"code": 1, "stderr": b"ValueError: numpy.MemoryError"}, "error", "exit code 1"),
        ({"code": 1, "stderr": b"BadMemoryError: x"}, "error", "exit code 1"),
        ({"code": 2, "stderr": b"MemoryError"}, "error", "exit code 2"),
        ({"code": -signal.SIGABRT, "memory_mb": 95.0}, "memory", "100 MiB"),
        ({"code": -signal.SIGABRT, "memory_mb": 50.0}, "error", "SIGABRT"),
        ({"code": 1, "reached": False, "stderr": b"no python\n"}, "unavailable", "no python"),
        ({"code": -signal.SIGSEGV, "reached": False, "stderr": b""}, "unavailable", "did not start"),
    ],
)
def test_each_end_has_its_status(changes: dict[str, Any], status: str, detail: str) -> None:
    found = outcome(replace(PLAIN, **changes), LIMITS)
    assert found.status == status
    assert detail in found.detail


def test_what_was_observed_is_handed_on() -> None:
    found = outcome(replace(PLAIN, code=-6), LIMITS)
    assert (found.code, found.signal) == (None, 6)
    assert (found.stdout, found.stderr, found.wall_s, found.cpu_s, found.memory_mb) == (b"o", b"e", 1.0, 0.5, 10.0)
    assert (outcome(PLAIN, LIMITS).code, outcome(PLAIN, LIMITS).signal) == (0, None)
