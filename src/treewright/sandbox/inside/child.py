"""What happens inside one run's own process before a line of untrusted text is loaded; `program` then runs that text.

Standard library only; loaded by the zygote (see there). In order: own user and mounts, descriptors, files, limits, no
privileges, the system call filter, and only then the program. Whatever fails before the program is told to the zygote on
descriptor 4, the run's only line to it, which is closed before the program starts: a failure there is the sandbox's, and
nothing the program does can look like one.
"""

from __future__ import annotations

import base64
import math
import os
import resource
import shutil
import signal
import socket
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import NoReturn

from treewright.sandbox.inside import linux, program, wire
from treewright.sandbox.inside.program import WORK

USER = 1000  # the run's own idea of its user; the kernel knows it by the slot's
SELF = b"\x1e\xab\x57\x7e"  # `seccomp.SELF`: where the run's process id belongs in the second filter
_REPORT = 4
_THREADS = 128  # tasks of a run that may not have new processes; address space bounds them earlier
_STACK_MB = 64
_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/tools/bin"
_ENVIRONMENT = {
    "HOME": WORK,
    "LANG": "C.UTF-8",
    "PATH": _PATH,
}
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Setup:
    """What a run is started with.

    Args:
        request: the host's request.
        config: the slot's settings.
        filters: kind of run -> its filters, with notification and without.
        guest: the trusted program, loaded, or None when the program is in the payload.
        descriptors: standard input, output, error, and the channel if there is one.
        payload: descriptor of the memory file with the program's text and its files, or None.
        report: this end of the line to the zygote.
        outer_user: (user, group) of this process as the zygote sees it.
    """

    request: wire.Request
    config: wire.Config
    filters: dict[str, list[bytes]]
    guest: ModuleType | None
    descriptors: list[int]
    payload: int | None
    report: int
    outer_user: tuple[int, int]


def run(setup: Setup) -> NoReturn:
    """Become the run and never come back."""
    try:
        # subtle: the zygote keeps 0 to 4 taken, so nothing that arrives for a run has a number that is overwritten here
        os.dup2(setup.report, _REPORT, inheritable=False)
        linux.die_with_parent()
        text, files = _read_payload(setup)
        _own_world(setup)
        _own_descriptors(setup)
        _write_files(setup, files)
        _hold(setup.request)
        command = _find(setup.request["command"])
        _close_the_door(setup)
    except MemoryError:
        mib = setup.request["limits"]["memory_mb"]
        os.write(_REPORT, f"the limit of {mib} MiB for each process is less than the interpreter itself takes".encode())
        os._exit(70)
    except (OSError, ValueError) as error:
        os.write(_REPORT, str(error).encode()[:1000])
        os._exit(70)
    if command:
        _execute(command, setup.request["command"])
    guest = setup.guest
    del setup, files
    program.run(guest, text)


def _read_payload(setup: Setup) -> tuple[bytes, list[tuple[str, bytes]]]:
    """The memory file is the concatenation of the program's text and the files, whose sizes the request gives."""
    if setup.payload is None:
        return b"", []
    blob = memoryview(os.pread(setup.payload, setup.request["payload_bytes"], 0))
    at = setup.request["text_bytes"]
    text, files = bytes(blob[:at]), []
    for name, size in setup.request["files"]:
        files.append((name, bytes(blob[at : at + size])))
        at += size
    return text, files


def _own_world(setup: Setup) -> None:
    """One user id that is nobody's, a private folder of bounded size, and a /proc that shows nothing of the slot's."""
    os.setsid()
    if setup.config["level"] != "namespaces":
        return
    _write("/proc/self/oom_score_adj", "1000")
    user, group = setup.outer_user
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{USER} {user} 1")
    _write("/proc/self/gid_map", f"{USER} {group} 1")
    flags = linux.NO_SUID | linux.NO_DEVICES
    size, inodes = setup.request["limits"]["disk_mb"], setup.config["inodes"]
    linux.mount("tmpfs", WORK, flags, f"mode=700,size={size}m,nr_inodes={inodes}")
    if setup.config["proc"]:
        try:
            linux.mount("proc", "/proc", flags | linux.NO_EXEC)
            return
        except OSError:  # inside a container: parts of /proc are hidden there, and the kernel keeps them so
            pass
    linux.mount("tmpfs", "/proc", flags | linux.NO_EXEC | linux.READ_ONLY, "mode=555,size=4k,nr_inodes=2")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _own_descriptors(setup: Setup) -> None:
    """0, 1, 2, the channel on 3 if asked for, the line to the zygote on 4 until the door closes, and nothing else."""
    for number, descriptor in enumerate(setup.descriptors):
        os.dup2(descriptor, number)
    if len(setup.descriptors) < 4:
        os.close(3)
    linux.close_from(_REPORT + 1)


