"""A container engine by its command line client: docker or podman, whichever of the two. Nothing else knows its words."""

from __future__ import annotations

import math
import os
import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Literal

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Limits
from treewright.sandbox.container.held import Bounds
from treewright.sandbox.inside.program import WORK

EngineName = Literal["docker", "podman"]
MOUNTED = "/treewright"  # where the container finds our code, and the socket to the host

_LABEL = "treewright"
_THREADS = 64  # tasks beside the processes a job may have: no engine can count them apart
_OWN_MB = 32  # process 1, and what the kernel books for the container
_USERS = range(63_000, 65_000)
_ASK_S = 20.0
_LEAST_DESCRIPTORS = 32
# Above what any job may have. Given only since an engine that may not raise its own bound fails with its default.
_MOST_TASKS = 4096
_INODES = 4096
_BOOT = (
    f"import sys; sys.path.insert(0, '{MOUNTED}/code'); from treewright.sandbox.container import boot; boot.main(sys.argv[1])"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """One container.

    Args:
        name: its own.
        image: what it is made from.
        user: number of its user and group.
        limits: of its job.
        executable: files in its working folder can be run.
        code: folder of the host with what runs first.
        meeting: folder of the host with the socket.
        socket: the socket's name there.
    """

    name: str
    image: str
    user: int
    limits: Limits
    executable: bool
    code: Path
    meeting: Path
    socket: str

    def bounds(self, machine: str) -> Bounds:
        """What must be found to hold inside."""
        limits = self.limits
        memory = limits.memory_mb + limits.disk_mb + _OWN_MB
        return Bounds(machine, self.user, memory, tasks=2 + limits.processes + _THREADS, scratch_mb=limits.disk_mb)


@dataclass(frozen=True, slots=True)
class Engine:
    """The client of an engine.

    Args:
        name: which.
        path: the client.
    """

    name: EngineName
    path: str

    def check(self, image: str) -> None:
        """See that it runs and has the image.

        Raises:
            SandboxUnavailable: it does not, or has not.
        """
        if failure := self._ask("version")[1]:
            raise SandboxUnavailable(f"{self.name} does not run here: {failure.rstrip('.')}.")
        if self._ask("image", "inspect", image)[1]:
            raise SandboxUnavailable(f"{self.name} has no image {image}: pull the image first: {self.name} pull {image}.")

    def remove(self, name: str) -> None:
        """End and remove a container, if there still is one of that name."""
        self._ask("rm", "--force", name)

    def remove_leftovers(self) -> None:
        """End and remove the containers of hosts that are gone. They end by themselves unless the engine was stopped too."""
        names, _ = self._ask("ps", "--all", "--filter", f"label={_LABEL}", "--format", "{{.Names}}")
        for name in names.split():
            if _left_over(name):
                self.remove(name)

    def _ask(self, *words: str) -> tuple[str, str]:
        """What the client prints, and why it failed ("" if it did not)."""
        try:
            said = subprocess.run(
                [self.path, *words], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=_ASK_S
            )
        except subprocess.TimeoutExpired:
            return "", f"no answer within {_ASK_S:g} s"
        except OSError as error:
            return "", error.strerror or str(error)
        if said.returncode:
            return said.stdout, last_line(said.stderr) or f"exit code {said.returncode}"
        return said.stdout, ""

    def run(self, plan: Plan) -> list[str]:
        """The command line that starts the container of `plan`, and ends when the container is gone."""
        limits, user = plan.limits, f"{plan.user}:{plan.user}"
        bounds = plan.bounds("")
        scratch = f"rw,nosuid,nodev,{'exec' if plan.executable else 'noexec'},size={limits.disk_mb}m,mode=1777"
        if self.name == "docker":  # podman refuses the option: there, memory alone bounds the number of files
            scratch += f",nr_inodes={_INODES}"
        seconds = max(1, math.ceil(limits.cpu_s))
        descriptors = max(limits.files, _LEAST_DESCRIPTORS)
        shared = ("--ipc=private", f"--shm-size={limits.disk_mb}m") if limits.processes else ("--ipc=none",)
        return [
            *(self.path, "run", "--rm", "--pull=never", f"--name={plan.name}", f"--label={_LABEL}"),
            *("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", f"--user={user}"),
            *("--cgroupns=private", *shared, "--hostname=sandbox", "--no-healthcheck", "--log-driver=none"),
            *(f"--pids-limit={bounds.tasks}", f"--memory={bounds.memory_mb}m", f"--memory-swap={bounds.memory_mb}m"),
            *("--ulimit=core=0:0", f"--ulimit=cpu={seconds}:{seconds + 1}", f"--ulimit=nofile={descriptors}:{descriptors}"),
            *(f"--ulimit=fsize={limits.disk_mb << 20}:{limits.disk_mb << 20}", f"--ulimit=nproc={_MOST_TASKS}:{_MOST_TASKS}"),
            *(f"--tmpfs={WORK}:{scratch}", f"--workdir={WORK}", "--env=PYTHONHASHSEED=0"),
            *(f"--mount=type=bind,source={plan.code},target={MOUNTED}/code,readonly",),
            *(f"--mount=type=bind,source={plan.meeting},target={MOUNTED}/meeting,readonly",),
            # podman hands the host's proxy settings on, which may hold a password; docker's client has no such option
            *(("--http-proxy=false", "--read-only-tmpfs=false") if self.name == "podman" else ()),
            *("--entrypoint=python3", plan.image, "-s", "-B", "-X", "utf8", "-c", _BOOT, f"{MOUNTED}/meeting/{plan.socket}"),
        ]


def find(name: EngineName) -> Engine:
    """The engine's client.

    Raises:
        SandboxUnavailable: it is not installed.
    """
    path = which(name)
    if path is None:
        raise SandboxUnavailable(f"{name} is not installed.")
    return Engine(name, path)


def new_user() -> int:
    """Drawn anew for each container, since some limits of the kernel count all that a user has."""
    return secrets.choice(_USERS)


def new_name() -> str:
    """A name that tells whose container it is: process namespace, number and start of this process."""
    return f"{_LABEL}-{_namespace()}-{os.getpid()}-{_started(os.getpid())}-{secrets.token_hex(8)}"


def _left_over(name: str) -> bool:
    """Whether its host is gone. Containers of hosts in other process namespaces cannot be judged from here."""
    parts = name.split("-")
    if len(parts) != 5 or not all(part.isdecimal() for part in parts[1:4]):
        return False
    namespace, pid, started = map(int, parts[1:4])
    return namespace == _namespace() and started != _started(pid)


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _started(pid: int) -> int:
    """When a process started, in clock ticks since the machine did; -1 if there is none."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return -1


def last_line(text: str) -> str:
    """What a client says in the end, without what came before."""
    lines = text.strip().splitlines()
    return lines[-1].strip()[:300] if lines else ""
