"""llama.cpp's adapter against a scripted stand-in for its server: what is sent, what is made of the chunks."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from treewright.core.errors import UserError
from treewright.models.base import Fault, Message, ModelError, Reply, Request
from treewright.models.llama import Engine, check_gguf

ASK = Request((Message("system", "s"), Message("user", "u\ud800")), temperature=0.5, max_tokens=9, seed=2**32 + 4)
Chunk = dict[str, object]


class Chunks:
    """A server that streams the given chunks."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.chunks = list(chunks)
        self.body: Chunk = {}
        self.sent = 0

    def handle_chat_completions(self, body: Chunk, callback: Callable[[Chunk], bool], /) -> None:
        self.body = body
        for chunk in self.chunks:
            self.sent += 1
            if callback(chunk):
                return


def says(text: str | None) -> Chunk:
    return {"choices": [{"finish_reason": None, "index": 0, "delta": {"content": text}}]}


def ends(reason: str) -> Chunk:
    return {"choices": [{"finish_reason": reason, "index": 0, "delta": {}}]}


USAGE: Chunk = {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42}}
PROGRESS: Chunk = {"choices": [], "prompt_progress": {"total": 40, "processed": 0}}


def answer(server: Chunks, *, stop: bool = False) -> Reply:
    event = threading.Event()
    if stop:
        event.set()
    return Engine(server, "local:m.gguf").answer(ASK, event)


def test_the_request_is_sent_whole_reproducible_and_without_broken_characters() -> None:
    server = Chunks([])
    answer(server)
    assert server.body["messages"] == [{"role": "system", "content": "s"}, {"role": "user", "content": "u?"}]
    assert (server.body["temperature"], server.body["max_tokens"]) == (0.5, 9)
    assert server.body["seed"] == (2**32 + 4) % (2**32 - 1)
    assert server.body["cache_prompt"] is False


def test_without_a_seed_none_is_sent() -> None:
    server = Chunks([])
    Engine(server, "local").answer(Request(ASK.messages), threading.Event())
    assert "seed" not in server.body


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_chunks_become_a_reply(finish: str) -> None:
    reply = answer(Chunks([PROGRESS, says(None), says("de"), says("f"), ends(finish), USAGE]))
    assert (reply.text, reply.finish) == ("def", finish)
    assert (reply.usage.input, reply.usage.output, reply.estimated) == (40, 2, False)


def test_it_stops_at_the_next_chunk_when_told_to() -> None:
    server = Chunks([PROGRESS, says("a"), says("b")])
    answer(server, stop=True)
    assert server.sent == 1


@pytest.mark.parametrize(
    ("error", "fault", "part"),
    [
        ({"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9031, "n_ctx": 8192}, "context", "9031"),
        ({"code": 400, "type": "invalid_request_error", "message": "roles must alternate"}, "refused", "alternate"),
        ({"code": 500, "type": "server_error", "message": "out of luck"}, "server", "out of luck"),
    ],
)
def test_errors_become_faults_with_numbers(error: Chunk, fault: Fault, part: str) -> None:
    with pytest.raises(ModelError, match=part) as caught:
        answer(Chunks([{"error": error}, says("never")]))
    assert caught.value.fault == fault
    assert "local:m.gguf" in str(caught.value)


@pytest.mark.parametrize("error", [RuntimeError("bad json"), ValueError("'messages' is required")])
def test_what_the_binding_raises_is_a_server_fault(error: Exception) -> None:
    class Raising(Chunks):
        def handle_chat_completions(self, body: Chunk, callback: Callable[[Chunk], bool], /) -> None:
            raise error

    with pytest.raises(ModelError) as caught:
        answer(Raising([]))
    assert caught.value.fault == "server"


def test_only_gguf_files_pass_the_check(tmp_path: Path) -> None:
    good = tmp_path / "good.gguf"
    good.write_bytes(b"GGUF" + (3).to_bytes(4, "little") + bytes(16))
    check_gguf(good)
    for name, data in (("page.gguf", b"<html>" + bytes(99)), ("short.gguf", b"GGUF"), ("old.gguf", b"GGUF" + bytes(99))):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError, match=rf"{name} is not a GGUF file"):
            check_gguf(tmp_path / name)
    with pytest.raises(UserError, match=r"nowhere\.gguf cannot be read: No such file"):
        check_gguf(tmp_path / "nowhere.gguf")
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        check_gguf(tmp_path)
