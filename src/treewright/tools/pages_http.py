"""Fetching a page over HTTP: one GET with bounded redirections, bytes and time, from public addresses only.

subtle: the address that was looked up and allowed is the one that is connected to. If the client looked the name up once more,
a server of names could give a public address to the check and a private one to the connection. So the request goes to the
address, with the name in the Host header and in TLS. Connections are not kept: two names at one address must not share one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import TYPE_CHECKING, Self

from treewright.tools.pages_addresses import Resolve, is_public, resolve

if TYPE_CHECKING:
    import httpx2

#: Seconds until a page must be there, redirections and all.
TIMEOUT_S = 20.0
#: Bytes that are read of a page.
LARGEST = 2_000_000
MOST_REDIRECTS = 5
_MOST_ADDRESSES = 3
_HEADERS = {"User-Agent": "treewright", "Accept": "text/html, application/xhtml+xml, text/*;q=0.9, */*;q=0.5"}


class NoPage(Exception):
    """There is no page to show; the message says which and why, in a sentence for a model."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a server sent.

    Args:
        url: where it is, after redirections.
        kind: its media type in lower case, without parameters; "" when the server did not say.
        charset: of its text as the server said; None when it did not.
        body: the bytes, decompressed, at most the limit.
        cut: there were more.
    """

    url: str
    kind: str
    charset: str | None
    body: bytes
    cut: bool = False


class Fetcher:
    """Fetches pages while it is open. It keeps no cookies, and takes no proxy or credentials from the environment.

    Args:
        allow_private: addresses that are not of the public internet may be connected to.
        timeout_s: seconds until a page must be there.
        largest: bytes that are read of a page; the rest is left.
        resolve: looks hosts up.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        timeout_s: float = TIMEOUT_S,
        largest: int = LARGEST,
        resolve: Resolve = resolve,
    ) -> None:
        self._allow_private, self._timeout_s, self._largest, self._resolve = allow_private, timeout_s, largest, resolve
        self._client: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        import httpx2

        # No time limits of the client's: ours covers all, from looking the name up to the last byte.
        self._client = httpx2.AsyncClient(
            headers=_HEADERS,
            timeout=None,
            trust_env=False,
            # subtle: the client would file a cookie under the address, and send it to every other name that has this address.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            limits=httpx2.Limits(max_keepalive_connections=0),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def fetch(self, url: str) -> Fetched:
        """Fetch a page.

        Raises:
            NoPage: the address is none or not allowed, the server cannot be reached, is too slow or has no such page.
        """
        import httpx2

        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._followed(httpx2.URL(url.strip()))
        except TimeoutError:
            raise NoPage(f"{url} did not arrive within {self._timeout_s:g} s.") from None
        except httpx2.InvalidURL as error:
            raise NoPage(f"{url[:200]!r} is no address of a page: {error}.") from None
        except (httpx2.HTTPError, ValueError) as error:  # a redirection may lead to what is no address at all
            raise NoPage(f"{url} cannot be had: {_reason(error)}.") from None

    async def _followed(self, url: httpx2.URL) -> Fetched:
        for _ in range(MOST_REDIRECTS + 1):
            response = await self._get(url)
            try:
                if not response.has_redirect_location:
                    return await self._read(response, url)
                url = url.join(response.headers["location"])
            finally:
                await response.aclose()
        raise NoPage(f"the address leads on more than {MOST_REDIRECTS} times, at last to {url}.")

    async def _get(self, url: httpx2.URL) -> httpx2.Response:
        """The response to a GET, its body not read yet."""
        import httpx2

        if self._client is None:
            raise RuntimeError("the fetcher is not open: enter its context first")
        extensions = {"sni_hostname": url.raw_host.decode("ascii")}
        failed: httpx2.ConnectError | None = None
        for address in (await self._addresses(url))[:_MOST_ADDRESSES]:
            plain = url.copy_with(host=address, userinfo=b"", fragment=None)
            headers = {"Host": url.netloc.decode("ascii")}
            request = self._client.build_request("GET", plain, headers=headers, extensions=extensions)
            try:
                return await self._client.send(request, stream=True, follow_redirects=False)
            except httpx2.ConnectError as error:
                failed = error
        raise failed or NoPage(f"{url.host} has no address.")

    async def _addresses(self, url: httpx2.URL) -> Sequence[str]:
        if url.scheme not in ("http", "https") or not url.host:
            raise NoPage(f"{str(url)[:200]!r} is no address of a web page: it begins with http:// or https://.")
        try:
            port = url.port or (443 if url.scheme == "https" else 80)
            addresses = await self._resolve(url.raw_host.decode("ascii"), port)
        except OSError:
            raise NoPage(f"there is no host {url.host}.") from None
        # One private address among public ones is enough: a name has no honest reason for both.
        if not self._allow_private and not all(map(is_public, addresses)):
            raise NoPage(f"{url.host} is not on the public internet, and pages are read from there only.")
        return addresses

    async def _read(self, response: httpx2.Response, url: httpx2.URL) -> Fetched:
        where = str(url.copy_with(userinfo=b""))
        if not response.is_success:
            status = f"{response.status_code} {response.reason_phrase}".strip()
            raise NoPage(f"the server has no page for {where}: HTTP status {status}.")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self._largest:
                break
        return Fetched(where, kind, response.charset_encoding, bytes(body[: self._largest]), len(body) > self._largest)


def _reason(error: Exception) -> str:
    """What went wrong on the way, without addresses: some errors say nothing but their name."""
    import httpx2

    if isinstance(error, httpx2.ConnectError):
        return "the server cannot be reached, or its certificate is not valid"
    if isinstance(error, httpx2.DecodingError):
        return "what the server sent cannot be decompressed"
    return "the server broke off or does not speak HTTP"
