"""Tools from an OpenAPI 3.0 or 3.1 document: each operation is a tool, each call an HTTP request.

    from_openapi     a toolbox for a file or URL
    OpenApiToolbox   the operations of one document

fastmcp (extra `openapi`) reads the document and builds requests; they are sent from here, so that keys come in last and replies
are read no further than they may be long. GET, HEAD and OPTIONS change nothing; every other method is a commit, unless the user
knows better.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from treewright.core.errors import UserError
from treewright.tools.base import Card, Result, Session
from treewright.tools.openapi_cards import Operation, operations_of
from treewright.tools.openapi_document import base_url, read_document
from treewright.tools.openapi_http import Caller
from treewright.tools.openapi_keys import Lock

#: Seconds that a call may take, and bytes that its reply may have.
CALL_TIMEOUT_S = 60.0
REPLY_LIMIT = 8 << 20


def from_openapi(
    source: str | Path,
    *,
    base: str | None = None,
    only: Iterable[str] = (),
    pure: Iterable[str] = (),
    idempotent: Iterable[str] = (),
    variables: Mapping[str, str] | None = None,
    call_timeout_s: float = CALL_TIMEOUT_S,
    reply_limit: int = REPLY_LIMIT,
) -> OpenApiToolbox:
    """A toolbox for an OpenAPI 3 document. It blocks while the document is read or fetched; nothing else is called yet.

    Args:
        source: a path or an http(s) URL, JSON or YAML.
        base: where the API is; by default what the document's `servers` say.
        only: patterns (`fnmatch`) of operation ids, tool names, "GET /path" or tags; none means all.
        pure: patterns of operations that change nothing, whatever their method.
        idempotent: patterns of operations that every program may call.
        variables: environment variable of a security scheme's key, by scheme; TREEWRIGHT_<SCHEME>_TOKEN otherwise.
        call_timeout_s: how long a call may take.
        reply_limit: how many bytes a reply may have.

    Raises:
        UserError: the document cannot be used, names no server, has no operation that is asked for; fastmcp is not installed.
    """
    document = read_document(source)
    where = base or base_url(document, source)
    if where is None or urlsplit(where).scheme not in {"http", "https"}:
        raise UserError(f"{source} does not say at which URL the API is; give its base URL")
    label = f"openapi:{_stem(source)}"
    operations = operations_of(document, label, only=tuple(only), pure=tuple(pure), idempotent=tuple(idempotent))
    if not operations:
        raise UserError(f"{source} has no operation that can be used" + (" and is asked for" if only else ""))
    lock = Lock(document, variables or {})
    return OpenApiToolbox(label, operations, where, lock, call_timeout_s=call_timeout_s, reply_limit=reply_limit)


class OpenApiToolbox:
    """The operations of one document (a `Toolbox`). Nothing is remembered between calls, cookies included.

    Args:
        source: of its cards.
        operations: its tools.
        base: the URL that their paths are appended to.
        lock: its security schemes; keys are looked up in the environment at each call.
        call_timeout_s: how long a call may take.
        reply_limit: how many bytes a reply may have.
    """

    def __init__(
        self, source: str, operations: tuple[Operation, ...], base: str, lock: Lock, *, call_timeout_s: float, reply_limit: int
    ) -> None:
        self.source = source
        self._operations = {operation.card.name: operation for operation in operations}
        self._base, self._lock = base, lock
        self._call_timeout_s, self._reply_limit = call_timeout_s, reply_limit
        self._caller: Caller | None = None

    @property
    def cards(self) -> tuple[Card, ...]:
        """Its operations in the document's order."""
        return tuple(operation.card for operation in self._operations.values())

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variable of each security scheme."""
        return {scheme: self._lock.variable(scheme) for scheme in self._lock.schemes}

    async def __aenter__(self) -> Self:
        self._caller = Caller(self._base, self._call_timeout_s, self._reply_limit)
        await self._caller.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._caller is not None:
            await self._caller.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def session(self, node: str = "") -> AsyncIterator[Session]:
        """A session; all share the toolbox's connections.

        Args:
            node: not needed here.
        """
        assert self._caller is not None, "the toolbox is not open"
        yield _OpenApiSession(self._operations, self._lock, self._caller)


class _OpenApiSession:
    def __init__(self, operations: Mapping[str, Operation], lock: Lock, caller: Caller) -> None:
        self._operations, self._lock, self._caller = operations, lock, caller

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Result:
        operation = self._operations.get(name)
        if operation is None:
            return Result(failure="invalid", message=f"there is no tool {name!r}")
        keys = self._lock.keys(operation.raw, os.environ)
        if keys.missing:
            said = f"{name} needs a key: set the environment variable {' and '.join(keys.missing)}"
            return Result(failure="unavailable", message=said)
        return await self._caller.call(operation.route, arguments, keys)


def _stem(source: str | Path) -> str:
    """A short name for people: of the file, or of the host."""
    text = str(source)
    host = urlsplit(text).hostname if "://" in text else None
    return host or re.sub(r"(_oas|[-_.]?openapi)$", "", Path(text).name.split(".")[0]) or "api"
