"""Secrets are known by the name of their variable or by their looks, and settings with like names are not taken for them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.core.secrets import without_secrets


@pytest.mark.parametrize(
    "name", ["API_KEY", "OPENAIKEY", "github_token", "DB_PASSWORD", "DB_PASSWD", "CLIENT_SECRET", "MY_CREDENTIALS"]
)
def test_a_value_under_such_a_name_is_taken_out(name: str) -> None:
    assert without_secrets("it is abc-123-def!", {name: "abc-123-def"}) == "it is [secret]!"


@pytest.mark.parametrize(
    ("name", "value"), [("HOME", "somewhere"), ("MAX_TOKENS", "131072"), ("KEY", "short"), ("PWD", "folder")]
)
def test_settings_stay(name: str, value: str) -> None:
    assert without_secrets(f"it is {value}", {name: value}) == f"it is {value}"


@pytest.mark.parametrize(
    "text", ["Bearer abcdefgh.ijk", "sk-abcdefghij", "ghp_abcdefghij", "AKIAABCDEFGHIJKLMNOP", "github_pat_abcdefgh"]
)
def test_what_looks_like_a_key_is_taken_out(text: str) -> None:
    assert without_secrets(f"x {text} y", {}) == "x [secret] y"


def test_what_stands_in_an_address_is_taken_out() -> None:
    assert without_secrets("at postgresql://ann:pass@host/db", {}) == "at postgresql://host/db"


def test_the_longer_of_two_that_overlap_goes_first() -> None:
    assert without_secrets("abcdefgh-long", {"A_KEY": "abcdefgh", "B_KEY": "abcdefgh-long"}) == "[secret]"


@given(st.text(min_size=12, max_size=30).filter(lambda s: s not in "[secret]" and not s.isdigit()))
def test_a_secret_is_found_in_json_too(secret: str) -> None:
    for ascii_only in (True, False):
        text = json.dumps({"a": [f"<{secret}>"]}, ensure_ascii=ascii_only)
        assert without_secrets(text, {"A_TOKEN": secret}).replace(" ", "") == '{"a":["<[secret]>"]}'.replace(" ", "")
