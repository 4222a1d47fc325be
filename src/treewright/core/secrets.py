"""Secrets: values that are keys, tokens and passwords by their name in the environment, or by their looks.

They are taken out of whatever is shown, recorded or sent. What stands in the environment under an innocent name, or nowhere, is
not recognised, unless it looks like a key.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cache

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL")
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|gsk|xai|hf|key|ghp|gho|glpat)[-_][\w*.-]{6,}|\bgithub_pat_\w{6,}|\bAIza[\w-]{10,}|\bAKIA[0-9A-Z]{12,}"
    r"|\bBearer\s+[\w.~+/=*-]{6,}",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s/@\"'\\]+@", re.IGNORECASE)
_SHORTEST = 6
#: A short number under such a name is a setting (MAX_TOKENS=131072), and taking it out would garble others.
_SHORTEST_NUMBER = 12


def without_secrets(text: str, environment: Mapping[str, str] | None = None) -> str:
    """`text` with `[secret]` where a secret stood, also where it is quoted as in JSON.

    Args:
        text: anything.
        environment: whose values are looked at; this process's own when None.

    >>> without_secrets("401 for k3y-abcdef", {"SEARCH_API_KEY": "k3y-abcdef"})
    '401 for [secret]'
    >>> without_secrets("Authorization: Bearer abcdef123456", {})
    'Authorization: [secret]'
    """
    for value in secrets(os.environ if environment is None else environment):
        for form in (value, json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]):
            if form in text:
                text = text.replace(form, "[secret]")
    return _KEY_LIKE.sub("[secret]", _IN_URL.sub(r"\1", text))


def secrets(environment: Mapping[str, str]) -> list[str]:
    """The values that are secret by their name, longest first: one may be a part of another."""
    found = {environment[name] for name in list(environment) if _is_secret_name(name)}
    return sorted(filter(_is_long_enough, found), key=len, reverse=True)


@cache  # asked for every variable at every call of a tool
def _is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name.upper()) is not None


def _is_long_enough(value: str) -> bool:
    return len(value) >= (_SHORTEST_NUMBER if value.isdigit() else _SHORTEST)
