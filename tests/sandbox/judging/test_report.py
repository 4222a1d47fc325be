from __future__ import annotations

from treewright.sandbox.judging.report import Report, TestResult


def test_rates_count_passes_among_all_tests() -> None:
    passed, failed = TestResult("a", "pass"), TestResult("b", "fail")
    assert (Report((passed, failed)).passed, Report((passed, failed)).total) == (1, 2)
    assert Report((passed, failed)).pass_rate == 0.5
    assert not Report((passed, failed)).all_passed
    assert Report((passed, passed)).all_passed
    assert not Report((passed, TestResult("c", "unavailable"))).all_passed


def test_without_tests_nothing_has_passed() -> None:
    assert (Report(()).pass_rate, Report(()).all_passed) == (0.0, False)
