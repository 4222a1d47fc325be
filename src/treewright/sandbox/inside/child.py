"""What happens inside one run's own process before a line of untrusted text is loaded, and how that text is then run.

Standard library only; loaded by the zygote (see there). In order: own user and mounts, descriptors, files, limits, no
privileges, the system call filter, and only then the program. Whatever fails before the program is told to the zygote on
descriptor 4, the run's only line to it, which is closed before the program starts: a failure there is the sandbox's, and
nothing the program does can look like one.
"""

from __future__ import annotations

import atexit
import base64
import linecache
import math
import os
import resource
import shutil
import signal
import socket
import sys
import threading
import traceback
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import NoReturn

from treewright.sandbox.inside import linux, wire

WORK = "/tmp"
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
        code: the compiled trusted program, or None when the program is in the payload.
        descriptors: standard input, output, error, and the channel if there is one.
        payload: descriptor of the memory file with the program's text and its files, or None.
        report: this end of the line to the zygote.
        outer_user: (user, group) of this process as the zygote sees it.
    """

    request: wire.Request
    config: wire.Config
    filters: dict[str, list[bytes]]
    code: CodeType | None
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
        program = _find(setup.request["command"])
        _close_the_door(setup)
    except (OSError, ValueError) as error:
        os.write(_REPORT, str(error).encode()[:1000])
        os._exit(70)
    if program:
        _execute(program, setup.request["command"])
    code = setup.code
    del setup, files
    _draw_afresh()
    _run_python(code, text)


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


def _draw_afresh() -> None:
    """Else every run of a slot would draw the same numbers from numpy; `random` sees to itself."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def _run_python(code: CodeType | None, text: bytes) -> NoReturn:
    """Run as `python program.py` would: its exit code, its traceback (without frames of ours), its exit handlers."""
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __file__=f"{WORK}/program.py")
    sys.modules["__main__"] = main
    sys.argv[:] = ["program.py"]
    status = 0
    try:
        if code is None:
            lines = text.decode(errors="replace").splitlines(keepends=True)
            linecache.cache["program.py"] = (len(text), None, lines, "program.py")
            code = compile(text, "program.py", "exec", dont_inherit=True)
        exec(code, main.__dict__)
    except SystemExit as leaving:
        status = _exit_status(leaving)
    except BaseException as error:  # noqa: BLE001 - the program's, not ours: shown as the interpreter would
        status = 1
        _show(error)
    _finish(status)


def _exit_status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> None:
    trace = error.__traceback__.tb_next if error.__traceback__ else None  # the first frame is `_run_python`
    try:
        if sys.excepthook is sys.__excepthook__:
            traceback.print_exception(type(error), error, trace)
        else:
            sys.excepthook(type(error), error, trace)
    except BaseException:  # noqa: BLE001 - an exception of the program's that cannot be printed
        os.write(2, b"error in printing the exception\n")


def _finish(status: int) -> NoReturn:
    """Wait for threads, call exit handlers, flush: what the interpreter does at its end, without its slow teardown."""
    for last in (threading._shutdown, atexit._run_exitfuncs, sys.stdout.flush, sys.stderr.flush):  # type: ignore[attr-defined] # no public name
        try:
            last()
        except BaseException:  # noqa: BLE001 - the program's
            status = status or 120
    os._exit(status)
