"""Reading an OpenAPI 3 document: a file or a URL, JSON or YAML, and where the API that it describes is to be reached."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urljoin, urlsplit

from treewright.core.errors import UserError

#: The largest document that is read, in bytes.
DOCUMENT_LIMIT = 64 << 20
MISSING = "tools from an OpenAPI document need more libraries: pip install 'treewright[openapi]'"


def read_document(source: str | Path) -> dict[str, Any]:
    """The document as plain JSON data. It blocks: for a URL until it is fetched.

    Raises:
        UserError: it cannot be read, is neither JSON nor YAML, or no OpenAPI 3 document.
    """
    text = _fetched(str(source)) if is_url(source) else _file(Path(source))
    document = _parsed(text, str(source))
    version = document.get("openapi") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not str(version or "").startswith("3."):
        has = "is for Swagger 2; convert it to OpenAPI 3" if isinstance(document, dict) and "swagger" in document else "is none"
        raise UserError(f'an OpenAPI 3 document is needed (with "openapi": "3..."), and {source} {has}')
    if not isinstance(document.get("paths"), dict):
        raise UserError(f'the OpenAPI document {source} has no "paths", so no operations')
    return document


def is_url(source: str | Path) -> bool:
    """Whether it is fetched over HTTP."""
    return isinstance(source, str) and source.startswith(("http://", "https://"))


def base_url(document: Mapping[str, Any], source: str | Path) -> str | None:
    """The first of the document's servers, variables at their defaults, relative to the document's own URL; None without one.

    Args:
        document: as read.
        source: where it was read from.
    """
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, list) and servers and isinstance(servers[0], dict) else {}
    url = str(first.get("url") or "/")
    variables = first.get("variables")
    for name, variable in (variables if isinstance(variables, dict) else {}).items():
        if isinstance(variable, dict) and "default" in variable:
            url = url.replace(f"{{{name}}}", str(variable["default"]))
    if is_url(source):
        url = urljoin(str(source), url)
    return url.rstrip("/") if urlsplit(url).scheme in {"http", "https"} else None


def _file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"the OpenAPI document {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"the OpenAPI document {path} is no text in UTF-8") from error


def _fetched(url: str) -> str:
    import httpx2

    content = bytearray()
    try:
        with httpx2.stream("GET", url, follow_redirects=True, timeout=30.0) as response:
            response.raise_for_status()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > DOCUMENT_LIMIT:
                    raise UserError(f"the OpenAPI document at {url} is larger than {DOCUMENT_LIMIT >> 20} MB")
    except httpx2.HTTPStatusError as error:
        raise UserError(f"the OpenAPI document at {url} cannot be fetched: status {error.response.status_code}") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise UserError(f"the OpenAPI document at {url} cannot be fetched: {type(error).__name__}") from error
    return content.decode(errors="replace")


def _parsed(text: str, source: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        yaml = importlib.import_module("yaml")  # it has no types
    except ImportError as error:
        raise UserError(MISSING) from error
    try:
        # As JSON would have it: keys are texts, though YAML reads a status code as a number.
        return json.loads(json.dumps(yaml.load(text, Loader=_loader(yaml))))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"the OpenAPI document {source} is neither JSON nor YAML: {_line(error)}") from error


def _loader(yaml: ModuleType) -> Any:
    """A safe loader that reads words as JSON would: `on`, `no` and 2026-01-31 are texts, as OpenAPI has it."""
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    boolean, timestamp = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"
    words = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in {boolean, timestamp}]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    loader = type("_Loader", (base,), {"yaml_implicit_resolvers": words})
    yaml.add_implicit_resolver(boolean, re.compile("^(?:true|True|false|False)$"), list("tTfF"), Loader=loader)
    return loader


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
