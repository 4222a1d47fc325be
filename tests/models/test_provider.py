"""`ProviderModel` against a server on this machine: what is sent, what comes back, and every way it can fail."""

import asyncio
import time

import pytest

from stub_server import StubServer
from treewright.core.errors import ModelUnavailable, UserError
from treewright.models.base import Fault, Message, ModelError, Reply, Request
from treewright.models.provider import ProviderModel

ASK = Request(
    (Message("system", "be brief"), Message("user", "a"), Message("assistant", "b"), Message("user", "one two three")),
    temperature=0.25,
    max_tokens=50,
    seed=2**40 + 5,
)


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


def reply_to(request: Request, behaviour: str) -> tuple[Reply, StubServer]:
    async def run() -> tuple[Reply, StubServer]:
        async with StubServer(behaviour) as stub, ProviderModel(f"openai:stub@{stub.url}", timeout_s=20) as model:
            return await model.complete(request), stub

    return asyncio.run(run())


def failure(behaviour: str, *, timeout_s: float = 20.0) -> tuple[ModelError, StubServer]:
    async def run() -> tuple[ModelError, StubServer]:
        async with StubServer(behaviour) as stub, ProviderModel(f"openai:stub@{stub.url}", timeout_s=timeout_s) as model:
            with pytest.raises(ModelError) as caught:
                await model.complete(ASK)
            return caught.value, stub

    return asyncio.run(run())


def test_the_whole_request_is_sent_once() -> None:
    _, stub = reply_to(ASK, "ok")
    (seen,) = stub.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.body["model"] == "stub"
    assert [(m["role"], m["content"]) for m in seen.body["messages"]] == [(m.speaker, m.text) for m in ASK.messages]
    assert (seen.body["temperature"], seen.body["max_tokens"]) == (0.25, 50)
    assert 0 <= seen.body["seed"] < 2**31


def test_text_usage_and_finish_come_back() -> None:
    reply, _ = reply_to(ASK, "ok")
    assert reply.text == "echo one two three"
    assert (reply.usage.input, reply.usage.output, reply.usage.cached) == (3, 4, 1)
    assert (reply.finish, reply.estimated) == ("stop", False)


def test_a_filtered_reply_is_a_reply() -> None:
    reply, _ = reply_to(ASK, "filter")
    assert (reply.text, reply.finish) == ("", "filter")


def test_usage_that_the_server_keeps_to_itself_is_estimated_from_above() -> None:
    reply, _ = reply_to(ASK, "nousage")
    assert reply.estimated
    assert reply.usage.input >= sum(len(message.text) for message in ASK.messages)
    assert reply.usage.output >= len(reply.text)


def test_a_lone_surrogate_in_a_prompt_does_no_harm() -> None:
    reply, _ = reply_to(Request((Message("user", "x\ud800y"),)), "ok")
    assert reply.text == "echo x?y"


@pytest.mark.parametrize(
    ("behaviour", "fault", "says"),
    [
        ("rate", "rate", "limits the rate of calls (status 429)"),
        ("quota", "quota", "quota or credit"),
        ("500", "server", "server error (status 500)"),
        ("503", "server", "server error (status 503)"),
        ("401", "key", "OPENAI_API_KEY"),
        ("404", "refused", "the model stub does not exist"),
        ("context", "context", "longer than the context"),
        ("cut", "garbled", "broken off"),
        ("drop", "garbled", "broke the connection"),
        ("reset", "garbled", "broke the connection"),
        ("html", "garbled", "not in its own protocol"),
        ("error200", "garbled", "not in its own protocol"),
        ("empty", "garbled", "not in its own protocol"),
    ],
)
def test_every_failure_has_its_fault_and_is_not_repeated_here(behaviour: str, fault: Fault, says: str) -> None:
    error, stub = failure(behaviour)
    assert error.fault == fault
    assert says in str(error)
    assert f"openai:stub@{stub.url}" in str(error)
    assert len(stub.seen) == 1


