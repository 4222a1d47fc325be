"""Equality within a tolerance, with the meaning of `pytest.approx`. Standard library only: it is also sent into the checker."""

from __future__ import annotations

import cmath
import math

DEFAULT_REL = 1e-6
DEFAULT_ABS = 1e-12


class Approx:
    """Equals what differs from `expected` by at most max(rel * |expected|, abs); number by number in lists, tuples, dicts."""

    __hash__ = None  # type: ignore[assignment]  # equality is not transitive

    def __init__(self, expected: object, rel: float | None = None, abs: float | None = None, nan_ok: bool = False) -> None:
        self._expected, self._nan_ok = expected, nan_ok
        self._abs = DEFAULT_ABS if abs is None else abs
        # As in pytest: an absolute tolerance alone switches the relative one off.
        self._rel = rel if rel is not None else (DEFAULT_REL if abs is None else 0.0)

    def __eq__(self, actual: object) -> bool:
        return self._same(actual, self._expected)

    def __repr__(self) -> str:
        return f"approx({self._expected!r})"

    def _same(self, actual: object, expected: object) -> bool:
        if isinstance(expected, dict):
            return (
                isinstance(actual, dict)
                and actual.keys() == expected.keys()
                and all(self._same(actual[key], value) for key, value in expected.items())
            )
        if isinstance(expected, list | tuple):
            return isinstance(actual, list | tuple) and len(actual) == len(expected) and all(map(self._same, actual, expected))
        if isinstance(expected, int | float | complex) and isinstance(actual, int | float | complex):
            return self._close(actual, expected)
        return actual == expected

    def _close(self, actual: complex, expected: complex) -> bool:
        if actual == expected:
            return True
        if cmath.isnan(expected):
            return self._nan_ok and cmath.isnan(actual)
        if cmath.isinf(expected) or cmath.isinf(actual):
            return False
        try:
            distance = abs(actual - expected)
        except OverflowError:
            return False
        return distance <= max(self._rel * abs(expected), self._abs) and not math.isnan(distance)
