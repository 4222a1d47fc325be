"""The `Model` port: one request in, one reply out. Adapters and wrappers all have this type.

Adapters (`provider`, `local`, `scripted`) translate their library's faults into `ModelError`. Wrappers (`metered`,
`throttled`, `recorded`) are models around a model. Nobody above this port knows which of them are there.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Literal, Protocol

Speaker = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length", "filter"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the node and the role that a call belongs to. Part of the record, never sent to a model.

    Args:
        node: id of the node (a path such as "0.2.1").
        role: name of the role and its task, such as "thinker.strategies".
        attempt: 0 for the first ask, 1 for the one repair ask.
    """

    node: str = "0"
    role: str = ""
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked.

    Args:
        messages: the chat, oldest first; the last one is the user's.
        temperature: sampling temperature, >= 0; 0 asks for the likeliest reply.
        max_tokens: most tokens the reply may have, >= 1.
        seed: for providers that take one; equal requests with equal seeds should get equal replies.
        caller: who asks.
    """

    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int = 2048
    seed: int | None = None
    caller: Caller = field(default=Caller(), compare=False)

    @property
    def digest(self) -> str:
        """Hash of what is asked (not of who asks): 32 hexadecimal digits, equal on every machine."""
        asked = [[m.speaker, m.text] for m in self.messages], self.temperature, self.max_tokens, self.seed
        return hashlib.blake2b(json.dumps(asked, ensure_ascii=True).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `cached` is the part of `input` that the provider had in its cache."""

    input: int = 0
    output: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Args:
        text: the reply; may be empty.
        usage: tokens as the provider counted them, else our own upper estimate (`estimated`).
        finish: "stop" when the model ended by itself, "length" when `max_tokens` cut it, "filter" when it was refused.
        estimated: True when the provider reported no usage.
    """

    text: str
    usage: Usage = Usage()
    finish: Finish = "stop"
    estimated: bool = False


Fault = Literal["rate", "server", "connection", "timeout", "garbled", "quota", "key", "context", "refused"]

#: Faults that the same request may not meet again after a pause.
RETRYABLE: frozenset[Fault] = frozenset({"rate", "server", "connection", "timeout", "garbled"})


class ModelError(Exception):
    """One call failed. Only `throttled` handles it: it asks again where that can help, else raises `ModelUnavailable`.

    Args:
        fault: what kind of failure it was.
        message: one sentence that names the model or server.
        retry_after: seconds the provider asks us to wait, if it said so.
    """

    def __init__(self, fault: Fault, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.fault: Fault = fault
        self.retry_after = retry_after


class Model(Protocol):
    """A language model, or a wrapper around one."""

    @property
    def name(self) -> str:
        """As the user wrote it: "openai:gpt-4o-mini", "local", "scripted:replies.jsonl"."""
        ...

    async def complete(self, request: Request) -> Reply:
        """Answer one request.

        Raises:
            ModelError: from an adapter, when this one call failed.
            ModelUnavailable: from `throttled`, when no answer can be had.
            BudgetSpent: from `metered`, when the call could pass a limit. Nothing was sent then.
        """
        ...
