"""The first process of a container: it watches over one program, and all ends with it. Runs inside.

It connects to the host, says how the container is confined (`facts`), and is sent the program with the descriptors it is to
have. It forks: the child limits itself, installs our own system call filter on top of the engine's, and becomes the program;
this process reports how the child ended. It is process 1 of its namespace, so when it leaves, the kernel ends everything that
is still there. It leaves when the child has ended and when the host hangs up, be it on purpose or because the host is gone.

Nothing the program does reaches this process: signals to process 1 from inside its namespace are dropped, and it is not
"dumpable", so its memory and descriptors are closed to others of its user. Standard library and `inside` only, Python 3.9.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

from treewright.sandbox.container import facts
from treewright.sandbox.inside import linux, program

_REPORT = 4
_MIB = 1 << 20
_DUMPABLE = 4  # PR_SET_DUMPABLE


def main(address: str) -> NoReturn:
    """Serve the host that listens at `address`, and leave."""
    environment = _own_environment()
    host = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    host.connect(address)
    host.send(json.dumps(facts.gather(scratch=Path.cwd())).encode())
    data, descriptors, _, _ = socket.recv_fds(host, 1 << 18, 8)
    if not data:
        os._exit(0)
    request: dict[str, Any] = json.loads(data)
    text, files = _read_payload(descriptors.pop(), request)
    ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    report, reporter = os.pipe()
    child = os.fork()
    if child == 0:
        _become(request, environment, descriptors, reporter, text, files)
    for descriptor in (*descriptors, reporter):
        os.close(descriptor)
    _watch(child, host, wake, report)


def _own_environment() -> dict[str, str]:
    """Nothing of what the image or the engine has put there but the places of programs."""
    folder = str(Path.cwd())
    path = os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    os.environ.clear()
    os.environ.update({"PATH": path, "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8"})
    return dict(os.environ)


def _read_payload(descriptor: int, request: dict[str, Any]) -> tuple[bytes, list[tuple[str, bytes]]]:
    """The memory file is the program's text and then the files, whose sizes the request gives."""
    with open(descriptor, "rb") as file:
        file.seek(0)
        text = file.read(request["text_bytes"])
        return text, [(name, file.read(size)) for name, size in request["files"]]


def _watch(child: int, host: socket.socket, wake: int, report: int) -> NoReturn:
    poll = select.poll()
    poll.register(host, select.POLLIN)
    poll.register(wake, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in poll.poll()]
        if wake in ready:
            os.read(wake, 512)
        _reap(child, host, report)
        if host.fileno() in ready:  # it says no more after its request: this is the end of it
            _leave(host, report)


def _reap(child: int, host: socket.socket, report: int) -> None:
    """Clear away what has ended, which as process 1 includes every orphan. If the child has, say so and leave."""
    while True:
        try:
            pid, status, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid == child:
            _tell(host, status, used, os.read(report, 1000).decode(errors="replace"))


def _leave(host: socket.socket, report: int) -> NoReturn:
    """The host has hung up; it may still want to know that the program was never reached."""
    os.set_blocking(report, False)
    try:
        failed = os.read(report, 1000).decode(errors="replace")
    except BlockingIOError:
        failed = ""
    if failed:
        _tell(host, 0, resource.getrusage(resource.RUSAGE_CHILDREN), failed)
    os._exit(0)


def _tell(host: socket.socket, status: int, used: resource.struct_rusage, failed: str) -> NoReturn:
    said = {
        "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status),
        "cpu_s": used.ru_utime + used.ru_stime,
        "memory_mb": used.ru_maxrss / 1024,
        "memory_kills": facts.memory_kills(),
        "failed": failed,
    }
    try:
        host.send(json.dumps(said).encode())
    finally:
        os._exit(0)


def _become(
    request: dict[str, Any],
    environment: dict[str, str],
    descriptors: list[int],
    reporter: int,
    text: bytes,
    files: list[tuple[str, bytes]],
) -> NoReturn:
    """Turn from the child into the program. What fails before is told on `reporter`: it is not the program's fault."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        _own_descriptors(descriptors, reporter)
        _write_files(files, executable=bool(request["command"]))
        linux.allow_own_proc_files()
        Path("/proc/self/oom_score_adj").write_text("1000")  # so that the kernel takes the program and not process 1
        path = _find(request["command"], environment["PATH"])
        for what, bound in request["bounds"]:
            _bound(what, bound)
        _forget_ourselves()
        linux.drop_privileges()
        linux.install_filter(base64.b64decode(request["filter"]))
        os.close(_REPORT)
    except (OSError, ValueError) as error:
        os.write(_REPORT, str(error).encode()[:1000])
        os._exit(70)
    if path:
        _execute(path, request["command"], environment)
    program.run(program.load_guest(text) if request["trusted"] else None, text)


def _own_descriptors(descriptors: list[int], reporter: int) -> None:
    """0, 1, 2, the channel on 3 if there is one, the way to report on 4 for a moment, and nothing else."""
    # subtle: 3 is the line to the host and what came over it has higher numbers, so nothing is overwritten before its turn
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    if len(descriptors) < 4:
        os.close(3)
    if reporter != _REPORT:
        os.dup2(reporter, _REPORT, inheritable=False)
    linux.close_from(_REPORT + 1)


def _write_files(files: list[tuple[str, bytes]], *, executable: bool) -> None:
    for name, content in files:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o700 if executable else 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content)


def _find(command: list[str], path: str) -> str:
    if not command:
        return ""
    found = shutil.which(command[0], path=path)
    if found is None:
        raise ValueError(f"the command {command[0]!r} is not found in the image")
    return found


def _bound(what: int, bound: int) -> None:
    ceiling = resource.getrlimit(what)[1]
    held = bound if ceiling == resource.RLIM_INFINITY else min(bound, ceiling)
    resource.setrlimit(what, (held, held))


def _forget_ourselves() -> None:
    sys.path[:] = [entry for entry in sys.path if entry not in ("", str(Path(__file__).parents[3]))]
    for name in [name for name in sys.modules if name.partition(".")[0] == "treewright"]:
        del sys.modules[name]


def _execute(path: str, command: list[str], environment: dict[str, str]) -> NoReturn:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execve(path, command, environment)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)
