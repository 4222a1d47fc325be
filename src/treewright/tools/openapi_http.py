"""One call of an API: the request is built, the key added, the reply read as far as it may be long."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from treewright.tools.base import Result
from treewright.tools.openapi_keys import Keys

if TYPE_CHECKING:
    import httpx2
    from fastmcp.utilities.openapi import HTTPRoute

_LONGEST_ERROR = 1_000
_MOST_REDIRECTS = 5
_CONNECTIONS = 100


class Caller:
    """Sends requests while it is open. It remembers nothing between them, cookies included.

    Args:
        base: the URL that paths are appended to.
        timeout_s: how long a call may take, to the last byte.
        reply_limit: how many bytes a reply may have.
    """

    def __init__(self, base: str, timeout_s: float, reply_limit: int) -> None:
        import httpx2
        from fastmcp.utilities.openapi.director import RequestDirector
        from jsonschema_path import SchemaPath

        logging.getLogger("httpx2").addFilter(_without_query)
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        # subtle: no limit of its own on reading; that of a call covers it from the connection to the last byte.
        self._http = httpx2.AsyncClient(timeout=None, cookies=no_cookies, limits=httpx2.Limits(max_connections=_CONNECTIONS))
        self._director = RequestDirector(SchemaPath.from_dict({}))
        self._base, self._timeout_s, self._reply_limit = base, timeout_s, reply_limit

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def call(self, route: HTTPRoute, arguments: Mapping[str, Any], keys: Keys) -> Result:
        """Call an operation.

        Args:
            route: the operation.
            arguments: as its card has them.
            keys: what it is let in with; no message repeats them.
        """
        import httpx2

        known = {*route.flat_param_schema.get("properties", {}), *route.parameter_map}
        if (unknown := arguments.keys() - known) and not route.flat_param_schema.get("additionalProperties"):
            return Result(failure="invalid", message=f"there is no parameter {sorted(unknown)[0]!r}, only {sorted(known)}")
        try:
            request = self._request(route, arguments, keys)
        except (ValueError, TypeError, AttributeError, httpx2.InvalidURL) as error:
            return Result(failure="invalid", message=keys.cleaned(f"the arguments make no request: {error}")[:_LONGEST_ERROR])
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._sent(request, keys)
        except TimeoutError:
            return Result(failure="timeout", message=f"no whole reply within {self._timeout_s:g} s")
        except httpx2.HTTPError as error:
            # Its text may hold the URL, and so a key.
            host = urlsplit(self._base).hostname
            return Result(failure="unavailable", message=f"{host} cannot be reached or broke off ({type(error).__name__})")

    async def _sent(self, request: httpx2.Request, keys: Keys) -> Result:
        for _ in range(_MOST_REDIRECTS):
            response = await self._http.send(request, stream=True, follow_redirects=False)
            try:
                onward = response.next_request
                # A key goes to no other host, and what was to be sent is not turned into something else.
                if onward is None or _origin(onward) != _origin(request) or onward.method != request.method:
                    return await self._read(response, keys)
            finally:
                await response.aclose()
            request = onward
        return Result(failure="raised", message=f"more than {_MOST_REDIRECTS} redirections")

    async def _read(self, response: httpx2.Response, keys: Keys) -> Result:
        failed = not response.is_success
        limit = 4 * _LONGEST_ERROR if failed else self._reply_limit
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > limit:
                break
        text = bytes(body[:limit]).decode(response.encoding or "utf-8", errors="replace")
        if failed:
            said = " ".join(keys.cleaned(text).split())[:_LONGEST_ERROR]
            status = f"HTTP status {response.status_code} {response.reason_phrase}".strip()
            return Result(failure="raised", message=f"{status}: {said}" if said else status)
        if len(body) > limit:
            return Result(failure="too_large", message=f"the reply has more than {limit} bytes; ask for less")
        return Result(_value(keys.cleaned(text)))

    def _request(self, route: HTTPRoute, arguments: Mapping[str, Any], keys: Keys) -> httpx2.Request:
        """The operation's request, with the keys.

        Raises:
            ValueError: an argument cannot be sent, or one that the path needs is missing.
        """
        built = self._director.build(route, dict(arguments), self._base)
        headers = {**dict(built.headers.items()), **keys.headers}
        if keys.cookies:
            own = [built.headers["cookie"]] if "cookie" in built.headers else []
            headers["cookie"] = "; ".join([*own, *(f"{name}={value}" for name, value in keys.cookies.items())])
        return self._http.build_request(
            built.method,
            built.url.copy_with(query=None),
            params=[*built.url.params.multi_items(), *keys.query.items()],
            headers=headers,
            content=built.read(),
        )


def _without_query(record: logging.LogRecord) -> bool:
    """A filter for the library's log of requests: a key may be in the query of a URL."""
    import httpx2

    if isinstance(record.args, tuple):
        record.args = tuple(a.copy_with(query=None) if isinstance(a, httpx2.URL) else a for a in record.args)
    return True


def _origin(request: httpx2.Request) -> tuple[str, str, int | None]:
    return request.url.scheme, request.url.host, request.url.port


def _value(text: str) -> Any:
    """JSON if it is JSON, whatever its type is said to be; else text; nothing if there is nothing."""

    def no_json(word: str) -> Any:
        raise ValueError(word)

    if not text.strip():
        return None
    try:
        return json.loads(text, parse_constant=no_json)
    except (ValueError, RecursionError):
        return text
