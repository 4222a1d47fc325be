"""Keys of an API: taken from the environment when a call is made, put where the document's security schemes say, never shown.

    scheme in the document                  the variable's value
    http bearer, oauth2, openIdConnect      a token
    http basic                              user:password
    apiKey (header, query or cookie)        the key

The variable of a scheme is TREEWRIGHT_<SCHEME>_TOKEN, the scheme's name in capitals and other signs as "_", unless the user
names one.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus

#: A key this short is no secret, and taking it out would garble what is said.
_SHORTEST = 6


@dataclass(frozen=True, slots=True)
class Keys:
    """What a request carries to be let in.

    Args:
        headers: headers.
        query: parameters of its URL.
        cookies: cookies.
        secrets: the keys themselves.
        missing: the variables that would have to be set, if the operation needs a key that is not there.
    """

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    missing: tuple[str, ...] = ()

    def cleaned(self, text: str) -> str:
        """`text` without the keys, in any of the ways they are written on the wire."""
        words = {
            form for secret in self.secrets for form in (secret, quote(secret), quote(secret, safe=""), quote_plus(secret))
        }
        for word in sorted(words, key=len, reverse=True):
            if len(word) >= _SHORTEST:
                text = text.replace(word, "[secret]")
        return text


class Lock:
    """The security schemes of a document.

    Args:
        document: the document.
        variables: the environment variable of a scheme, by the scheme's name, where it is not the usual one.
    """

    def __init__(self, document: Mapping[str, Any], variables: Mapping[str, str]) -> None:
        components = document.get("components")
        schemes = components.get("securitySchemes") if isinstance(components, dict) else None
        self.schemes = {name: s for name, s in schemes.items() if isinstance(s, dict)} if isinstance(schemes, dict) else {}
        self._variables = dict(variables)
        self._general = document.get("security")
        self._silent = self._general is None and not any(
            isinstance(operation, dict) and "security" in operation
            for item in document["paths"].values()
            if isinstance(item, dict)
            for operation in item.values()
        )

    def variable(self, scheme: str) -> str:
        """The environment variable that a scheme's key is taken from."""
        usual = re.sub(r"\W", "_", scheme, flags=re.ASCII).strip("_").upper()
        return self._variables.get(scheme, f"TREEWRIGHT_{usual}_TOKEN")

    def keys(self, operation: Mapping[str, Any], environ: Mapping[str, str]) -> Keys:
        """What a request of an operation carries: its first alternative for which every key is there.

        A document that defines schemes and never says where they apply gets each one whose key is there.

        Args:
            operation: as in the document.
            environ: where keys are.
        """
        if self._silent:
            return self._filled([scheme for scheme in self.schemes if environ.get(self.variable(scheme))], environ)
        wanted = operation.get("security", self._general)
        alternatives = (
            [[scheme for scheme in a if scheme in self.schemes] for a in wanted if isinstance(a, dict)]
            if isinstance(wanted, list)
            else []
        )
        # Being let in with a key may show more than without one, so an empty alternative comes last.
        for alternative in sorted(alternatives, key=lambda schemes: not schemes):
            if all(environ.get(self.variable(scheme)) for scheme in alternative):
                return self._filled(alternative, environ)
        return Keys(missing=tuple(map(self.variable, alternatives[0]))) if alternatives else Keys()

    def _filled(self, schemes: list[str], environ: Mapping[str, str]) -> Keys:
        places: dict[str, dict[str, str]] = {"header": {}, "query": {}, "cookie": {}}
        secrets: list[str] = []
        for name in schemes:
            scheme, value = self.schemes[name], environ[self.variable(name)]
            secrets.append(value)
            if scheme.get("type") == "apiKey":
                places.setdefault(str(scheme.get("in")), {})[str(scheme.get("name"))] = value
            elif str(scheme.get("scheme")).lower() == "basic":
                coded = base64.b64encode(value.encode()).decode()
                secrets += [coded, value.partition(":")[2]]
                places["header"]["Authorization"] = f"Basic {coded}"
            else:
                places["header"]["Authorization"] = f"Bearer {value}"
        return Keys(places["header"], places["query"], places["cookie"], tuple(secrets))
