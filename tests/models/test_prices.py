"""Prices: own ones first, then the table; nothing for local models; None for what nobody knows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.models.base import Usage
from treewright.models.prices import Price, cost, price, pricing

OWN = {"openai:mine": Price(1.0, 2.0, 0.5), "local": Price(0.1, 0.2)}


def test_known_models_have_a_price_with_a_discount_for_cached_tokens() -> None:
    found = price("openai:gpt-4o-mini")
    assert found is not None
    assert 0 < found.input < found.output
    assert found.cached is not None
    assert 0 < found.cached < found.input


@pytest.mark.parametrize("prefix", ["openai", "openai-responses"])
def test_prefixes_of_one_provider_have_one_price(prefix: str) -> None:
    assert price(f"{prefix}:gpt-4o-mini") == price("openai:gpt-4o-mini") is not None
    assert price("google-gla:gemini-2.5-pro") == price("google:gemini-2.5-pro") is not None


@pytest.mark.parametrize("name", ["openai:no-such-model", "openai:gpt@http://host/v1", "vllm:gpt-4o-mini", "nothing", ""])
def test_what_nobody_knows_has_no_price(name: str) -> None:
    assert price(name) is None
    assert pricing(name) is None
    assert cost(Usage(1, 1), name) is None


@pytest.mark.parametrize("name", ["local", "local:m.gguf", "scripted:x.jsonl", "scripted"])
def test_models_on_this_machine_cost_nothing(name: str) -> None:
    assert cost(Usage(10**9, 10**9), name) == 0.0


def test_own_prices_come_first() -> None:
    assert price("openai:mine", OWN) == OWN["openai:mine"]
    assert cost(Usage(2_000_000, 1_000_000), "local", OWN) == pytest.approx(0.4)


def test_cached_tokens_are_part_of_the_input() -> None:
    assert cost(Usage(1_000_000, 0, 400_000), "openai:mine", OWN) == pytest.approx(0.6 * 1.0 + 0.4 * 0.5)
    assert Price(3.0, 0.0)(input_tokens=1_000_000, output_tokens=0, cached_tokens=400_000) == pytest.approx(3.0)


def test_long_prompts_cost_what_their_tier_says() -> None:
    flat = price("google:gemini-2.5-pro")
    long = cost(Usage(1_000_000, 0), "google:gemini-2.5-pro")
    assert flat is not None
    assert long is not None
    assert long > flat.input


@given(st.integers(0, 100_000), st.integers(0, 100_000), st.floats(0, 1))
def test_the_table_and_the_plain_price_agree_on_usual_calls(asked: int, said: int, share: float) -> None:
    plain = price("openai:gpt-4o-mini")
    cached = int(asked * share)
    assert plain is not None
    assert cost(Usage(asked, said, cached), "openai:gpt-4o-mini") == pytest.approx(
        plain(input_tokens=asked, output_tokens=said, cached_tokens=cached), abs=1e-9
    )
