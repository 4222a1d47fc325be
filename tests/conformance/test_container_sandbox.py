from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, nullcontext

import pytest

import scripted_engine
from treewright.core.errors import SandboxUnavailable
from treewright.sandbox import conformance
from treewright.sandbox.base import Sandbox
from treewright.sandbox.container import ContainerSandbox
from treewright.sandbox.container.engine import EngineName
from treewright.sandbox.probe import prove

CASES = conformance.CASES + conformance.COMMAND_CASES


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContainerSandbox]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        scripted_engine.install(tmp_path_factory.mktemp("engine"), monkeypatch)
        sandbox = ContainerSandbox("docker")
        yield sandbox
        sandbox.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_scripted_engine(case: conformance.Case, scripted: ContainerSandbox) -> None:
    def factory() -> AbstractAsyncContextManager[Sandbox]:
        return nullcontext(scripted)

    conformance.run_case(case, factory)


@pytest.fixture(scope="module", params=["podman", "docker"])
def real(request: pytest.FixtureRequest) -> Iterator[ContainerSandbox]:
    engine: EngineName = request.param
    if engine not in os.environ.get("TREEWRIGHT_ENGINES", ""):  # they take a minute, and an engine of ours may stand in the way
        pytest.skip(f"set TREEWRIGHT_ENGINES={engine} to try the engine of this machine")
    try:
        sandbox = ContainerSandbox(engine)
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))
    yield sandbox
    sandbox.close()


def test_an_engine_of_this_machine_proves_itself(real: ContainerSandbox) -> None:
    assert asyncio.run(prove(real)) == ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_an_engine_of_this_machine(case: conformance.Case, real: ContainerSandbox) -> None:
    def factory() -> AbstractAsyncContextManager[Sandbox]:
        return nullcontext(real)

    conformance.run_case(case, factory)
