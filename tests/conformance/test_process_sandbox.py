from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext

import pytest

from conformance import sandbox_suite
from treewright.sandbox.base import Sandbox
from treewright.sandbox.process import ProcessSandbox


def process_sandbox() -> AbstractAsyncContextManager[Sandbox]:
    return nullcontext(ProcessSandbox())


@pytest.mark.parametrize("case", sandbox_suite.CASES + sandbox_suite.COMMAND_CASES, ids=lambda case: case.__name__)
def test_a_process_of_its_own(case: sandbox_suite.Case) -> None:
    sandbox_suite.run_case(case, process_sandbox)
