from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, nullcontext

import pytest

from sandbox_homes import landlock
from treewright.sandbox import conformance
from treewright.sandbox.base import Sandbox
from treewright.sandbox.landlock import LandlockSandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[LandlockSandbox]:
    with landlock() as opened:
        yield opened


@pytest.mark.parametrize("case", conformance.CASES, ids=lambda case: case.__name__)
def test_landlock_and_filters(case: conformance.Case, sandbox: LandlockSandbox) -> None:
    def factory() -> AbstractAsyncContextManager[Sandbox]:
        return nullcontext(sandbox)

    conformance.run_case(case, factory)
