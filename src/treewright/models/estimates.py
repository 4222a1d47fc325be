"""Token counts when nobody counted: for providers that report no usage, and for the scripted model."""

from __future__ import annotations

from treewright.models.base import Request, Usage

#: Tokens that a chat template may add around one message (role markers, separators), and once a request.
TEMPLATE_TOKENS = 8


def most_tokens(text: str) -> int:
    """Upper bound of the tokens of `text`: one for each UTF-8 byte.

    It holds for every byte-level tokenizer. English and code have about four bytes a token, so this is far above the
    count to be expected; it is meant for limits that must not be passed, not for forecasts.
    """
    return len(text.encode("utf-8", "replace"))


def most_usage(request: Request, reply: str) -> Usage:
    """Upper bound of what one call used: every byte a token, the output never above `max_tokens`."""
    asked = sum(most_tokens(message.text) + TEMPLATE_TOKENS for message in request.messages) + TEMPLATE_TOKENS
    return Usage(input=asked, output=min(most_tokens(reply), request.max_tokens))


def usual_usage(request: Request, reply: str) -> Usage:
    """A plausible count, the same on every machine: four characters a token, rounded up for each text."""
    asked = sum(_quarter(message.text) for message in request.messages)
    return Usage(input=asked, output=_quarter(reply))


def _quarter(text: str) -> int:
    return -(-len(text) // 4)
