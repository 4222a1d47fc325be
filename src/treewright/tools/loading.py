"""Tools from sources as a user gives them.

source                                   tools
tools.py                                 functions of a Python file: those decorated with `tool`, else all public ones
tools.py:search,fetch                    these of its functions or classes
servers.json                             of each MCP server in its `mcpServers`
mcp:COMMAND ARGUMENT...                  of an MCP server that is started with this command
mcp+https://HOST/PATH                    of an MCP server that listens there
web                                      to open, scroll and follow web pages
api.json, api.yaml, openapi:FILE-OR-URL  of an API with an OpenAPI 3 document
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from treewright.core.errors import TreewrightError, UserError
from treewright.tools.combined import Closed, Combined, Source
from treewright.tools.functions import from_functions
from treewright.tools.python_tools import from_python_file

#: What starts other programs: such a word does not tell which server it is.
_LAUNCHERS = frozenset({"npx", "uvx", "uv", "run", "pipx", "python", "python3", "node", "bunx", "bun", "deno", "docker", "env"})
_FORMS = "a source is tools.py, tools.py:NAME, a .json file with mcpServers, mcp:COMMAND, mcp+URL, web, or openapi:FILE-OR-URL"


def load_tools(sources: Iterable[object]) -> Combined:
    """One toolbox for all sources. Python files are imported now, servers start when it is opened.

    A text or path that cannot be used costs its own tools only: once open, `Combined.lost` says why.

    Args:
        sources: texts and paths as above; functions, classes and instances as in `from_functions`; toolboxes.

    Raises:
        UserError: a function or class that was given itself cannot be a tool.
    """
    found: list[Source] = []
    functions: list[object] = []
    for source in sources:
        if isinstance(source, str | Path):
            found += _parts(str(source))
        elif isinstance(source, AbstractAsyncContextManager) and hasattr(source, "cards"):
            found.append(Source(type(source).__name__, source))
        else:
            functions.append(source)
    if functions:
        found.insert(0, Source("functions", from_functions(functions, "functions")))
    return Combined(found)


class Unusable:
    """Stands for a source that cannot be used: opening it says why."""

    def __init__(self, error: TreewrightError) -> None:
        self._error = error

    async def __aenter__(self) -> NoReturn:
        raise self._error

    async def __aexit__(self, *error: object) -> None:
        """It was never open."""


def _parts(source: str) -> list[Source]:
    try:
        return [Source(name or source, toolbox) for name, toolbox in _toolboxes(source)]
    except TreewrightError as error:
        return [Source(source, Unusable(error))]


def _toolboxes(source: str) -> Iterator[tuple[str, Closed]]:
    """The toolboxes of one source, with a name for each where it has several."""
    file, _, names = source.rpartition(".py:")
    if source.startswith("mcp:"):
        yield from _servers(_server_of_command(source.removeprefix("mcp:")))
    elif source.startswith("mcp+"):
        yield from _servers(_server_of_url(source.removeprefix("mcp+")))
    elif source == "web":
        yield "", _web()
    elif source.startswith("openapi:"):
        yield "", _api(source.removeprefix("openapi:"))
    elif file and names:
        yield "", from_python_file(Path(f"{file}.py"), [name.strip() for name in names.split(",") if name.strip()])
    elif source.endswith(".py"):
        yield "", from_python_file(Path(source))
    elif source.endswith((".json", ".yaml", ".yml")) or source.startswith(("http://", "https://")):
        if _has_servers(source):
            yield from _servers(source)
        else:
            yield "", _api(source)
    else:
        raise UserError(f"{source[:200]!r} is no source of tools: {_FORMS}")


def _servers(config: str | dict[str, object]) -> Iterator[tuple[str, Closed]]:
    from treewright.tools.mcp import from_mcp_config

    for server in from_mcp_config(config):
        yield server.source, server


def _web() -> Closed:
    from treewright.tools.pages import WebPages

    return from_functions([WebPages], "web")


def _api(location: str) -> Closed:
    from treewright.tools.openapi import from_openapi

    return from_openapi(location)


def _has_servers(source: str) -> bool:
    """Whether a file is an `mcpServers` file; what is wrong with it, whoever reads it says."""
    if not source.endswith(".json"):
        return False
    try:
        content = json.loads(Path(source).read_bytes())
    except (OSError, ValueError):
        return not source.startswith(("http://", "https://"))
    return isinstance(content, dict) and not {"openapi", "swagger"} & content.keys()


def _server_of_command(command: str) -> dict[str, object]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"mcp:{command}: the command cannot be read ({error}): check its quotes") from error
    if not words:
        raise UserError("mcp: needs the command that starts the server, as in mcp:uvx some-server")
    telling = (word for word in words if not word.startswith("-") and Path(word).name not in _LAUNCHERS)
    return {"mcpServers": {_short(next(telling, words[0])): {"command": words[0], "args": words[1:]}}}


def _server_of_url(url: str) -> dict[str, object]:
    host = urlsplit(url).hostname
    if host is None or not url.startswith(("http://", "https://")):
        raise UserError(f"mcp+{url}: an address begins with http:// or https://, as in mcp+https://example.org/mcp")
    return {"mcpServers": {_short(host): {"url": url}}}


def _short(word: str) -> str:
    """@modelcontextprotocol/server-files -> files, folder/my_server.py -> my_server."""
    stem = Path(word).name.removesuffix(".py").removesuffix(".js")
    return re.sub(r"^(mcp-)?server-|-mcp$|^mcp-", "", stem) or word
