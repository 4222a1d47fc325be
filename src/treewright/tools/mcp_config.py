"""The `mcpServers` file that editors and agents share: which servers there are, how each is started or reached.

    {"mcpServers": {"files": {"command": "uvx", "args": ["some-server"], "env": {"TOKEN": "${MY_TOKEN}"}, "cwd": "..."},
                    "search": {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${KEY}"}}}}

`${VAR}`, `${env:VAR}` and `${VAR:-otherwise}` are taken from the environment, in every text of an entry. `disabled` entries are
left out. `fresh` is ours: the server remembers earlier calls, so each session gets a process of its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treewright.core.errors import UserError

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}")
_HTTP = frozenset({"http", "streamable-http", "streamable_http", "streamableHttp"})
_TELLING = re.compile(r"key|token|secret|passw|auth|credential", re.I)
_SHORTEST_SECRET = 6
_PATH = re.compile(r"(?<![\w:/.])(?:/[\w.@+-]+)+/([\w.@+-]+)")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server, its variables filled in.

    Args:
        name: its key in the file.
        command: the program to start; None for a server that is reached by URL.
        args: its arguments.
        env: variables it gets besides a few harmless ones (PATH, HOME, ...): never the whole environment of this process.
        cwd: the folder it runs in.
        url: where a running server listens (streamable HTTP).
        headers: what each request to it carries.
        fresh: each session has its own process, or connection.
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    fresh: bool = False

    def cleaned(self, message: str) -> str:
        """A message from or about the server without the values of its `env` and `headers`, folders or credentials in URLs."""
        words = {word for value in (*self.env.values(), *self.headers.values()) for word in (value, *value.split())}
        if self.url is not None:
            words |= {self.url}
        return _PATH.sub(r"\1", _without(message, words))

    def without_keys(self, value: Any) -> Any:
        """A result without the values of variables and headers that are keys by their name, should the server repeat one."""
        named = {**self.env, **self.headers}
        keys = {word for name, text in named.items() if _TELLING.search(name) for word in (text, *text.split())}
        return _replaced(value, [word for word in keys if len(word) >= _SHORTEST_SECRET])


def read_config(config: str | Path | Mapping[str, Any], environ: Mapping[str, str] | None = None) -> tuple[ServerConfig, ...]:
    """The enabled servers of a file or of its content, in its order.

    Args:
        config: a path, or the parsed content.
        environ: where variables are looked up; this process's environment if None.

    Raises:
        UserError: no such file, no JSON, no `mcpServers`, an entry of the wrong shape, a variable that is not set.
    """
    where = str(config) if isinstance(config, str | Path) else "the MCP configuration"
    content = _read(Path(config)) if isinstance(config, str | Path) else config
    servers = content.get("mcpServers") if isinstance(content, Mapping) else None
    if not isinstance(servers, Mapping):
        raise UserError(f'{where} has no "mcpServers" object; docs/guide/tool_servers.md shows one')
    known = os.environ if environ is None else environ
    return tuple(_server(str(name), entry, known) for name, entry in servers.items() if not _disabled(entry))


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path} is not JSON: {error}") from error


def _disabled(entry: Any) -> bool:
    return isinstance(entry, Mapping) and (entry.get("disabled") is True or entry.get("enabled") is False)


def _server(name: str, entry: Any, environ: Mapping[str, str]) -> ServerConfig:
    if not isinstance(entry, Mapping):
        raise UserError(f'the MCP server "{name}" has to be an object with "command" or "url"')
    kind = entry.get("type", entry.get("transport", "http" if "url" in entry else "stdio"))
    if kind != "stdio" and kind not in _HTTP:
        raise UserError(f'the MCP server "{name}" is of type {kind!r}; "stdio" and "http" (streamable HTTP) are spoken here')
    where = "command" if kind == "stdio" else "url"
    if not _text(name, entry, where, environ):
        raise UserError(f'the MCP server "{name}" needs a "{where}"')
    args = entry.get("args", ())
    if not isinstance(args, list | tuple) or not all(isinstance(arg, str) for arg in args):
        raise UserError(f'"args" of the MCP server "{name}" has to be a list of texts')
    return ServerConfig(
        name,
        command=_text(name, entry, "command", environ) if kind == "stdio" else None,
        args=tuple(_expanded(arg, name, environ) for arg in args),
        env=_texts(name, entry, "env", environ),
        cwd=_text(name, entry, "cwd", environ),
        url=_text(name, entry, "url", environ) if kind != "stdio" else None,
        headers=_texts(name, entry, "headers", environ),
        fresh=entry.get("fresh") is True,
    )


def _text(server: str, entry: Mapping[str, Any], key: str, environ: Mapping[str, str]) -> str | None:
    text = entry.get(key)
    if text is not None and not isinstance(text, str):
        raise UserError(f'"{key}" of the MCP server "{server}" has to be a text')
    return None if text is None else _expanded(text, server, environ)


def _texts(server: str, entry: Mapping[str, Any], key: str, environ: Mapping[str, str]) -> dict[str, str]:
    texts = entry.get(key) or {}
    if not isinstance(texts, Mapping) or any(isinstance(value, Mapping | list) for value in texts.values()):
        raise UserError(f'"{key}" of the MCP server "{server}" has to be an object of texts')
    return {str(name): _expanded(str(value), server, environ) for name, value in texts.items()}


def _expanded(text: str, server: str, environ: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        known = environ.get(found[1], found[2])
        if known is None:
            raise UserError(f'the MCP server "{server}" needs the environment variable {found[1]}, which is not set')
        return known

    return _VARIABLE.sub(value, text)


def _without(text: str, words: set[str]) -> str:
    for word in sorted(words, key=len, reverse=True):
        if len(word) >= _SHORTEST_SECRET:
            text = text.replace(word, "[secret]")
    return re.sub(r"(https?://)[^\s/@]+@", r"\1", text)


def _replaced(value: Any, words: list[str]) -> Any:
    if isinstance(value, str):
        for word in words:
            value = value.replace(word, "[secret]")
        return value
    if isinstance(value, list):
        return [_replaced(item, words) for item in value] if words else value
    if isinstance(value, dict):
        return {key: _replaced(item, words) for key, item in value.items()} if words else value
    return value
