"""The `Toolbox` suite over a real MCP server and a real HTTP API."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from api_server import ApiServer
from conformance.toolbox_suite import CHECKS, Call, Subject
from treewright.tools.base import Toolbox
from treewright.tools.mcp import from_mcp_config
from treewright.tools.openapi import from_openapi

SERVER = str(Path(__file__).parent.parent / "mcp_server.py")
ITEM = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
API = {
    "openapi": "3.1.0",
    "info": {"title": "Items", "version": "1"},
    "paths": {
        "/items/{id}": {"get": {"operationId": "item", "parameters": [ITEM]}},
        "/page": {"get": {"operationId": "page"}},
        "/slow": {"get": {"operationId": "slow"}},
        "/text": {"get": {"operationId": "text"}},
    },
}


@asynccontextmanager
async def mcp() -> AsyncIterator[Toolbox]:
    (server,) = from_mcp_config({"mcpServers": {"workshop": {"command": sys.executable, "args": [SERVER]}}})
    async with server:
        yield server


@asynccontextmanager
async def openapi() -> AsyncIterator[Toolbox]:
    pytest.importorskip("fastmcp", reason="the extra `openapi` is not installed")
    with TemporaryDirectory() as folder:
        async with ApiServer() as server, from_openapi(written(folder), base=server.url, call_timeout_s=2) as toolbox:
            yield toolbox


def written(folder: str) -> Path:
    path = Path(folder, "items.json")
    path.write_text(json.dumps(API))
    return path


WORKSHOP = Subject(
    mcp,
    (Call("divide", {"a": 1, "b": 4}, 0.25), Call("weather", {"city": "Rome"}, {"city": "Rome", "degrees": 21.5})),
    (Call("divide", {"a": 1, "b": 0}, failures=("raised",)), Call("divide", {"a": "x"}, failures=("invalid", "raised"))),
    Call("nap", {"seconds": 0.3}, "rested"),
)
ITEMS = Subject(
    openapi,
    (Call("item", {"id": "7"}, {"id": "7", "query": {}}), Call("text", {}, "plain words")),
    (Call("page", failures=("raised",)), Call("item", failures=("invalid",))),
    Call("slow", failures=("timeout",)),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("subject", [WORKSHOP, ITEMS], ids=["mcp", "openapi"])
def test_toolbox(subject: Subject, check: Callable[[Subject], Awaitable[None]]) -> None:
    async def run() -> None:
        await check(subject)

    asyncio.run(run())
