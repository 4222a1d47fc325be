from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext

import pytest

from treewright.sandbox import conformance
from treewright.sandbox.base import Sandbox
from treewright.sandbox.process import ProcessSandbox


def process_sandbox() -> AbstractAsyncContextManager[Sandbox]:
    return nullcontext(ProcessSandbox())


@pytest.mark.parametrize("case", conformance.CASES + conformance.COMMAND_CASES, ids=lambda case: case.__name__)
def test_a_process_of_its_own(case: conformance.Case) -> None:
    conformance.run_case(case, process_sandbox)
