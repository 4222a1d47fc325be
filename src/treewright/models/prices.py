"""What a model's tokens cost: your own prices first, then the table that the package genai-prices maintains.

The table is part of that package and changes with its releases; nothing is looked up on the network. Local and scripted
models cost nothing. A model that is in neither has no price (None): its dollars are unknown, not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from treewright.models.base import Usage

_MILLION = 1_000_000
#: Our prefix -> the table's provider, where they differ.
_PROVIDERS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "azure-responses": "azure",
    "bedrock": "aws",
    "google-cloud": "google",
    "google-gla": "google",
    "google-vertex": "google",
    "xai": "x-ai",
}
_FREE = ("local", "scripted")


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens.

    Args:
        input: of the prompt.
        output: of the reply.
        cached: of the part of the prompt that the provider had in its cache; None for no discount.
    """

    input: float
    output: float
    cached: float | None = None

    def __call__(self, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """Dollars of one call; `cached_tokens` are part of `input_tokens`."""
        cached = self.input if self.cached is None else self.cached
        fresh = input_tokens - cached_tokens
        return (fresh * self.input + cached_tokens * cached + output_tokens * self.output) / _MILLION


class Pricing(Protocol):
    """Dollars of one call, by its tokens."""

    def __call__(self, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """Dollars, >= 0; `cached_tokens` are part of `input_tokens`."""
        ...


def pricing(name: str, own: Mapping[str, Price] | None = None) -> Pricing | None:
    """How to price the calls of a model, with the table's tiers for long prompts; None if its price is unknown.

    Args:
        name: the model's name as in `factory.build`.
        own: name -> price, for models that the table lacks or that you pay otherwise.
    """
    if own and name in own:
        return own[name]
    kind, _, model = name.partition(":")
    if kind in _FREE:
        return Price(0.0, 0.0, 0.0)
    table = _Table(_PROVIDERS.get(kind, kind), model)
    return table if table.has() else None


def price(name: str, own: Mapping[str, Price] | None = None) -> Price | None:
    """Dollars for a million tokens of each kind, for prompts of usual length; None if unknown.

    Args:
        name: the model's name as in `factory.build`.
        own: name -> price, before the table.
    """
    dollars = pricing(name, own)
    if dollars is None or isinstance(dollars, Price):
        return dollars
    # Prices are read off a small call: tiers for long prompts begin far above it.
    return Price(
        input=_per_million(lambda n: dollars(input_tokens=n, output_tokens=0)),
        output=_per_million(lambda n: dollars(input_tokens=0, output_tokens=n)),
        cached=_per_million(lambda n: dollars(input_tokens=n, output_tokens=0, cached_tokens=n)),
    )


def cost(usage: Usage, name: str, own: Mapping[str, Price] | None = None) -> float | None:
    """Dollars of one call; None if the model's price is unknown.

    Args:
        usage: its tokens.
        name: the model's name as in `factory.build`.
        own: name -> price, before the table.
    """
    dollars = pricing(name, own)
    if dollars is None:
        return None
    return dollars(input_tokens=usage.input, output_tokens=usage.output, cached_tokens=usage.cached)


def _per_million(dollars: Callable[[int], float]) -> float:
    return round(dollars(1000) * 1000, 9)


@dataclass(frozen=True, slots=True)
class _Table:
    """One model's entry in the maintained table."""

    provider: str
    model: str

    def has(self) -> bool:
        try:
            self(input_tokens=1, output_tokens=1)
        except LookupError:
            return False
        return True

    def __call__(self, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        import genai_prices

        tokens = genai_prices.Usage(
            input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens or None
        )
        return float(genai_prices.calc_price(tokens, self.model, provider_id=self.provider).total_price)
