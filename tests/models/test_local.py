"""`LocalModel`: slots, lazy loading, cancellation and clean-up with a scripted engine; then the real one, if it is here."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from local_weights import needs_weights
from treewright.core.errors import UserError
from treewright.models.base import Message, Request
from treewright.models.llama import Loader, Server
from treewright.models.local import LocalModel
from treewright.models.weights import default_weights

Chunk = dict[str, object]


def asked(text: str, *, max_tokens: int = 60) -> Request:
    return Request((Message("user", text),), temperature=0.6, max_tokens=max_tokens, seed=3)


class Gate:
    """Servers that answer nothing before `open` is set; counts how many were loaded and how many talk at once."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.started = threading.Semaphore(0)
        self.loads: list[tuple[Path, int, int]] = []
        self.talking = 0
        self.most = 0
        self.stopped = 0
        self._lock = threading.Lock()

    def load(self, path: Path, threads: int, context: int) -> Server:
        self.loads.append((path, threads, context))
        return _Gated(self)

    def enter(self, by: int) -> None:
        with self._lock:
            self.talking += by
            self.most = max(self.most, self.talking)


class _Gated:
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def handle_chat_completions(self, body: Chunk, callback: Callable[[Chunk], bool], /) -> None:
        self._gate.enter(1)
        self._gate.started.release()
        for _ in range(4000):  # 20 s: a test that fails must end all the same
            if self._gate.open.wait(0.005):
                break
            if callback({"choices": [], "prompt_progress": {}}):
                self._gate.stopped += 1
                break
        callback({"choices": [{"delta": {"content": "hello"}}]})
        self._gate.enter(-1)


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + (3).to_bytes(4, "little") + bytes(16))
    return path


def model(path: Path, load: Loader, *, slots: int = 2) -> LocalModel:
    return LocalModel(path, slots=slots, threads=1, context=512, load=load)


def test_nothing_is_loaded_before_it_is_used_and_then_once(gguf: Path) -> None:
    gate = Gate()
    gate.open.set()
    local = model(gguf, gate.load)
    assert (local.name, gate.loads) == (f"local:{gguf}", [])

    async def run() -> None:
        async with local:
            assert gate.loads == [(gguf, 1, 512)]
            for _ in range(3):
                assert (await local.complete(asked("x"))).text == "hello"

    asyncio.run(run())
    assert len(gate.loads) == 1


def test_each_slot_answers_one_request_at_a_time(gguf: Path) -> None:
    gate = Gate()

    async def run() -> None:
        async with model(gguf, gate.load, slots=2) as local, asyncio.TaskGroup() as group:
            for _ in range(5):
                group.create_task(local.complete(asked("x")))
            await asyncio.to_thread(lambda: (gate.started.acquire(), gate.started.acquire()))
            gate.open.set()

    asyncio.run(run())
    assert gate.most == 2
    assert len(gate.loads) == 2


def test_a_cancelled_call_returns_at_once_and_frees_its_slot(gguf: Path) -> None:
    gate = Gate()

    async def run() -> str:
        async with model(gguf, gate.load, slots=1) as local:
            call = asyncio.ensure_future(local.complete(asked("x")))
            await asyncio.to_thread(gate.started.acquire)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            following = asyncio.ensure_future(local.complete(asked("x")))
            await asyncio.to_thread(gate.started.acquire)  # begins only when the cancelled one has left the slot
            gate.open.set()
            return (await following).text

    assert asyncio.run(run()) == "hello"
    assert (gate.stopped, len(gate.loads)) == (1, 1)


def test_a_queued_call_that_is_cancelled_never_runs(gguf: Path) -> None:
    gate = Gate()

    async def run() -> None:
        async with model(gguf, gate.load, slots=1) as local:
            first = asyncio.ensure_future(local.complete(asked("x")))
            await asyncio.to_thread(gate.started.acquire)
            second = asyncio.ensure_future(local.complete(asked("x")))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)
            gate.open.set()
            await first

    asyncio.run(run())
    assert not gate.started.acquire(blocking=False)


def test_leaving_the_block_frees_everything_and_it_can_be_used_again_on_another_loop(gguf: Path) -> None:
    gate = Gate()
    gate.open.set()
    local = model(gguf, gate.load)

    async def run() -> None:
        async with local:
            await local.complete(asked("x"))
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("treewright-local")]

    asyncio.run(run())
    asyncio.run(run())
    assert len(gate.loads) == 2


def test_leaving_the_block_waits_until_cancelled_calls_have_left_their_slots(gguf: Path) -> None:
    gate = Gate()

    async def run() -> int:
        async with model(gguf, gate.load) as local:
            calls = [asyncio.ensure_future(local.complete(asked("x"))) for _ in range(2)]
            await asyncio.to_thread(lambda: (gate.started.acquire(), gate.started.acquire()))
            for call in calls:
                call.cancel()
        return gate.talking

    assert asyncio.run(run()) == 0


def test_an_error_while_loading_reaches_every_caller(gguf: Path) -> None:
    def fail(path: Path, threads: int, context: int) -> Server:
        raise UserError("cannot load")

    async def run() -> None:
        local = model(gguf, fail)
        for _ in range(3):
            with pytest.raises(UserError, match="cannot load"):
                await local.complete(asked("x"))
        async with local:
            pass

    with pytest.raises(UserError, match="cannot load"):
        asyncio.run(run())


@pytest.mark.parametrize(("longest", "sent"), [(5, 5), (100, 60), (None, 60)])
def test_no_reply_may_be_longer_than_the_model_is_held_to(gguf: Path, longest: int | None, sent: int) -> None:
    bodies: list[Chunk] = []

    class Noting:
        def handle_chat_completions(self, body: Chunk, callback: Callable[[Chunk], bool], /) -> None:
            bodies.append(body)

    local = LocalModel(gguf, context=512, longest_reply=longest, load=lambda path, threads, context: Noting())

    async def run() -> None:
        async with local:
            await local.complete(asked("x", max_tokens=60))

    asyncio.run(run())
    assert [body["max_tokens"] for body in bodies] == [sent]


def test_wrong_arguments_are_the_users_mistake(tmp_path: Path, gguf: Path) -> None:
    (tmp_path / "x.gguf").write_text("<html>no such model</html>")
    with pytest.raises(UserError, match="is not a GGUF file"):
        LocalModel(tmp_path / "x.gguf")
    with pytest.raises(UserError, match="at least one slot"):
        LocalModel(gguf, slots=0)


@pytest.mark.local
@needs_weights
def test_the_embedded_model_writes_a_function_in_silence() -> None:
    program = (
        "import asyncio\n"
        "from treewright.models.base import Message, Request\n"
        "from treewright.models.local import LocalModel\n"
        "async def main():\n"
        "    async with LocalModel(slots=1, context=512) as model:\n"
        "        text = 'Write a Python function add(a, b) that returns the sum of a and b.'\n"
        "        reply = await model.complete(Request((Message('user', text),), max_tokens=120, seed=1))\n"
        "    assert 'def add(a, b)' in reply.text, reply\n"
        "    assert reply.usage.input > 20 and reply.usage.output > 5, reply\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.local
@needs_weights
def test_weights_that_are_cut_off_are_named(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    with default_weights().open("rb") as whole:
        path.write_bytes(whole.read(5_000_000))

    async def run() -> None:
        async with LocalModel(path, context=512):
            pass

    with pytest.raises(UserError, match=r"cannot load .*cut\.gguf"):
        asyncio.run(run())
