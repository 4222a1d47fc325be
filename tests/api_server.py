"""A small HTTP API on 127.0.0.1 for tests: it answers by path, tells what arrived, and fails in the ways real ones do.

GET  /items/{id}      {"id": ..., "query": {...}} with what was asked
POST /items           201 and the body
GET  /echo            the headers, as JSON
GET  /text            words
GET  /page            404 with a long web page
GET  /denied          401 and the key that was sent
GET  /huge            JSON without end
GET  /slow            nothing
GET  /cut             a body that breaks off
GET  /moved           a redirection to /text
GET  /away            a redirection to another host
GET  /nothing         204
GET  /spec.yaml       `spec`
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class ApiServer:
    """Use as `async with ApiServer() as api:`; `seen` has each request as (method, target, headers, body)."""

    spec: str = ""
    port: int = 0
    seen: list[tuple[str, str, dict[str, str], str]] = field(default_factory=list)
    _talks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.create_task(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            method, target, _ = head[0].split(" ", 2)
            headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = (await reader.readexactly(int(headers.get("content-length", 0)))).decode()
            self.seen.append((method, target, headers, body))
            await self._answer(writer, method, target, headers, body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, method: str, target: str, headers: dict[str, str], body: str) -> None:
        url = urlsplit(target)
        query = {key: values[0] if len(values) == 1 else values for key, values in parse_qs(url.query).items()}
        match method, url.path:
            case "POST", "/items":
                raw = _reply(201, body)
            case "GET", "/echo":
                raw = _reply(200, json.dumps(headers), "application/json\r\nSet-Cookie: visit=1")
            case "GET", "/text":
                raw = _reply(200, "plain words", "text/plain")
            case "GET", "/page":
                raw = _reply(404, "<html>" + "nothing here " * 10_000, "text/html")
            case "GET", "/denied":
                raw = _reply(401, f"refused {headers.get('authorization')} {headers.get('x-key')} {target}")
            case "GET", "/nothing":
                raw = _reply(204, "")
            case "GET", "/moved":
                raw = _reply(302, "", "text/plain\r\nLocation: /text")
            case "GET", "/away":
                raw = _reply(307, "", "text/plain\r\nLocation: http://localhost:1/steal")
            case "GET", "/cut":
                raw = _reply(200, '{"a": [1, 2, 3]}')[:-8]
            case "GET", "/spec.yaml":
                raw = _reply(200, self.spec, "application/yaml")
            case "GET", "/slow":
                await asyncio.sleep(3600)
                return
            case "GET", "/huge":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n[")
                while True:
                    writer.write(b"1234567, " * 8_000)
                    await writer.drain()
            case _:
                raw = _reply(200, json.dumps({"id": unquote(url.path.rpartition("/")[2]), "query": query}))
        writer.write(raw)
        await writer.drain()


def _reply(status: int, body: str, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status} So\r\nContent-Type: {kind}\r\nContent-Length: {len(body.encode())}\r\nConnection: close\r\n\r\n"
    return (head + body).encode()
