from __future__ import annotations

import math
import sys
from types import ModuleType
from typing import Any

import pytest

from treewright.sandbox.judging.stand_ins import install


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    modules: dict[str, ModuleType | None] = {"pytest": sys.modules["pytest"], "numpy": None}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)  # None: as if it were not installed
    install(["pytest", "numpy"])
    return sys.modules["pytest"], sys.modules["numpy"]


def fail(error: Exception) -> None:
    raise error


def test_raises_wants_the_exception_and_its_text(stand_ins: tuple[Any, Any]) -> None:
    stand_in, _ = stand_ins
    with stand_in.raises(ValueError, match="b+") as caught:
        fail(ValueError("abbc"))
    assert str(caught.value) == "abbc"
    assert caught.type is ValueError
    with stand_in.raises((KeyError, ValueError)):
        fail(KeyError(1))
    stand_in.raises(ZeroDivisionError, lambda x: 1 / x, 0)
    with pytest.raises(AssertionError, match="did not raise"), stand_in.raises(ValueError):
        pass
    with pytest.raises(AssertionError, match="does not match"), stand_in.raises(ValueError, match="z"):
        fail(ValueError("a"))
    with pytest.raises(KeyError), stand_in.raises(ValueError):
        fail(KeyError(1))
    with pytest.raises(AssertionError, match="why"):
        stand_in.fail("why")


def test_parametrized_tests_run_with_each_set(stand_ins: tuple[Any, Any]) -> None:
    seen = []

    def body(a: int, b: int, c: str) -> None:
        seen.append((a, b, c))

    mark = stand_ins[0].mark
    marked = mark.slow(mark.skipif(False, reason="never")(body))
    mark.parametrize("a, b", [(1, 2), [3, 4]])(mark.parametrize("c", "xy")(marked))()
    assert seen == [(1, 2, "x"), (1, 2, "y"), (3, 4, "x"), (3, 4, "y")]


@pytest.mark.parametrize(
    ("left", "right", "close"),
    [
        (1.0, 1.0 + 1e-9, True),
        (1.0, 1.1, False),
        ([1.0, (2, 3)], ([1.0, [2.0, 3.0]]), True),
        ([1, 2], 1, False),
        (1, [1, 1.0], True),
        (math.inf, math.inf, True),
        (1.0, math.inf, False),
        (math.nan, math.nan, False),
        (True, 1, True),
    ],
)
def test_close_means_what_numpy_means(stand_ins: tuple[Any, Any], left: object, right: object, close: bool) -> None:
    assert stand_ins[1].allclose(left, right) is close


def test_what_numpy_refuses_is_refused(stand_ins: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="broadcast"):
        stand_ins[1].allclose([1, 2], [1])
    for odd in (None, "a", {1}):
        with pytest.raises(TypeError):
            stand_ins[1].allclose(odd, 1)
    assert not isinstance([1], stand_ins[1].ndarray)
    with pytest.raises(AttributeError):
        stand_ins[1].array([1])


def test_nothing_is_installed_that_was_not_asked_for() -> None:
    before = sys.modules["pytest"]
    install(["math"])
    assert sys.modules["pytest"] is before
