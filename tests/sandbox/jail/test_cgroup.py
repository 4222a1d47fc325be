from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_homes import ended, namespaces
from treewright.sandbox.base import Job, Limits
from treewright.sandbox.jail import cgroup
from treewright.sandbox.jail.cgroup import Cgroup
from treewright.sandbox.namespaces import NamespaceSandbox

V1 = "9:name=systemd:/\n4:memory:/outer/mine\n0::/\n"
V2 = "0::/user.slice/mine.scope\n"


def v1_group(folder: Path) -> Cgroup:
    folder.mkdir(parents=True)
    (folder / "memory.usage_in_bytes").write_text("1048576\n")
    (folder / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    return Cgroup(folder, 1)


def v2_group(folder: Path) -> Cgroup:
    folder.mkdir(parents=True)
    (folder / "memory.current").write_text("2097152\n")
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n")
    return Cgroup(folder, 2)


def test_the_limit_comes_on_top_of_what_is_held_already(tmp_path: Path) -> None:
    first, second = v1_group(tmp_path / "one"), v2_group(tmp_path / "two")
    first.limit(100)
    second.limit(100)
    assert (first.folder / "memory.limit_in_bytes").read_text() == str(101 << 20)
    assert (first.folder / "memory.memsw.limit_in_bytes").read_text() == str(101 << 20)
    assert (second.folder / "memory.max").read_text() == str(102 << 20)
    assert (second.folder / "memory.swap.max").read_text() == "0"


def test_kills_of_the_kernel_are_counted(tmp_path: Path) -> None:
    assert v1_group(tmp_path / "one").kills() == 3
    assert v2_group(tmp_path / "two").kills() == 1


def test_where_no_group_can_be_made_there_is_none(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    assert cgroup.find(tmp_path, own) is None
    for text in (V1, V2, "", "3:cpu:/\n"):
        own.write_text(text)
        assert cgroup.find(tmp_path / "mounted", own) is None


def test_a_group_that_does_not_count_memory_is_no_use(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text(V2)
    scope = tmp_path / "mounted" / "user.slice" / "mine.scope"
    scope.mkdir(parents=True)
    (scope / "cgroup.subtree_control").write_text("memory")
    assert cgroup.find(tmp_path / "mounted", own) is None
    assert [entry.name for entry in scope.iterdir()] == ["cgroup.subtree_control"]  # the trial was taken back


def test_counting_is_switched_on_only_when_nothing_else_lives_in_the_scope(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text(V2)
    scope = tmp_path / "mounted" / "user.slice" / "mine.scope"
    scope.mkdir(parents=True)
    (scope / "cgroup.subtree_control").write_text("")
    (scope / "cgroup.procs").write_text(f"{os.getpid()}\n1\n")
    cgroup.find(tmp_path / "mounted", own)
    assert not (scope / "treewright-host").exists()
    (scope / "cgroup.procs").write_text(f"{os.getpid()}\n")
    cgroup.find(tmp_path / "mounted", own)
    assert (scope / "treewright-host" / "cgroup.procs").read_text() == str(os.getpid())
    assert (scope / "cgroup.subtree_control").read_text() == "+memory"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[NamespaceSandbox]:
    with namespaces(slots=1) as opened:
        yield opened


CHILDREN = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(100 << 20)
        time.sleep(20)
        os._exit(0)
for _ in range(6):
    _, status = os.wait()
    if status:
        raise SystemExit(f"a child ended with {status}")
"""


@pytest.mark.skipif(cgroup.find() is None, reason=f"no cgroup that bounds memory can be made here: {cgroup.HOW_TO_GET}")
def test_memory_of_all_processes_together_is_held(sandbox: NamespaceSandbox) -> None:
    groups = cgroup.find()
    assert groups
    before = set(groups.folder.iterdir())
    outcome = asyncio.run(ended(sandbox, Job(python=CHILDREN, limits=Limits(processes=8, memory_mb=256, wall_s=30))))
    assert outcome.status == "memory"
    assert outcome.wall_s < 20
    after = asyncio.run(ended(sandbox, Job(python="print(1)", limits=Limits(processes=8))))
    assert after.status == "ok"
    sandbox.close()
    assert set(groups.folder.iterdir()) <= before


def test_without_a_cgroup_each_process_gets_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "find", lambda: None)
    program = """
import mmap, os
def takes(mib):
    if (pid := os.fork()) == 0:
        try: bytearray(mib << 20); os._exit(0)
        except MemoryError: os._exit(1)
    return os.waitpid(pid, 0)[1] == 0
print(takes(40), takes(160))
"""
    with namespaces(slots=1) as unheld:
        outcome = asyncio.run(ended(unheld, Job(python=program, limits=Limits(processes=3, memory_mb=640))))
        assert outcome.stdout == b"True False\n", outcome
        job = Job(command=("sh", "-c", "test -e /dev/zero || echo none"))
        assert asyncio.run(ended(unheld, job)).stdout == b"none\n"
