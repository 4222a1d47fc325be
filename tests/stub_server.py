"""A small server on 127.0.0.1 that speaks OpenAI's chat protocol, or fails in one of the ways real servers do.

Each request takes the next behaviour, the last one for ever:

    ok                 says "echo " and the last message, at most max_tokens words, a word being a token
    nousage            the same without token counts
    filter             an empty reply that was filtered
    rate, rate:90      429, with Retry-After: 90
    quota              429 insufficient_quota
    500, 503           server errors
    401, 404           a key that is refused (and repeated in full), an unknown model
    400                a request that is refused, with the key in the message
    context            400, the prompt is longer than the context
    cut                status 200 and JSON that breaks off
    drop               status 200 and a connection that is closed in the middle of the body
    reset              the connection is closed before any answer
    html               status 200 and a web page
    error200           status 200 and an error object
    empty              status 200 and `choices: []`
    silence            no answer
    trickle            a good reply, a byte every 50 ms
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class StubServer:
    """Use as `async with StubServer("rate", "ok") as stub:` and talk to `stub.url`.

    Args:
        behaviours: what each request meets, see above; "ok" if none are given.
        port: where to listen; 0 for any free port.
    """

    def __init__(self, *behaviours: str, port: int = 0) -> None:
        self.behaviours = behaviours or ("ok",)
        self.seen: list[Seen] = []
        self.arrived = asyncio.Event()
        self.port = port
        self._talks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
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
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        behaviour = self.behaviours[min(len(self.seen), len(self.behaviours) - 1)]
        self.seen.append(Seen(head[0].split()[1], headers, body))
        self.arrived.set()
        if behaviour == "reset":
            return False
        if behaviour == "silence":
            await asyncio.sleep(3600)
        raw = _response(behaviour, body, headers.get("authorization", "").removeprefix("Bearer "))
        if behaviour == "trickle":
            for byte in raw:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.05)
        else:
            writer.write(raw)
        await writer.drain()
        return behaviour != "drop"


def _response(behaviour: str, body: dict[str, Any], key: str) -> bytes:
    kind, _, number = behaviour.partition(":")
    match kind:
        case "html":
            return _http(200, b"<html><body>Sign in to the network</body></html>", "text/html")
        case "cut":
            return _http(200, json.dumps(_chat(body)).encode()[:-30])
        case "drop":
            return _http(200, json.dumps(_chat(body)).encode())[:-30]
        case "error200":
            return _json(200, {"error": {"message": "upstream went away", "code": 502}})
        case "empty":
            return _json(200, _chat(body) | {"choices": []})
        case "nousage":
            return _json(200, {key: value for key, value in _chat(body).items() if key != "usage"})
        case "filter":
            chat = _chat(body)
            chat["choices"][0] |= {"finish_reason": "content_filter", "message": {"role": "assistant", "content": ""}}
            return _json(200, chat)
        case "rate":
            return _error(429, "rate_limit_exceeded", "slow down", retry_after=number)
        case "quota":
            return _error(429, "insufficient_quota", "you exceeded your current quota")
        case "401":
            return _error(401, "invalid_api_key", f"Incorrect API key provided: {key}")
        case "400":
            return _error(400, "invalid_value", f"bad temperature, says the owner of {key}")
        case "404":
            return _error(404, "model_not_found", f"the model {body['model']} does not exist")
        case "context":
            return _error(400, "context_length_exceeded", "this model's maximum context length is 8192 tokens")
        case "500" | "503":
            return _error(int(kind), "server_error", "the server had an error")
        case _:
            return _json(200, _chat(body))


def _chat(body: dict[str, Any]) -> dict[str, Any]:
    asked = str(body["messages"][-1]["content"]).split()
    words = ["echo", *asked]
    most = int(body.get("max_tokens") or body.get("max_completion_tokens") or 10**9)
    text = " ".join(words[:most])
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop" if len(words) <= most else "length",
            }
        ],
        "usage": {
            "prompt_tokens": len(asked),
            "completion_tokens": min(len(words), most),
            "total_tokens": len(asked) + min(len(words), most),
            "prompt_tokens_details": {"cached_tokens": 1},
        },
    }


def _error(status: int, code: str, message: str, *, retry_after: str = "") -> bytes:
    return _json(status, {"error": {"message": message, "type": code, "code": code}}, retry_after)


def _json(status: int, value: object, retry_after: str = "") -> bytes:
    return _http(status, json.dumps(value).encode(), "application/json", retry_after)


def _http(status: int, body: bytes, kind: str = "application/json", retry_after: str = "") -> bytes:
    pause = f"Retry-After: {retry_after}\r\n" if retry_after else ""
    return f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{pause}Content-Length: {len(body)}\r\n\r\n".encode() + body
