"""A disk that is really full: a tiny one in memory, mounted where nobody but the host under test sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_homes import landlock, namespaces

PRIVATE = ("unshare", "--mount", "--propagation", "private")

# Run with: what to fill (blocks or inodes), the level, the folder on the full disk.
HOST = """
import asyncio, sys
from contextlib import suppress
from pathlib import Path
from treewright.sandbox.base import Job
from treewright.sandbox.landlock import LandlockSandbox
from treewright.sandbox.process import ProcessSandbox

full, level, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
PROGRAM = "print(len(open('given').read()))"

async def ended(sandbox, size):
    async with sandbox.start(Job(python=PROGRAM, files={"given": b"x" * size})) as process:
        return await process.wait()

def say(sandbox):
    outcome = asyncio.run(ended(sandbox, 9000))
    print(outcome.status, outcome.detail, outcome.stdout.decode().strip(), sep="|")

def fill():
    with suppress(OSError):
        if full == "blocks":
            with (folder / "filler").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
        for number in range(10**6):
            (folder / f"filler{number}").touch()

def free():
    for file in folder.glob("filler*"):
        file.unlink()

sandbox = ProcessSandbox(folder=folder) if level == "process" else LandlockSandbox(folder=folder, slots=1)
say(sandbox)
fill()
say(sandbox)
say(sandbox)
free()
say(sandbox)
if level == "landlock":
    sandbox.close()
print(*(path.name for path in folder.iterdir()))
"""

# Run with: the level. Everything is full before the sandbox is opened, and stays so.
NEW_HOST = """
import asyncio, sys
from treewright.sandbox.base import Job
from treewright.sandbox.landlock import LandlockSandbox
from treewright.sandbox.namespaces import NamespaceSandbox

level = sys.argv[1]
PROGRAM = "import tempfile\\nprint(tempfile.TemporaryFile().write(b'x' * 99999))" if level == "namespaces" else "print(99999)"

async def ended(sandbox):
    async with sandbox.start(Job(python=PROGRAM)) as process:
        return await process.wait()

for place in ("/tmp", "/var/tmp", "/dev/shm"):
    for name in ("a", "b"):
        try:
            open(f"{place}/{name}", "wb").write(bytes(10**6))
        except OSError:
            pass
with (NamespaceSandbox if level == "namespaces" else LandlockSandbox)(slots=1) as sandbox:
    for _ in range(2):
        outcome = asyncio.run(ended(sandbox))
        print(outcome.status, outcome.stdout.decode().strip(), sep="|")
"""


def on_small_disks(folders: list[Path], script: str, *arguments: str) -> list[str]:
    """What a host prints for which each folder is a disk of 64 KiB and 64 files. Nobody else sees them."""
    mounts = " && ".join(f"mount -t tmpfs -o size=64k,nr_inodes=64,mode=1777 none '{folder}'" for folder in folders)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}
    probe = subprocess.run([*PRIVATE, "sh", "-c", mounts], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip(f"no disk can be mounted here: {probe.stderr.strip()}")
    command = [*PRIVATE, "sh", "-c", f'{mounts} && exec "$@"', "sh", sys.executable, "-c", script, *arguments]
    host = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/", timeout=100)
    assert host.returncode == 0, host.stderr
    return host.stdout.splitlines()


@pytest.mark.parametrize("full", ["blocks", "inodes"])
@pytest.mark.parametrize("level", ["process", "landlock"])
def test_a_full_disk_is_named_and_costs_no_program_and_the_next_run_works(level: str, full: str, tmp_path: Path) -> None:
    if level == "landlock":
        with landlock(slots=1):
            pass  # else skip
    said = on_small_disks([tmp_path], HOST, full, level, str(tmp_path))
    refused = "unavailable|the host cannot make a working folder: No space left on device|"
    assert said == ["ok||9000", refused, refused, "ok||9000", ""]
    assert list(tmp_path.iterdir()) == []  # the disk was the host's alone


@pytest.mark.parametrize("level", ["namespaces", "landlock"])
def test_a_host_whose_every_temporary_folder_is_full_runs_programs_all_the_same(level: str) -> None:
    """Nothing of a run lies on a disk: in namespaces its files are in memory of its own."""
    with (namespaces if level == "namespaces" else landlock)(slots=1):
        pass  # else skip
    places = [Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    hidden = [entry for entry in (sys.prefix, *sys.path) if any(Path(entry).is_relative_to(place) for place in places)]
    if hidden:
        pytest.skip(f"the interpreter needs {hidden[0]}, which would be covered")
    assert on_small_disks(places, NEW_HOST, level) == ["ok|99999"] * 2
