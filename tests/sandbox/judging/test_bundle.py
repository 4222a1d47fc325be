from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter

import pytest

from treewright.sandbox.bridge import GUEST as BRIDGE
from treewright.sandbox.judging.bundle import bundle
from treewright.sandbox.judging.candidate import GUEST
from treewright.sandbox.judging.relay import CHECKER

PROGRAMS = [GUEST, CHECKER, BRIDGE]


@pytest.mark.parametrize("names", PROGRAMS)
def test_modules_that_are_joined_share_no_names(names: tuple[str, ...]) -> None:
    defined = Counter(
        name
        for node in ast.parse(bundle(*names)).body
        for name in (
            [node.name]
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            else [target.id for target in node.targets if isinstance(target, ast.Name)]
            if isinstance(node, ast.Assign)
            else []
        )
    )
    assert [name for name, count in defined.items() if count > 1 and name not in ("TYPE_CHECKING", "_verb")] == []


@pytest.mark.parametrize("names", PROGRAMS)
def test_a_joined_program_needs_nothing_of_ours(names: tuple[str, ...]) -> None:
    program = bundle(*names) + "\nmain()"
    assert "from treewright" not in program
    # Without a channel it cannot even say that it is ready: it must get that far.
    ended = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, check=False, close_fds=True)
    assert b"Bad file descriptor" in ended.stderr


@pytest.mark.parametrize("names", PROGRAMS)
def test_a_joined_program_starts_without_slow_imports(names: tuple[str, ...]) -> None:
    program = bundle(*names) + "\nimport sys; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, check=True, text=True)
    assert not {"typing", "re", "json", "collections", "asyncio"} & set(ended.stdout.split())
