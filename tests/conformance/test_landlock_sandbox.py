from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, nullcontext

import pytest

from conformance import sandbox_suite
from sandbox_homes import landlock
from treewright.sandbox.base import Sandbox
from treewright.sandbox.landlock import LandlockSandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LandlockSandbox]:
    with landlock() as opened:
        yield opened


@pytest.mark.parametrize("case", sandbox_suite.CASES, ids=lambda case: case.__name__)
def test_landlock_and_filters(case: sandbox_suite.Case, sandbox: LandlockSandbox) -> None:
    def factory() -> AbstractAsyncContextManager[Sandbox]:
        return nullcontext(sandbox)

    sandbox_suite.run_case(case, factory)