def _write_files(setup: Setup, files: list[tuple[str, bytes]]) -> None:
    os.chdir(WORK if setup.config["level"] == "namespaces" else setup.request["folder"] or "/")
    mode = 0o700 if setup.request["command"] else 0o600
    for name, content in files:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content)


def _hold(request: wire.Request) -> None:
    """Limits of the kernel that go with a process. Processor time as a whole is watched by the zygote."""
    limits, mib = request["limits"], 1 << 20
    bounds = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: math.ceil(limits["cpu_s"]) + 2,
        resource.RLIMIT_FSIZE: limits["disk_mb"] * mib,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_STACK: _STACK_MB * mib,
        resource.RLIMIT_DATA: limits["memory_mb"] * mib,
    }
    if not request["shared_user"]:  # else it would count what others of that user run
        bounds[resource.RLIMIT_NPROC] = 1 + limits["processes"] if limits["processes"] else _THREADS
    # subtle: node and java reserve many GiB of addresses and use little. A command is held by its private memory, and has
    # no other: its filter refuses shared memory without a file, or a cgroup counts that too
    if not request["command"]:
        bounds[resource.RLIMIT_AS] = limits["memory_mb"] * mib
    for what, bound in bounds.items():
        _bound(what, bound)
    bytearray(1 << 20)  # raises where the limit leaves no room at all: that is no fault of the program


def _bound(what: int, bound: int) -> None:
    ceiling = resource.getrlimit(what)[1]
    held = bound if ceiling == resource.RLIM_INFINITY else min(bound, ceiling)
    resource.setrlimit(what, (held, held))


def _find(command: list[str]) -> str:
    if not command:
        return ""
    found = shutil.which(command[0], path=_PATH)
    if found is None:
        raise ValueError(f"{command[0]} is not installed in the sandbox")
    return found


def _close_the_door(setup: Setup) -> None:
    """Give up all privileges, install the filters, tell the zygote, and cut the line to it."""
    request, config = setup.request, setup.config
    kind = wire.kind(bool(request["command"]), bool(request["limits"]["processes"]))
    linux.drop_privileges(for_good=kind != wire.kind(False, False))
    if config["level"] == "landlock":
        linux.landlock(config["roots"] + ([request["folder"]] if request["folder"] else []))
        own_id = os.getpid().to_bytes(4, sys.byteorder)
        linux.install_filter(base64.b64decode(config["only_itself"]).replace(SELF, own_id))
    notifying, killing = setup.filters[kind]
    with socket.socket(fileno=os.dup(_REPORT)) as report:
        try:
            listener = linux.install_filter(notifying, listener=True)
        except OSError:  # an outer filter listens already: the kernel then kills without telling which call it was
            listener = linux.install_filter(killing)
        if listener is not None:
            socket.send_fds(report, [b"+"], [listener])
            os.close(listener)
    # subtle: only now, for the kernel holds all descriptors of a user that are under way against this limit of the sender
    _bound(resource.RLIMIT_NOFILE, request["limits"]["files"])
    os.close(_REPORT)


def _execute(path: str, command: list[str]) -> NoReturn:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execve(path, command, _ENVIRONMENT)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)


def own_environment() -> None:
    """Take on the environment that every run has. Done once, in the zygote, which has no other use for one."""
    os.environ.clear()
    os.environ.update(_ENVIRONMENT)
    for name in _ONE_THREAD:  # for libraries only: on a machine with many cores their pools would not fit into the memory limit
        os.putenv(name, "1")
