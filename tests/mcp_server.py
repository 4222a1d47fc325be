"""A real MCP server for tests, over stdio or HTTP: `python mcp_server.py [ROLE]`; what a role does is said at its function."""

import os
import subprocess
import sys
import threading
import time
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
def nap(seconds: float) -> str:
    """Sleep."""
    time.sleep(seconds)
    return "rested"


@server.tool()
def shout(text: str) -> str:
    """Print on stdout, where only messages belong, and answer."""
    os.write(1, f"{text}\n{{\"half\": \n".encode())
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


if __name__ == "__main__":
    roles = {"silent": silent, "broken": broken, "junk": junk, "stdio": stdio}
    roles[sys.argv[1] if len(sys.argv) > 1 else "stdio"]()
