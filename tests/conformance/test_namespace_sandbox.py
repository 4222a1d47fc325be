from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, nullcontext

import pytest

from conformance import sandbox_suite
from sandbox_homes import namespaces
from treewright.sandbox.base import Sandbox
from treewright.sandbox.namespaces import NamespaceSandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[NamespaceSandbox]:
    with namespaces() as opened:
        yield opened


@pytest.mark.parametrize("case", sandbox_suite.CASES + sandbox_suite.COMMAND_CASES, ids=lambda case: case.__name__)
def test_namespaces_of_its_own(case: sandbox_suite.Case, sandbox: NamespaceSandbox) -> None:
    def factory() -> AbstractAsyncContextManager[Sandbox]:
        return nullcontext(sandbox)

    sandbox_suite.run_case(case, factory)
