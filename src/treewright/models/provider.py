"""Language models of providers, and of any server that speaks OpenAI's protocol, through pydantic-ai.

The library is imported when the model is first used (a second or so). Its own repeats are turned off: `Throttled` is the one
place where a call is tried again, so that each try is reserved, charged and recorded.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from treewright.models import provider_client, provider_faults, provider_names
from treewright.models.base import Finish, ModelError, Reply, Request, Usage
from treewright.models.estimates import most_usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model as Client
    from pydantic_ai.settings import ModelSettings

_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "filter"}


class ProviderModel:
    """A `Model` of a provider. All calls share one client and its connections.

    `async with` makes it ready (import, key) and closes its connections at the end. Without it, the first call makes it ready
    and its connections stay open until the event loop ends.

    The key comes from the provider's own variable (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...). An OpenAI-compatible server of
    your own gets OPENAI_API_KEY too if it is set, since that is where such servers' keys are commonly kept; it needs none.

    `seed` and `temperature` are sent where the model takes them and left out where it does not (reasoning models). Equal
    requests get equal replies only as far as the provider promises.

    Args:
        name: "PREFIX:MODEL" or "openai:MODEL@URL"; the prefix is known (`provider_names.is_provider`).
        base_url: address of an OpenAI-compatible server, if the name has none; else OPENAI_BASE_URL; else OpenAI itself.
        timeout_s: seconds for one call from start to end, however the reply trickles in.

    Raises:
        UserError: if `base_url` is given for another provider than "openai".
    """

    def __init__(self, name: str, *, base_url: str | None = None, timeout_s: float = 120.0) -> None:
        self._parts = provider_names.parse(name)
        self._server = provider_client.address(self._parts, base_url)
        self._timeout_s = timeout_s
        self._client: Client | None = None
        self._making = threading.Lock()
        self._open = AsyncExitStack()

    @property
    def name(self) -> str:
        """As the user wrote it, without the credentials that an address may have."""
        return self._parts.shown

    async def __aenter__(self) -> Self:
        """Import the library and make the client.

        Raises:
            ModelUnavailable: if the key or the provider's package is missing.
            UserError: if the provider has no chat model of this name, as far as that can be seen from here.
        """
        await self._open.enter_async_context(await self._ready())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Close the connections. A later call would open new ones."""
        await self._open.aclose()

    async def complete(self, request: Request) -> Reply:
        """Send one request, once.

        Raises:
            ModelError: if the provider did not answer properly within `timeout_s`.
            ModelUnavailable: if the key or the provider's package is missing.
        """
        client = await self._ready()
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError, ContentFilterError, UserError

        try:
            response = await model_request(client, _messages(request), model_settings=self._settings(client, request))
            return _reply(request, response)
        except ContentFilterError:
            return Reply("", most_usage(request, ""), "filter", estimated=True)
        except (AgentRunError, UserError) as error:
            raise provider_faults.translate(error, self._parts, self._server, self._timeout_s) from error
        except provider_faults.sdk_errors() as error:
            raise ModelError("server", f"{self.name} failed ({type(error).__name__})") from error
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            # subtle: this is how the library stumbles over replies that are valid HTTP and not the provider's protocol:
            # `choices: []`, HTML with status 200, numbers where texts should be.
            raise ModelError("garbled", f"{self.name} sent a reply that is not in its own protocol") from error

    async def _ready(self) -> Client:
        if self._client is None:
            await asyncio.to_thread(self._make)
        assert self._client is not None
        return self._client

    def _make(self) -> None:
        with self._making:
            if self._client is None:
                self._client = provider_client.make(self._parts, self._server)

    def _settings(self, client: Client, request: Request) -> ModelSettings:
        settings: ModelSettings = {
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "request_timeout": self._timeout_s,
        }
        if request.seed is not None:
            settings["seed"] = request.seed % 2**31  # some providers take no more than a signed 32-bit number
        if "max_retries" not in client.unsupported_settings:
            settings["max_retries"] = 0
        return settings


def _messages(request: Request) -> list[ModelMessage]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

    chat: list[ModelMessage] = []
    parts: list[SystemPromptPart | UserPromptPart] = []
    for message in request.messages:
        text = message.text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot be sent
        match message.speaker:
            case "system":
                parts.append(SystemPromptPart(text))
            case "user":
                parts.append(UserPromptPart(text))
            case "assistant":
                if parts:
                    chat.append(ModelRequest(parts=tuple(parts)))
                    parts = []
                chat.append(ModelResponse(parts=[TextPart(text)]))
    if parts:
        chat.append(ModelRequest(parts=tuple(parts)))
    return chat


def _reply(request: Request, response: ModelResponse) -> Reply:
    text = response.text or ""
    if response.finish_reason == "error":
        raise ValueError("the provider ended the reply with an error")
    used = response.usage
    usage = Usage(input=used.input_tokens, output=used.output_tokens, cached=used.cache_read_tokens)
    estimated = usage.input <= 0 or (bool(text) and usage.output <= 0)
    if estimated:
        usage = most_usage(request, text)
    return Reply(text, usage, _FINISHES.get(response.finish_reason or "", "stop"), estimated)
