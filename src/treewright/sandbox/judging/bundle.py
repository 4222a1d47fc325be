"""Source texts of our own modules, joined into one program that can be sent into a sandbox where this package is not."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

_PACKAGE = "treewright"
_SANDBOX = Path(__file__).parents[1]


@lru_cache(maxsize=8)
def bundle(*names: str) -> str:
    """One program made of the modules `names` of `treewright.sandbox` ("judging.guest"), in that order: a trusted text.

    Its `main` is that of the last module. Each module may import from the ones before it; their names must not clash. The
    program works on a copy of the builtins, so that whatever it loads later cannot change them under it.
    """
    texts = [_without_own_imports((_SANDBOX / f"{name.replace('.', '/')}.py").read_text("utf-8")) for name in names]
    copied = '__builtins__ = dict(vars(__import__("builtins")))'
    return "\n".join(["from __future__ import annotations", copied, *texts])


def _without_own_imports(source: str) -> str:
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("__future__", _PACKAGE):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return "\n".join(lines)
