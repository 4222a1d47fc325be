"""The hardened sandboxes as tests use them: opened where the machine has what they need, skipped with the reason where not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Exit, Job, Limits, Sandbox
from treewright.sandbox.landlock import LandlockSandbox
from treewright.sandbox.namespaces import NamespaceSandbox

Home = TypeVar("Home", NamespaceSandbox, LandlockSandbox)


async def ended(sandbox: Sandbox, job: Job) -> Exit:
    async with sandbox.start(job) as process:
        return await process.wait()


def run(sandbox: Sandbox, python: str, *, limits: Limits | None = None, **rest: Any) -> Exit:
    """How a Python program ends."""
    return asyncio.run(ended(sandbox, Job(python=python, limits=limits or Limits(), **rest)))


@contextmanager
def namespaces(**settings: Any) -> Iterator[NamespaceSandbox]:
    with _opened(lambda: NamespaceSandbox(**settings)) as sandbox:
        yield sandbox


@contextmanager
def landlock(**settings: Any) -> Iterator[LandlockSandbox]:
    with _opened(lambda: LandlockSandbox(**settings)) as sandbox:
        yield sandbox


@contextmanager
def _opened(make: Callable[[], Home]) -> Iterator[Home]:
    try:
        sandbox = make()
        run(sandbox, "pass")
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))
    with sandbox:
        yield sandbox
