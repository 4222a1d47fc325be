"""The `Model` suite over every adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from conformance.model_suite import CHECKS, PROMPTS, Subject, asked
from local_weights import needs_weights
from stub_server import StubServer
from treewright.models.base import Model, Request
from treewright.models.local import LocalModel
from treewright.models.provider import ProviderModel
from treewright.models.script_rows import Row
from treewright.models.scripted import Scripted

Check = Callable[[Subject], Awaitable[None]]


@asynccontextmanager
async def scripted() -> AsyncIterator[Model]:
    async with Scripted([Row(f"I {prompt}", when=prompt, latency_s=0.01) for prompt in PROMPTS * 3]) as model:
        yield model


@asynccontextmanager
async def scripted_broken() -> AsyncIterator[tuple[Model, Request]]:
    async with Scripted([Row(fail="500")]) as model:
        yield model, asked("x")


@asynccontextmanager
async def provider() -> AsyncIterator[Model]:
    async with StubServer("ok") as stub, ProviderModel(f"openai:stub@{stub.url}", timeout_s=30) as model:
        yield model


@asynccontextmanager
async def provider_broken() -> AsyncIterator[tuple[Model, Request]]:
    async with StubServer("empty") as stub, ProviderModel(f"openai:stub@{stub.url}", timeout_s=30) as model:
        yield model, asked("x")


@asynccontextmanager
async def local() -> AsyncIterator[Model]:
    async with LocalModel(slots=2, context=2048) as model:
        yield model


@asynccontextmanager
async def local_broken() -> AsyncIterator[tuple[Model, Request]]:
    async with LocalModel(slots=1, context=256) as model:
        yield model, asked("word " * 600)


SUBJECTS = [
    pytest.param(Subject("scripted", scripted, scripted_broken, "server"), id="scripted"),
    pytest.param(Subject(None, provider, provider_broken, "garbled"), id="provider"),
    pytest.param(Subject("local", local, local_broken, "context"), id="local", marks=[pytest.mark.local, needs_weights]),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_adapter(subject: Subject, check: Check) -> None:
    async def run() -> None:
        await check(subject)

    asyncio.run(run())
