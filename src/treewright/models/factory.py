"""From the name of a model, as a user writes it, to its adapter. Wrappers are put around it by the caller.

| name                              | model                                                  |
|-----------------------------------|--------------------------------------------------------|
| `local`                           | the embedded model                                     |
| `local:FILE.gguf`                 | any GGUF file                                          |
| `scripted:FILE.jsonl`             | replies from a file                                    |
| `openai:gpt-4o-mini`              | a provider and its model; `known()` lists the prefixes |
| `openai:NAME@http://host:8000/v1` | any server that speaks OpenAI's protocol               |
"""

from __future__ import annotations

import difflib
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from treewright.core.errors import UserError
from treewright.models.base import Model
from treewright.models.provider_names import is_provider, known_prefixes, suggestion


class Adapter(Model, Protocol):
    """A model that is made ready and closed by `async with`. Used without, it makes itself ready at its first call."""

    async def __aenter__(self) -> Self:
        """Do now what is slow or may fail before the first reply: import, find the key, fetch, load."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Close connections, free memory."""
        ...


def build(name: str, *, base_url: str | None = None, timeout_s: float = 120.0, slots: int = 2) -> Adapter:
    """The adapter that a name stands for. Nothing is imported, loaded or sent yet; files that are named are looked at.

    Args:
        name: see the table above.
        base_url: address of an OpenAI-compatible server, for `openai:`; the name's own "@URL" goes before it.
        timeout_s: seconds that one call of a provider, or a scripted "hang", may take. The local model has no time-out: it
            always ends, at `max_tokens` at the latest.
        slots: requests that the local model answers at once.

    Raises:
        UserError: if the name is unknown or incomplete, or its file is missing or wrong.
    """
    kind, _, rest = name.strip().partition(":")
    match kind:
        case "local":
            from treewright.models.local import LocalModel

            return LocalModel(Path(rest).expanduser() if rest else None, slots=slots)
        case "scripted":
            if not rest:
                raise UserError("a scripted model needs its file: scripted:FILE.jsonl")
            from treewright.models.scripted import scripted_file

            return scripted_file(Path(rest).expanduser(), name=name.strip(), timeout_s=timeout_s)
        case _ if is_provider(kind) and rest:
            from treewright.models.provider import ProviderModel

            return ProviderModel(name.strip(), base_url=base_url, timeout_s=timeout_s)
        case _ if is_provider(kind):
            raise UserError(f"{name!r} lacks the model's own name: {kind}:NAME")
        case _:
            raise UserError(_unknown(name, kind))


def known() -> tuple[str, ...]:
    """What the names that `build` takes begin with, ours first. Imports the providers' library: a second or so."""
    return (*_OWN, *known_prefixes())


_OWN = ("local", "scripted")


def _unknown(name: str, kind: str) -> str:
    close = difflib.get_close_matches(kind, known(), n=1)
    hint = suggestion(name) or (f"{close[0]}{name[len(kind) :]}" if close else None)
    meant = f" (did you mean {hint!r}?)" if hint else ""
    return f"unknown model {name!r}{meant}; known are {', '.join(f'{prefix}:' for prefix in known())}"
