"""A language model in this process, without a key, a server or a GPU: llama.cpp on any GGUF file.

`local` is SmolLM2-135M-Instruct, fetched once (`weights`); `local:FILE` is your own file. Names and prompts never leave the
machine.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from treewright.core.errors import UserError
from treewright.models.base import Reply, Request
from treewright.models.llama import Engine, Loader, check_gguf, load_server
from treewright.models.weights import default_weights

#: What the default model writes beyond this is nearly always a loop, and would be paid for with minutes.
LONGEST_REPLY = 400


class LocalModel:
    """A `Model` on a GGUF file, answering up to `slots` requests at once, each in a thread of its own.

    Nothing is loaded before the first call or `async with`, and each slot only when it is needed. Leaving the block frees the
    memory; a later call would load again.

    *Equal requests with equal seeds get equal replies*, whatever else runs and in whichever slot, on one machine with one
    version of the library. Not guaranteed: the same text on another processor or version. Without a seed each reply is drawn
    anew.

    *Cancellation* returns at once. The slot is free again after the present token, or while the prompt is still being read
    after the present 128 tokens: a second or so.

    Sampling: `temperature` as asked (0 takes the likeliest token), then llama.cpp's defaults (top-k 40, top-p 0.95,
    min-p 0.05). The chat is formatted by the template in the file.

    Args:
        path: the GGUF file; None for the default weights.
        slots: requests at once, >= 1. Each takes its own cache in memory (190 MB for the default model and context).
        threads: threads of each slot, >= 1. More than one helps only where slots * threads cores are idle; on busy cores it
            makes llama.cpp many times slower unless OMP_WAIT_POLICY=passive is in the environment.
        context: tokens that prompt and reply may have together, per slot.
        longest_reply: most tokens of any reply, whatever a request allows; None for `LONGEST_REPLY` with the default weights,
            and no bound of ours with another file.
        load: loads a file; tests pass their own.

    Raises:
        UserError: if `path` is missing or no GGUF file, or a number is out of range.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        slots: int = 2,
        threads: int = 1,
        context: int = 8192,
        longest_reply: int | None = None,
        load: Loader = load_server,
    ) -> None:
        if min(slots, threads, context) < 1:
            raise UserError("the local model needs at least one slot, one thread and one token of context")
        if path is not None:
            check_gguf(path)
        self._path = path
        self._name = "local" if path is None else f"local:{path}"
        self._slots = slots
        self._threads = threads
        self._context = context
        self._longest_reply = LONGEST_REPLY if path is None and longest_reply is None else longest_reply
        self._load = load
        self._lock = threading.Lock()
        self._workers: ThreadPoolExecutor | None = None
        self._idle: queue.SimpleQueue[Engine] = queue.SimpleQueue()

    @property
    def name(self) -> str:
        """The name "local" or "local:FILE"."""
        return self._name

    async def __aenter__(self) -> Self:
        """Fetch the default weights if they are needed, and load the first slot.

        Raises:
            ModelUnavailable: if the weights cannot be fetched or xllamacpp is missing.
            UserError: if llama.cpp cannot load the file.
        """
        await asyncio.get_running_loop().run_in_executor(self._pool(), lambda: self._idle.put(self._engine()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Wait for the slots to come to rest (see Cancellation) and free them."""
        with self._lock:
            workers, self._workers = self._workers, None
        if workers is not None:
            await asyncio.to_thread(self._free, workers)

    async def complete(self, request: Request) -> Reply:
        """Answer one request; waits while all slots are busy.

        Raises:
            ModelError: "context" if the prompt is longer than the context, "refused" if the model's template cannot express
                the chat, "server" if llama.cpp failed.
            ModelUnavailable: if the weights cannot be fetched or xllamacpp is missing.
            UserError: if llama.cpp cannot load the file.
        """
        if self._longest_reply is not None and request.max_tokens > self._longest_reply:
            request = replace(request, max_tokens=self._longest_reply)
        stop = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool(), self._answer, request, stop)
        finally:
            stop.set()

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(self._slots, thread_name_prefix="treewright-local")
            return self._workers

    def _answer(self, request: Request, stop: threading.Event) -> Reply:
        if stop.is_set():  # cancelled just as a slot became free: nobody waits for a reply
            return Reply("")
        engine = self._engine()
        try:
            return engine.answer(request, stop)
        finally:
            self._idle.put(engine)

    def _engine(self) -> Engine:
        """An idle engine, or a new one: there are never more than workers, since each worker holds one at most."""
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            path = default_weights() if self._path is None else self._path
            return Engine(self._load(path, self._threads, self._context), self._name)

    def _free(self, workers: ThreadPoolExecutor) -> None:
        workers.shutdown(wait=True)
        while True:
            try:
                self._idle.get_nowait()
            except queue.Empty:
                return
