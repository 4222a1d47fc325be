"""A slot: one zygote in its jail, from its start to its end, as the host sees it."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.inside import wire
from treewright.sandbox.jail import bubblewrap
from treewright.sandbox.jail.cgroup import Cgroup

_START_S = 60.0
_END_S = 3.0
_MAX_TRUSTED = 16
_CREDENTIALS = struct.Struct("iII")  # struct ucred: process, user, group
Command = Callable[[int], list[str]]  # descriptor of the control socket -> what to run


class Gone(Exception):
    """The zygote is dead or hung up."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """How to start a slot.

    Args:
        command: the program that ends up as the zygote.
        config: what the zygote is told first.
        cgroup: what holds the memory of its runs, or None; given back with the slot.
    """

    command: Command
    config: wire.Config
    cgroup: Cgroup | None = None


class Slot:
    """A zygote that is ready. Use `open` to start one."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, ready: wire.Ready, blueprint: Blueprint
    ) -> None:
        self._process = process
        self._control = control
        self._cgroup = blueprint.cgroup
        self.user = blueprint.config["user"]  # of its runs, as the host knows it; -1 for the host's own
        self._trusted: set[str] = set()
        self.ready = ready
        self.runs = 0  # in it at the moment

    @property
    def alive(self) -> bool:
        """Whether its process is still there."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id of the jail's outermost process."""
        return self._process.pid

    def memory_kills(self) -> int:
        """How often the kernel has ended something in it for want of memory; always 0 where that is not known."""
        return self._cgroup.kills() if self._cgroup else 0

    def hold(self, mib: int) -> bool:
        """Bound the memory of the next run, all its processes together; False where there is no cgroup to do it.

        Raises:
            OSError: the cgroup is gone.
        """
        if self._cgroup is None:
            return False
        self._cgroup.limit(mib)
        return True

    def needs(self, trusted: str) -> bool:
        """Whether the text with this hash must be sent along."""
        return trusted not in self._trusted

    def keeps(self, trusted: str) -> bool:
        """Whether the zygote would keep one more compiled text, or has this one."""
        return trusted in self._trusted or len(self._trusted) < _MAX_TRUSTED

    def submit(self, request: wire.Request, descriptors: Sequence[int]) -> None:
        """Ask for a run.

        Raises:
            BlockingIOError: the zygote has not yet taken the earlier requests, or too many descriptors are under way.
            Gone: there is no zygote any more.
        """
        try:
            socket.send_fds(self._control, [wire.pack(request)], descriptors)
        except BlockingIOError:
            raise
        except ConnectionError as error:
            raise Gone from error
        except OSError as error:
            if error.errno == errno.ETOOMANYREFS:
                raise BlockingIOError from error
            raise
        if request["trusted"]:
            self._trusted.add(request["trusted"])

    def close(self) -> None:
        """End it and every run in it, and wait until it is gone."""
        self._control.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _close_streams(self._process)
        if self._cgroup:
            self._cgroup.remove()


def open_slot(blueprint: Blueprint) -> Slot:
    """Start a zygote and wait until it is ready (some 50 ms, more with warm imports). Blocks.

    The kernel kills the jail when the *thread* that calls this ends: call it from one that lives as long as the sandbox.

    Raises:
        SandboxUnavailable: it did not start; the message says why.
        OSError: the host is out of processes or descriptors.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, contextlib.ExitStack() as undo:
        if blueprint.cgroup:
            undo.callback(blueprint.cgroup.remove)
        undo.callback(ours.close)
        process = _popen(blueprint.command(theirs.fileno()), theirs.fileno())
        undo.callback(_end, process)
        theirs.close()
        ready, pid = _greet(ours, blueprint.config)
        if ready is None or ready["error"]:
            raise SandboxUnavailable(_reason(process, ready))
        if blueprint.cgroup:
            blueprint.cgroup.add(pid)
        ours.setblocking(False)
        undo.pop_all()
    return Slot(process, ours, ready, blueprint)


def _popen(command: list[str], control: int) -> subprocess.Popen[bytes]:
    # subtle: pipes, since the interpreter remembers whether its standard streams can seek, and the runs' mostly cannot
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[control],
        env=bubblewrap.environment(),
        start_new_session=True,
    )


def _greet(control: socket.socket, config: wire.Config) -> tuple[wire.Ready | None, int]:
    """The zygote's answer, and its process id as seen from here (the kernel translates it)."""
    control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    control.settimeout(_START_S)
    try:
        control.send(wire.pack(config))
        data, notes, _, _ = control.recvmsg(wire.MAX_PACKET, socket.CMSG_SPACE(_CREDENTIALS.size))
    except OSError:
        return None, 0
    if not data:
        return None, 0
    return wire.ready(data), _CREDENTIALS.unpack(notes[0][2])[0]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    _close_streams(process)


def _close_streams(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()


def _reason(process: subprocess.Popen[bytes], ready: wire.Ready | None) -> str:
    if ready:
        return f"The sandbox could not be set up: {ready['error']}."
    process.kill()
    said = os.read(process.stdout.fileno(), 4096).decode(errors="replace").strip() if process.stdout else ""
    return f"The sandbox did not start: {said.splitlines()[-1] if said else 'it ended without a word'}."
