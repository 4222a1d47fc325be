"""llama.cpp in this process: loads a GGUF file and answers one chat at a time.

`local` keeps one `Engine` per slot. Everything here blocks and belongs into a worker thread.

Why one engine a slot, with one thread each, and no reuse of an earlier prompt's work: an engine that serves two chats at once,
or starts from a cached prefix, adds its numbers up in another order, and equal requests then get unequal replies (5 of 14
trials with a cached prefix). Two engines map the same weights, so the second costs only its own cache. More than one thread on
busy cores is a trap: OpenMP threads spin while they wait for each other (1 token/s where one thread gave 55).
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from treewright.core.errors import ModelUnavailable, UserError
from treewright.models.base import Finish, ModelError, Reply, Request, Usage

#: Tokens of the prompt that are worked on between two looks at `stop`: about a second on one slow core, and 5 % slower than
#: one large batch.
BATCH = 128

_INSTALL = "the local model needs xllamacpp, which is not installed; run: pip install 'treewright[local]'"


class Server(Protocol):
    """What is used of `xllamacpp.Server`."""

    def handle_chat_completions(self, body: dict[str, object], callback: Callable[[dict[str, object]], bool], /) -> None:
        """Stream the chunks of one reply to `callback` until it returns True or the reply ends."""
        ...


#: Loads (file, threads, context in tokens).
Loader = Callable[[Path, int, int], Server]


def check_gguf(path: Path) -> None:
    """Look at a file's first bytes.

    Raises:
        UserError: if there is no such file, it cannot be read, or it is no GGUF file of version 2 or later.
    """
    try:
        with path.open("rb") as file:
            head = file.read(24)
    except OSError as error:
        raise UserError(f"the model file {path} cannot be read: {error.strerror or error}") from error
    if len(head) < 24 or head[:4] != b"GGUF" or not 2 <= int.from_bytes(head[4:8], "little") < 100:
        raise UserError(f"{path} is not a GGUF file; give a model in llama.cpp's format")


def load_server(path: Path, threads: int, context: int) -> Server:
    """Load a GGUF file with one slot. Takes 0.4 s for 93 MB and, for each token of context, the model's cache (23 kB there).

    Raises:
        ModelUnavailable: if xllamacpp is missing or its libraries cannot be loaded.
        UserError: if llama.cpp cannot load the file.
    """
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        raise ModelUnavailable(_INSTALL) from error
    except ImportError as error:
        raise ModelUnavailable(
            f"xllamacpp cannot be loaded ({error}); if libgomp is missing, install it (Debian, Ubuntu: apt install libgomp1)"
        ) from error
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_batch = params.n_ubatch = BATCH
    params.cache_ram_mib = 0
    params.warmup = False
    params.verbosity = -1
    # subtle: the library always listens on a free port of 127.0.0.1 as well. Nobody learns this key, so nobody is served.
    params.api_keys = [secrets.token_hex(32)]
    params.ui = False
    params.n_threads_http = 1
    try:
        server: Server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise UserError(
            f"llama.cpp cannot load {path} with a context of {context} tokens: the file is cut off or of a kind "
            "it does not know, or memory is short"
        ) from error
    return server


class Engine:
    """One loaded model that answers one request at a time.

    Args:
        server: llama.cpp's server.
        name: name of the model, for messages.
    """

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self._name = name

    def answer(self, request: Request, stop: threading.Event) -> Reply:
        """Answer a request; if `stop` is set meanwhile, end after the present token or batch with what there is.

        Raises:
            ModelError: "context" for a prompt that is too long, "refused" for a chat that the model's template cannot
                express, "server" for anything else that llama.cpp reports.
        """
        reply = _Chunks(stop)
        try:
            self._server.handle_chat_completions(_body(request), reply.take)
        except (RuntimeError, ValueError) as error:
            raise ModelError("server", f"{self._name} failed: {error}") from error
        if reply.error is not None:
            raise self._fault(reply.error)
        return Reply("".join(reply.texts), reply.usage, reply.finish)

    def _fault(self, error: dict[str, object]) -> ModelError:
        if error.get("type") == "exceed_context_size_error":
            have, most = error.get("n_prompt_tokens"), error.get("n_ctx")
            return ModelError("context", f"the prompt has {have} tokens, and the context of {self._name} holds {most}")
        said = f"{self._name} cannot answer: {error.get('message')}"
        return ModelError("refused" if error.get("code") == 400 else "server", said)


def _body(request: Request) -> dict[str, object]:
    body: dict[str, object] = {
        "messages": [{"role": message.speaker, "content": _clean(message.text)} for message in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
        "cache_prompt": False,
    }
    if request.seed is not None:
        # subtle: seeds have 32 bits there, and the largest one means "choose one at random".
        body["seed"] = request.seed % 0xFFFFFFFF
    return body


def _clean(text: str) -> str:
    """Without lone surrogates, which are no Unicode text: llama.cpp's JSON reader refuses them."""
    return text.encode("utf-8", "replace").decode("utf-8")


class _Chunks:
    """Gathers a streamed reply, chunk by chunk."""

    def __init__(self, stop: threading.Event) -> None:
        self.texts: list[str] = []
        self.usage = Usage()
        self.finish: Finish = "stop"
        self.error: dict[str, object] | None = None
        self._stop = stop

    def take(self, chunk: dict[str, object]) -> bool:
        """Add one chunk; True ends the stream."""
        match chunk:
            case {"error": dict(error)}:
                self.error = error
                return True
            case {"choices": [{"delta": {"content": str(text)}}]}:
                self.texts.append(text)
            case {"choices": [{"finish_reason": "length"}]}:
                self.finish = "length"
            case {"usage": {"prompt_tokens": int(asked), "completion_tokens": int(said)}}:
                self.usage = Usage(input=asked, output=said)
        return self._stop.is_set()
