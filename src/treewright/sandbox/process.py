"""The weakest sandbox: a fresh process for each job, held to resource limits. For code that you trust but for its mistakes.

Covered: address space (for commands: private memory), processor time and the size of a single file, by resource limits; wall
time; standard output and error, read with a cap and never stored beyond it; an environment of PATH, HOME, TMPDIR and LANG
only; no descriptor of the host; a private working folder. What the job started dies with it: its process group, and
descendants that have left the group, known by a mark in their limits (`leftovers`).

**Not covered.** The job is the same user as the host: it can read and change that user's files, signal other processes, read
the host's memory where ptrace is allowed, and use the network. A descendant that leaves the group and also lowers its
RLIMIT_MSGQUEUE outlives the job. The number of processes is not limited; memory and processor time are, for each process and
not for their sum. If the host itself is killed with SIGKILL, running jobs end by their processor limit or by an alarm soon
after their wall limit, and a program can turn off that alarm. Linux only.
"""

from __future__ import annotations

import marshal
import os
import socket
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from functools import lru_cache
from pathlib import Path
from shutil import which

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Exit, Job, Process
from treewright.sandbox.capture import NeverRan, pipe
from treewright.sandbox.launch import LAUNCH
from treewright.sandbox.running import Descriptors, Running
from treewright.sandbox.workfolder import TRANSIENT, work_folder

PATH = "/usr/local/bin:/usr/bin:/bin"
_ALARM_AFTER_S = 1.0  # after the wall limit, which the host watches


class ProcessSandbox:
    """Runs each job in a process of its own. See the module for what that does and does not protect.

    Args:
        python: interpreter for `Job.python`, 3.11 or newer, with the packages it has. Default: the host's own.
        folder: where the private working folders are made. Default: the system's folder for temporary files.
    """

    def __init__(self, *, python: Path | None = None, folder: Path | None = None) -> None:
        self._python = [str(python), "-s", "-P"] if python else [sys.executable, "-s", "-P", "-S"]
        self._own_interpreter = python is None
        self._packages = "" if python else ":".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
        self._folder = folder

    @property
    def level(self) -> str:
        """Always "process"."""
        return "process"

    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        """Run `job` until the block is left. See `Sandbox.start`."""
        return self._run(job)

    @asynccontextmanager
    async def _run(self, job: Job) -> AsyncIterator[Process]:
        async with work_folder(self._folder, job.files) as folder:
            running = self._spawn(job, folder)
            if isinstance(running, Exit):
                yield NeverRan(running.detail)
                return
            try:
                yield running
            finally:
                await running.close()

    def _spawn(self, job: Job, folder: Path | Exit) -> Running | Exit:
        if isinstance(folder, Exit):
            return folder
        command = job.command
        if command:
            found = which(command[0], path=PATH)
            if found is None:
                return Exit("unavailable", detail=f"the command {command[0]!r} is not found on {PATH}")
            command = (found, *command[1:])
        try:
            return self._popen(job, command, folder)
        except OSError as error:
            if error.errno in TRANSIENT:
                return Exit("unavailable", detail=f"the host cannot start a process: {error.strerror}")
            raise SandboxUnavailable(f"No process can be started with {self._python[0]}: {error.strerror}.") from error

    def _popen(self, job: Job, command: tuple[str, ...], folder: Path) -> Running:
        with ExitStack() as ours, ExitStack() as theirs:
            kind, text = self._text(job)
            program = _memory_file(b"." + text, ours)
            gate, opener = pipe(theirs, ours)
            output, output_end = pipe(ours, theirs)
            errors, errors_end = pipe(ours, theirs)
            channel, channel_end = _channel(ours, theirs) if job.channel else (None, -1)
            alarm_s = job.limits.wall_s + _ALARM_AFTER_S
            arguments = [str(program), str(gate), str(channel_end), str(alarm_s), self._packages, kind, *command]
            child = subprocess.Popen(
                [*self._python, "-X", "utf8", "-B", "-c", LAUNCH, *arguments],
                stdin=_memory_file(job.stdin, theirs),
                stdout=output_end,
                stderr=errors_end,
                pass_fds=[descriptor for descriptor in (program, gate, channel_end) if descriptor >= 0],
                cwd=folder,
                env=_environment(folder),
                start_new_session=True,
            )
            descriptors = Descriptors(program=program, gate=opener, output=output, errors=errors, channel=channel)
            ours.callback(_put_away, child)
            return Running(child, job, descriptors, closing=ours)

    def _text(self, job: Job) -> tuple[str, bytes]:
        if job.command:
            return "exec", b""
        text = (job.python or "") + ("\nmain()\n" if job.trusted else "")
        if job.trusted and self._own_interpreter:
            return "compiled", _compiled(text)
        return "source", text.encode("utf-8", "surrogatepass")


def _put_away(child: subprocess.Popen[bytes]) -> None:
    """End a child that got no further than the gate."""
    if child.returncode is None:
        child.kill()
        child.wait()


@lru_cache(maxsize=8)
def _compiled(text: str) -> bytes:
    """Our own guests' code. The child runs the same interpreter, so the format fits."""
    return marshal.dumps(compile(text, "<guest>", "exec", dont_inherit=True))


def _environment(folder: Path) -> dict[str, str]:
    """All a job sees. The launcher takes out the hash seed, which makes the order of sets the same in every run."""
    return {"PATH": PATH, "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}


def _memory_file(content: bytes, stack: ExitStack) -> int:
    descriptor = os.memfd_create("job")
    stack.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _channel(ours: ExitStack, theirs: ExitStack) -> tuple[socket.socket, int]:
    near, far = socket.socketpair()
    ours.callback(near.close)
    theirs.callback(far.close)
    near.setblocking(False)
    return near, far.fileno()
