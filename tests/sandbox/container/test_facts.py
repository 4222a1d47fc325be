from __future__ import annotations

import os
from pathlib import Path

import pytest

from treewright.sandbox.container.facts import gather, memory_kills

STATUS = "Name:\tpython3\nCapInh:\t0\nCapPrm:\t0\nCapEff:\t0\nCapBnd:\t0\nCapAmb:\t0\nNoNewPrivs:\t1\nSeccomp:\t2\n"


def lay(root: Path, files: dict[str, str]) -> Path:
    (root / "sys/class/net/lo").mkdir(parents=True, exist_ok=True)
    for name, text in {"proc/self/status": STATUS, "proc/meminfo": "SwapTotal:  2048 kB\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


SECOND = {
    "sys/fs/cgroup/memory.max": "1000\n",
    "sys/fs/cgroup/memory.swap.max": "0\n",
    "sys/fs/cgroup/pids.max": "66\n",
}
FIRST = {
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n",
    "sys/fs/cgroup/memory/memory.memsw.limit_in_bytes": "1000\n",
    "sys/fs/cgroup/pids/pids.max": "66\n",
}


@pytest.mark.parametrize("groups", [FIRST, SECOND])
def test_limits_are_found_in_both_versions_of_control_groups(tmp_path: Path, groups: dict[str, str]) -> None:
    facts = gather(lay(tmp_path, groups), tmp_path)
    assert (facts["memory"], facts["swap"], facts["tasks"]) == (1000, 0, 66)


@pytest.mark.parametrize(
    "groups",
    [
        {},
        dict.fromkeys(SECOND, "max\n"),
        {name: "9223372036854771712\n" if "memory" in name else "max\n" for name in FIRST},
    ],
)
def test_no_limit_is_none(tmp_path: Path, groups: dict[str, str]) -> None:
    facts = gather(lay(tmp_path, {**groups, "proc/meminfo": ""}), tmp_path)
    assert (facts["memory"], facts["swap"], facts["tasks"]) == (None, None, None)


@pytest.mark.parametrize("name", ["sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"])
def test_where_swap_is_not_counted_all_of_the_machines_can_be_used(tmp_path: Path, name: str) -> None:
    assert gather(lay(tmp_path, {name: "1000"}), tmp_path)["swap"] == 2048 * 1024
    assert gather(lay(tmp_path, {name: "1000", "proc/meminfo": "SwapTotal: 0 kB\n"}), tmp_path)["swap"] == 0


def test_swap_beyond_memory_is_told(tmp_path: Path) -> None:
    groups = {**FIRST, "sys/fs/cgroup/memory/memory.memsw.limit_in_bytes": "1500\n"}
    assert gather(lay(tmp_path, groups), tmp_path)["swap"] == 500


def test_privileges_are_read_from_the_kernel(tmp_path: Path) -> None:
    facts = gather(lay(tmp_path, {}), tmp_path)
    assert (facts["capable"], facts["privileges_final"], facts["filtered"]) == (False, True, True)
    for line, key, value in (
        ("CapBnd:\t0", "capable", True),
        ("CapEff:\t0", "capable", True),
        ("NoNewPrivs:\t1", "privileges_final", False),
        ("Seccomp:\t2", "filtered", False),
    ):
        changed = STATUS.replace(line, f"{line.partition(chr(9))[0]}\t00000000a80425fb" if value else f"{line[:-1]}0")
        assert gather(lay(tmp_path, {"proc/self/status": changed}), tmp_path)[key] is value, line


def test_what_cannot_be_read_counts_as_open(tmp_path: Path) -> None:
    facts = gather(lay(tmp_path, {"proc/self/status": ""}), tmp_path)
    assert (facts["capable"], facts["privileges_final"], facts["filtered"]) == (True, False, False)


def test_networks_folders_and_the_user(tmp_path: Path) -> None:
    (lay(tmp_path, {}) / "sys/class/net/eth0").mkdir()
    facts = gather(tmp_path, tmp_path)
    space = os.statvfs(tmp_path)
    assert facts["networks"] == ["eth0", "lo"]
    assert facts["scratch"] == space.f_blocks * space.f_frsize
    assert facts["user"] == os.getuid()
    assert facts["machine"] == os.uname().machine
    assert not facts["read_only"]


@pytest.mark.parametrize("name", ["sys/fs/cgroup/memory.events", "sys/fs/cgroup/memory/memory.oom_control"])
def test_kills_for_memory_are_counted(tmp_path: Path, name: str) -> None:
    assert memory_kills(lay(tmp_path, {})) == 0
    assert memory_kills(lay(tmp_path, {name: "oom_kill_disable 0\noom 3\noom_kill 2\n"})) == 2
