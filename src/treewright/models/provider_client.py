"""Makes the library's client for a provider or a server: finds address, key and package, or says what is missing."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from treewright.core.errors import ModelUnavailable, UserError
from treewright.models.provider_faults import sdk_errors
from treewright.models.provider_names import SERVERS, ProviderName, server_url, without_credentials

if TYPE_CHECKING:
    from pydantic_ai.models import Model as Client

#: Groups of the library's packages that our own extra installs.
_OUR_EXTRA = ("anthropic", "google", "mistral", "groq")


def address(name: ProviderName, base_url: str | None) -> str | None:
    """The OpenAI-compatible server to talk to: the name's, else `base_url`, else OPENAI_BASE_URL. None for the provider itself.

    Raises:
        UserError: if it is no http or https address, or `base_url` is given for another provider than "openai".
    """
    if name.library not in SERVERS:
        if base_url is not None:
            raise UserError(f"a base URL goes with openai:NAME only, not with {name.shown}")
        return None
    url = name.base_url or base_url or os.environ.get("OPENAI_BASE_URL") or None
    if url is None:
        return None
    if not server_url(url):
        raise UserError(f"the base URL {without_credentials(url)!r} is no address such as http://host:8000/v1")
    return None if urlsplit(url).hostname == "api.openai.com" else url


def make(name: ProviderName, server: str | None) -> Client:
    """The client. Nothing is sent yet.

    Raises:
        ModelUnavailable: if the key or a package is missing; names the variable or the command.
        UserError: if the provider has no chat models, or the name is wrong.
    """
    from pydantic_ai.exceptions import UserError as LibraryUserError
    from pydantic_ai.models import infer_model

    try:
        if server is not None:
            return _compatible(name, server)
        return infer_model(f"{name.library}:{name.model}")
    except ImportError as error:
        raise ModelUnavailable(f"{name.shown} needs a package that is not installed; run: {_install(error)}") from error
    except LibraryUserError as error:
        variables = re.findall(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`", str(error))
        if variables:
            lacks = "a key" if re.search("KEY|TOKEN", variables[0]) else "an address"
            choice = " or ".join(dict.fromkeys(variables))
            raise ModelUnavailable(f"{name.shown} needs {lacks}; set the environment variable {choice}") from error
        raise UserError(f"{name.shown} cannot be used as a chat model") from error
    except sdk_errors() as error:
        raise ModelUnavailable(f"{name.shown} has no usable credentials ({type(error).__name__})") from error


def _compatible(name: ProviderName, server: str) -> Client:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    provider = OpenAICompatibleProvider(
        "openai-compatible",
        base_url=server,
        api_key=os.environ.get("OPENAI_API_KEY") or None,
        # Every such server knows `max_tokens`; not all know its newer name.
        profile=OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False),
    )
    kind = OpenAIResponsesModel if name.library == "openai-responses" else OpenAIChatModel
    return kind(name.model, provider=provider)


def _install(error: ImportError) -> str:
    """The command that brings the package, by the library's own message."""
    match = re.search(r"pydantic-ai-slim\[([a-z0-9-]+)\]", str(error))
    if match and match[1] not in _OUR_EXTRA:
        return f"pip install 'pydantic-ai-slim[{match[1]}]'"
    return "pip install 'treewright[providers]'"
