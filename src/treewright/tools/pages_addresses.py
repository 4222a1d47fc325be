"""Which addresses a page may be fetched from: those of the public internet, unless more is allowed.

A page that a model asks for must not be a way into the machine or the network it runs in (server-side request forgery): not to
services on localhost, not to routers, not to the metadata service of a cloud.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable

#: Looks a host up: (name, port) -> its addresses. Raises OSError when it has none.
Resolve = Callable[[str, int], Awaitable[list[str]]]

#: IPv6 networks whose last 32 bits are an IPv4 address that a gateway passes on to.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, as this machine knows them.

    Raises:
        OSError: it has none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet, also when an IPv6 address wraps it.

    >>> [is_public(a) for a in ("93.184.216.34", "127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:10.0.0.1")]
    [True, False, False, False, False, False]
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        teredo = parsed.teredo
        inner = parsed.ipv4_mapped or parsed.sixtofour or (teredo[1] if teredo is not None else None)
        if inner is None and parsed in _NAT64:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast
