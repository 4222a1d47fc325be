"""In the checker: what tests use of pytest, and of numpy where that is not installed. Part of the checker's program.

pytest's own `raises` and `approx` would do, but importing pytest takes longer than most tests. Of numpy there is what the
EvalPlus tests use; anything else is an AttributeError, which says so.
"""

from __future__ import annotations

import math
import sys
from types import ModuleType, TracebackType

from treewright.sandbox.judging.approx import Approx

TYPE_CHECKING = False
if TYPE_CHECKING:  # not the one of typing, for importing that takes longer than all the rest
    from collections.abc import Callable, Iterable, Sequence


class Raises:
    """`with pytest.raises(ValueError, match="..."):`."""

    def __init__(self, kind: type[BaseException] | tuple[type[BaseException], ...], match: str | None = None) -> None:
        self._kind, self._match = kind, match
        self.value: BaseException | None = None
        self.type: type[BaseException] | None = None

    def __enter__(self) -> Raises:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if kind is None or error is None:
            raise AssertionError(f"did not raise {self._kind}")
        if not issubclass(kind, self._kind):
            return False
        import re  # not needed by most tests

        if self._match is not None and not re.search(self._match, str(error)):
            raise AssertionError(f"raised {error!r}, whose text does not match {self._match!r}")
        self.value, self.type = error, kind
        return True


def _raises(
    kind: type[BaseException] | tuple[type[BaseException], ...],
    function: Callable[..., object] | None = None,
    *arguments: object,
    match: str | None = None,
    **keywords: object,
) -> Raises:
    context = Raises(kind, match)
    if function is not None:
        with context:
            function(*arguments, **keywords)
    return context


def _fail(reason: str = "") -> None:
    raise AssertionError(reason)


class _Mark:
    """`pytest.mark`: parametrized tests run with each set of arguments, other marks change nothing."""

    @staticmethod
    def parametrize(names: str | Sequence[str], sets: Iterable[object], **_: object) -> Callable[..., Callable[[], None]]:
        words = [word.strip() for word in names.split(",")] if isinstance(names, str) else list(names)

        def mark(test: Callable[..., object]) -> Callable[[], None]:
            def run(**given: object) -> None:
                for values in sets:
                    row = [values] if len(words) == 1 else list(values)  # type: ignore[call-overload]  # as pytest wants it
                    test(**dict(zip(words, row, strict=True)), **given)

            return run

        return mark

    def __getattr__(self, name: str) -> Callable[..., object]:
        def mark(*arguments: object, **_: object) -> object:
            return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else mark

        return mark


def _all_close(left: object, right: object, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        if len(left) != len(right):
            raise ValueError(f"operands could not be broadcast together with shapes ({len(left)},) ({len(right)},)")
        return all(_all_close(*pair, rtol, atol, equal_nan) for pair in zip(left, right, strict=True))
    if isinstance(left, list | tuple):
        return all(_all_close(item, right, rtol, atol, equal_nan) for item in left)
    if isinstance(right, list | tuple):
        return all(_all_close(left, item, rtol, atol, equal_nan) for item in right)
    if not (isinstance(left, int | float | complex) and isinstance(right, int | float | complex)):
        raise TypeError("ufunc 'isfinite' not supported for the input types")
    if left == right:
        return True
    if left != left or right != right:
        return equal_nan and left != left and right != right
    if isinstance(right, int | float) and math.isinf(right):
        return False
    return abs(left - right) <= atol + rtol * abs(right)


def install(names: Iterable[str]) -> None:
    """Put the stand-ins among the imported modules, for those of `names` that need one."""
    if "pytest" in names:
        sys.modules["pytest"] = _module("pytest", approx=Approx, raises=_raises, fail=_fail, mark=_Mark())
    if "numpy" in names:
        try:
            import numpy  # type: ignore[import-not-found]  # noqa: F401
        except ImportError:
            kinds = {name: type(name, (), {}) for name in ("ndarray", "float32", "float64")}
            constants = {"inf": math.inf, "nan": math.nan, "pi": math.pi}
            sys.modules["numpy"] = _module("numpy", allclose=_all_close, isclose=_all_close, **kinds, **constants)


def _module(name: str, **contents: object) -> ModuleType:
    module = ModuleType(name, "A stand-in with the few functions that tests use.")
    module.__dict__.update(contents)
    return module
