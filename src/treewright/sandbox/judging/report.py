"""What became of the tests of one program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from treewright.sandbox.judging.session import Verdict


@dataclass(frozen=True, slots=True)
class TestResult:
    """What became of one test.

    Args:
        test: its text; for an example of a whole program, its name.
        verdict: "pass"; "fail" a wrong answer; "error" the program raised an exception, crashed or interfered with its tests;
            "timeout", "memory", "output", "denied" it went past that limit; "killed" it was ended from outside.
        expected: what should have come, as text.
        actual: what came.
        detail: the exception with the lines of program.py that led to it; which limit; how a test was run.
        seconds: wall time of the test, >= 0.
        cpu_s: seconds of processor time, for an example of a whole program; 0 where it is not known.
    """

    __test__: ClassVar[bool] = False  # not a class of tests, whatever a test runner makes of its name

    test: str
    verdict: Verdict
    expected: str = ""
    actual: str = ""
    detail: str = ""
    seconds: float = 0.0
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """What became of all tests of one program.

    Args:
        results: one for each single check, in the order of the tests; the number depends on the task alone.
        error: why the program did not load; then no result is a pass. Empty if it loaded.
        stdout: what the program printed, cut.
        level: the isolation it ran under, `Sandbox.level`.
    """

    results: tuple[TestResult, ...]
    error: str = ""
    stdout: str = ""
    level: str = ""

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(result.verdict == "pass" for result in self.results)

    @property
    def total(self) -> int:
        """How many tests there were."""
        return len(self.results)

    @property
    def pass_rate(self) -> float:
        """Share of passed tests, in [0, 1]; 0.0 without tests."""
        return self.passed / self.total if self.results else 0.0

    @property
    def all_passed(self) -> bool:
        """Whether there were tests and all passed."""
        return bool(self.results) and self.passed == self.total