def test_the_pause_that_the_provider_asks_for_is_passed_on() -> None:
    assert failure("rate:90")[0].retry_after == 90.0
    assert failure("rate")[0].retry_after is None


@pytest.mark.parametrize("behaviour", ["silence", "trickle"])
def test_the_deadline_holds_for_the_whole_call(behaviour: str) -> None:
    started = time.monotonic()
    error, stub = failure(behaviour, timeout_s=0.3)
    assert (error.fault, len(stub.seen)) == ("timeout", 1)
    assert time.monotonic() - started < 10  # the whole reply trickles in for more than 15 s


def test_nobody_there_is_a_connection_fault() -> None:
    async def run() -> ModelError:
        async with StubServer() as stub:
            url = stub.url
        with pytest.raises(ModelError, match="cannot be reached") as caught:
            await ProviderModel(f"openai:stub@{url}").complete(ASK)
        return caught.value

    assert asyncio.run(run()).fault == "connection"


def test_cancellation_passes_through_while_a_server_is_silent() -> None:
    async def run() -> None:
        async with StubServer("silence") as stub, ProviderModel(f"openai:stub@{stub.url}") as model:
            call = asyncio.ensure_future(model.complete(ASK))
            await stub.arrived.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    asyncio.run(run())


@pytest.mark.parametrize("behaviour", ["401", "400"])
def test_keys_never_reach_a_message(behaviour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "topsecretvalue")
    error, stub = failure(behaviour)
    assert stub.seen[0].headers["authorization"] == "Bearer topsecretvalue"
    assert "topsecretvalue" not in str(error)


def test_credentials_in_an_address_are_in_no_name_and_no_message() -> None:
    async def run() -> str:
        model = ProviderModel("openai:stub@http://user:hunter22@127.0.0.1:9/v1?token=abcdef")
        with pytest.raises(ModelError) as caught:
            await model.complete(ASK)
        return model.name + str(caught.value)

    shown = asyncio.run(run())
    assert "openai:stub@http://127.0.0.1:9/v1" in shown
    for secret in ("hunter22", "abcdef", "user"):
        assert secret not in shown


@pytest.mark.parametrize("way", ["argument", "variable"])
def test_the_address_may_come_from_elsewhere_and_needs_no_key(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> tuple[str, str]:
        async with StubServer() as stub:
            if way == "variable":
                monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
            async with ProviderModel("openai:stub", base_url=stub.url if way == "argument" else None) as model:
                return model.name, (await model.complete(ASK)).text

    assert asyncio.run(run()) == ("openai:stub", "echo one two three")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:gpt-4o-mini", "OPENAI_API_KEY"),
        ("openai:gpt-4o-mini@https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("openrouter:x/y", "OPENROUTER_API_KEY"),
    ],
)
def test_a_missing_key_names_its_variable(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variable, raising=False)

    async def run() -> None:
        async with ProviderModel(name):
            pass

    with pytest.raises(ModelUnavailable, match=f"set the environment variable {variable}"):
        asyncio.run(run())


def test_a_wrong_address_is_the_users_mistake() -> None:
    for wrong in ("nonsense", "ftp://host/v1", "http://", "http://[bad"):
        with pytest.raises(UserError, match="is no address such as"):
            ProviderModel("openai:stub", base_url=wrong)
    with pytest.raises(UserError, match="only, not with anthropic:x"):
        ProviderModel("anthropic:x", base_url="http://host/v1")


def test_one_model_can_be_opened_again_and_on_another_event_loop() -> None:
    async def run(model: ProviderModel | None, port: int) -> tuple[ProviderModel, int]:
        async with StubServer(port=port) as stub:
            model = model or ProviderModel(f"openai:stub@{stub.url}")
            for _ in range(2):
                async with model:
                    replies = await asyncio.gather(*(model.complete(ASK) for _ in range(8)))
                    assert {reply.text for reply in replies} == {"echo one two three"}
            return model, stub.port

    asyncio.run(run(*asyncio.run(run(None, 0))))
