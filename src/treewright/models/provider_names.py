"""The names of providers and their models. The library that knows them all is imported only where it is needed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

#: Prefixes that need no look into the library.
_USUAL = frozenset({"openai", "openai-responses", "anthropic", "google", "mistral", "groq"})
#: What the library has a prefix for and what is no chat model.
_NO_CHAT = frozenset({"openai-decisions", "google-decisions", "typesafe", "openai-chat"})
#: Names of today and of former versions -> the library's. "openai" means the protocol that other servers speak as well and
#: that takes a seed (Chat Completions); there the library means the Responses API, here "openai-responses".
_ALIASES = {"openai": "openai-chat", "google-gla": "google", "google-vertex": "google-cloud", "gemini": "google"}

#: Prefixes, as in the library, that can talk to a server by its address.
SERVERS = ("openai-chat", "openai-responses")


@dataclass(frozen=True, slots=True)
class ProviderName:
    """The parts of "PREFIX:MODEL" or "openai:MODEL@URL".

    Args:
        prefix: as the user wrote it.
        library: the same for the library.
        model: the provider's own name of the model.
        base_url: address of an OpenAI-compatible server, with the credentials it may have; None for the provider's own.
    """

    prefix: str
    library: str
    model: str
    base_url: str | None

    @property
    def shown(self) -> str:
        """The name without credentials: for messages and records."""
        at = "" if self.base_url is None else f"@{without_credentials(self.base_url)}"
        return f"{self.prefix}:{self.model}{at}"


def parse(name: str) -> ProviderName:
    """Take a name apart. It has a known prefix and something after it."""
    prefix, _, rest = name.partition(":")
    library = _ALIASES.get(prefix, prefix)
    match = re.fullmatch(r"(.+?)@([a-z]+://.*)", rest) if library in SERVERS else None
    if match:
        return ProviderName(prefix, library, match[1], match[2])
    return ProviderName(prefix, library, rest, None)


def without_credentials(url: str) -> str:
    """The address without user, password, query and fragment; what is no address is not repeated at all."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "..."
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def server_url(url: str) -> bool:
    """Whether this is the address of a web server."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port above 65535
        return False


def is_provider(prefix: str) -> bool:
    """Whether a provider has this prefix. Imports the library unless it is one of the usual ones."""
    if prefix in _USUAL or prefix in _ALIASES:
        return True
    if not re.fullmatch(r"[a-z][a-z0-9-]*(/[a-z0-9-]+)?", prefix):
        return False
    from pydantic_ai.providers import infer_provider_class

    try:
        infer_provider_class(prefix)
    except ValueError:
        return False
    except ImportError:  # known, and its package is not installed: said when the model is used
        return True
    return True


def known_prefixes() -> tuple[str, ...]:
    """Prefixes of the providers that have chat models, the usual ones first."""
    from typing import get_args

    from pydantic_ai.models import OpenAIChatCompatibleProvider, known_model_names

    named = {name.partition(":")[0] for name in known_model_names() if ":" in name and not name.startswith("gateway/")}
    compatible = set(get_args(OpenAIChatCompatibleProvider.__value__))
    return (*sorted(_USUAL), *sorted((named | compatible) - _USUAL - _NO_CHAT))


def suggestion(name: str) -> str | None:
    """The full name of a model that was written without its prefix, if the price table knows whose it is."""
    from genai_prices import Usage, calc_price

    try:
        provider = calc_price(Usage(), name).provider.id
    except LookupError:
        return None
    return f"{provider}:{name}" if provider in known_prefixes() else None
