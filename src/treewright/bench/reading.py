"""Reading the files of a benchmark."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from treewright.core.errors import UserError

Json = Mapping[str, Any]


def read_bytes(path: Path) -> bytes:
    """All of a file, unpacked when its name ends in .gz.

    Raises:
        UserError: it cannot be read.
    """
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UserError(f"{path} cannot be read ({reason}): name the folder that holds the benchmark's data") from error


def read_json(path: Path) -> Any:
    """The value in a JSON file, packed or not.

    Raises:
        UserError: it cannot be read or is no JSON.
    """
    try:
        return json.loads(read_bytes(path))
    except ValueError as error:
        raise UserError(f"{path} is no valid JSON ({error}): fetch it again") from error


def text_in(row: Json, key: str) -> str:
    """The text at a key.

    Raises:
        KeyError: there is none.
        TypeError: it is no text.
    """
    text = row[key]
    if not isinstance(text, str):
        raise TypeError(f"{key} is no text")
    return text
