from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, nullcontext

import pytest

from sandbox_homes import namespaces
from treewright.sandbox import conformance
from treewright.sandbox.base import Sandbox
from treewright.sandbox.namespaces import NamespaceSandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[NamespaceSandbox]:
    with namespaces() as opened:
        yield opened


@pytest.mark.parametrize("case", conformance.CASES + conformance.COMMAND_CASES, ids=lambda case: case.__name__)
def test_namespaces_of_its_own(case: conformance.Case, sandbox: NamespaceSandbox) -> None:
    def factory() -> AbstractAsyncContextManager[Sandbox]:
        return nullcontext(sandbox)

    conformance.run_case(case, factory)
