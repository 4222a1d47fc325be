"""A real MCP server for tests, over stdio or HTTP: `python mcp_server.py [ROLE]`; what a role does is said at its function."""

import asyncio
import os
import subprocess
import sys
import threading
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ImageContent, TextContent, ToolAnnotations
from pydantic import BaseModel

server = MCPServer("workshop")
counts: dict[str, int] = {}


class Weather(BaseModel):
    """What the weather is."""

    city: str
    degrees: float


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def divide(a: float, b: float) -> float:
    """Divide a by b."""
    if b == 0:
        raise ToolError("b must not be 0")
    return a / b


@server.tool(title="Look at the sky", annotations=ToolAnnotations(idempotent_hint=True, destructive_hint=False))
def weather(city: str) -> Weather:
    """The weather of a city."""
    return Weather(city=city, degrees=21.5)


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
def count(what: str = "calls") -> int:
    """How often this was called."""
    counts[what] = counts.get(what, 0) + 1
    return counts[what]


@server.tool(name="send-mail", structured_output=False)
def send_mail(to: str) -> str:
    """Send a mail."""
    return '{"sent": "' + to + '"}'


@server.tool(structured_output=False)
def picture() -> list[Any]:
    """A picture and a word."""
    return [TextContent(type="text", text="here"), ImageContent(type="image", data="AAAA", mime_type="image/png")]


@server.tool()
async def nap(seconds: float) -> str:
    """Sleep."""
    await asyncio.sleep(seconds)
    return "rested"


@server.tool()
def shout(text: str) -> str:
    """Print on stdout, where only messages belong, and answer."""
    os.write(1, f'{text}\n{{"half": \n'.encode())
    print("a print of Python's")
    return text.upper()


@server.tool()
def die(status: int = 3) -> str:
    """End the process in the middle of the call."""
    os.write(2, f"fatal: no more paper, token {os.environ.get('PAPER_TOKEN')}, in /srv/paper/tray.txt\n".encode())
    os._exit(status)


@server.tool()
def pid() -> int:
    """The process."""
    return os.getpid()


@server.tool()
def child() -> int:
    """Start a process that would go on for an hour."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], stdin=subprocess.DEVNULL).pid


@server.tool()
def secret() -> str:
    """What the environment holds."""
    return f"token {os.environ.get('PAPER_TOKEN')}, home {os.environ.get('NOT_FOR_SERVERS', 'unknown')}"


def silent() -> None:
    """Never answers, leaves neither when stdin is closed nor on SIGTERM."""
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(2, b"waiting for a licence\n")
    threading.Event().wait(3600)


def broken() -> None:
    """Ends before it says anything."""
    sys.exit("no module named paper")


def junk() -> None:
    """Prints a banner first, then serves."""
    os.write(1, b"Welcome to the workshop!\n\xff\xfe\n\n{}\n[1, 2]\n")
    server.run()


def stdio() -> None:
    """Serves."""
    server.run()


def paged() -> None:
    """Lists ten tools, three a page."""
    from mcp.server import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, Tool

    async def listed(context: ServerRequestContext[Any], asked: PaginatedRequestParams | None) -> ListToolsResult:
        start = int(asked.cursor) if asked and asked.cursor else 0
        tools = [Tool(name=f"tool.{n}", input_schema={"type": "object"}) for n in range(start, min(start + 3, 10))]
        return ListToolsResult(tools=tools, next_cursor=str(start + 3) if start + 3 < 10 else None)

    async def called(context: ServerRequestContext[Any], asked: CallToolRequestParams) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=asked.name)])

    async def serve() -> None:
        lister = Server("pages", on_list_tools=listed, on_call_tool=called)
        async with stdio_server() as (heard, said):
            await lister.run(heard, said, lister.create_initialization_options())

    asyncio.run(serve())


def http() -> None:
    """Serves at /mcp of a port of 127.0.0.1 those who know the password."""
    import uvicorn
    from starlette.types import Receive, Scope, Send

    app = server.streamable_http_app()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (b"authorization", b"Bearer open-sesame") not in scope["headers"]:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})
        else:
            await app(scope, receive, send)

    uvicorn.run(guarded, port=int(sys.argv[2]), log_level="critical")


if __name__ == "__main__":
    roles = {"silent": silent, "broken": broken, "junk": junk, "stdio": stdio, "paged": paged, "http": http}
    roles[sys.argv[1] if len(sys.argv) > 1 else "stdio"]()
