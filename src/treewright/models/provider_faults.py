"""Translates the library's errors into `ModelError`: which fault it was, and one sentence without secrets."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from treewright.models.base import Fault, ModelError
from treewright.models.provider_names import ProviderName, without_credentials

if TYPE_CHECKING:
    from pydantic_ai.exceptions import AgentRunError, UserError

_SECRET_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
_KEY_LIKE = re.compile(r"\b(?:sk|pk|gsk|xai|hf|key)[-_][\w*.-]{6,}|\bAIza[\w-]{10,}|Bearer\s+\S+", re.IGNORECASE)

#: What servers say that have no error code for it.
_TOO_LONG = re.compile(r"context (length|size|window)|prompt is too long|too many (input )?tokens", re.IGNORECASE)


def translate(error: AgentRunError | UserError, name: ProviderName, server: str | None, timeout_s: float) -> ModelError:
    """The `ModelError` for an error of the library.

    Args:
        error: the library's error.
        name: the model's name.
        server: address of an OpenAI-compatible server, or None for the provider's own.
        timeout_s: the deadline of the call.
    """
    from pydantic_ai import exceptions as lib

    fault = _fault(error)
    who = name.shown if server is None or name.base_url else f"{name.shown} at {without_credentials(server)}"
    status = f" (status {error.status_code})" if isinstance(error, lib.ModelHTTPError) else ""
    retry_after = error.retry_after if isinstance(error, lib.ModelAPIError) else None
    broken = isinstance(error, lib.ModelConnectionError)
    sentences: dict[Fault, str] = {
        "rate": f"{who} limits the rate of calls{status}",
        "server": f"{who} answered with a server error{status}",
        "connection": f"{who} cannot be reached",
        "timeout": f"{who} did not answer within {timeout_s:g} s",
        "garbled": f"{who} "
        + ("broke the connection" if broken else "sent a reply that is broken off or not in its own protocol"),
        "quota": f"the quota or credit for {who} is spent{status}",
        "key": f"{who} refused the key{status}; check {_variable(name, server)}",
        "context": f"the prompt is longer than the context of {who}{status}",
        "refused": f"{who} refused the request{status}{_said(error)}",
    }
    return ModelError(fault, sentences[fault], retry_after=retry_after)


def sdk_errors() -> tuple[type[Exception], ...]:
    """The base errors of those providers' packages that are loaded: the library lets a few of them through."""
    bases = (
        ("openai", "OpenAIError"),
        ("anthropic", "AnthropicError"),
        ("groq", "GroqError"),
        ("google.auth.exceptions", "GoogleAuthError"),
        ("botocore.exceptions", "BotoCoreError"),
    )
    loaded = (getattr(sys.modules.get(module), name, None) for module, name in bases)
    return tuple(base for base in loaded if isinstance(base, type) and issubclass(base, Exception))


def _fault(error: Exception) -> Fault:
    from pydantic_ai import exceptions as lib

    match error:
        case lib.ModelRequestTimeout() | lib.ModelTimeoutError():
            return "timeout"
        case lib.ModelConnectionError():
            # Broken while the reply was awaited: the provider may have worked and charged, so it is no mere "connection".
            return "connection" if error.phase in ("pool", "connect", "write") else "garbled"
        case lib.ModelQuotaExceededError():
            return "quota"
        case lib.ModelRateLimitError():
            return "rate"
        case lib.ModelUnavailableError() | lib.ModelServerError():
            return "server"
        case lib.ModelContextWindowExceededError():
            return "context"
        case lib.ModelAuthenticationError():
            return "key"
        case lib.ModelRequestRejectedError() if _TOO_LONG.search(str(error)):
            return "context"
        case lib.ModelRequestRejectedError() | lib.UserError():
            return "refused"
        case lib.ModelHTTPError():
            return "server" if error.status_code >= 500 or error.status_code in (408, 409, 425) else "refused"
        case _:
            return "garbled"


def _variable(name: ProviderName, server: str | None) -> str:
    usual = "OPENAI_API_KEY" if server is not None else f"{name.prefix.partition('-')[0].upper()}_API_KEY"
    return f"the environment variable {usual}" if server is not None or usual in os.environ else "the key in the environment"


def _said(error: Exception) -> str:
    """What the provider said, in one short line without secrets; empty if it said nothing."""
    text = str(error)
    match getattr(error, "body", None):
        case {"message": str(message)} | {"error": {"message": str(message)}} | {"error": str(message)}:
            text = message
    line = " ".join(text.split())[:300]
    return f": {_scrubbed(line)}" if line else ""


def _scrubbed(text: str) -> str:
    for variable, value in os.environ.items():
        if len(value) >= 6 and _SECRET_VARIABLE.search(variable.upper()):
            text = text.replace(value, "[secret]")
    text = re.sub(r"(https?://)[^\s/@]+@", r"\1", text)
    return _KEY_LIKE.sub("[secret]", text)
