"""A job made ready to be handed to a zygote: the request, and the descriptors that go with it and those that stay here."""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
from contextlib import ExitStack
from dataclasses import dataclass

from treewright.sandbox.base import Job, Limits
from treewright.sandbox.capture import pipe
from treewright.sandbox.inside import wire
from treewright.sandbox.jail.slot import Slot

_ADD_SEALS, _SEAL_ALL = 1033, 0x1 | 0x2 | 0x4 | 0x8  # F_ADD_SEALS; no more seals, no shrinking, growing, writing


@dataclass(frozen=True, slots=True)
class Parcel:
    """A run that can be asked for.

    Args:
        request: what the zygote is told.
        handed: descriptors for the zygote, in the order of `wire.Request`; not needed here once they are sent.
        line: this end of the run's line to the zygote.
        output: the reading end of its standard output.
        errors: the same for standard error.
        channel: this end of its channel, or None.
        theirs: closes `handed`.
        ours: closes the rest.
    """

    request: wire.Request
    handed: list[int]
    line: socket.socket
    output: int
    errors: int
    channel: socket.socket | None
    theirs: ExitStack
    ours: ExitStack


def prepare(job: Job, slot: Slot, *, folder: str = "", memory_mb: int, shared_user: bool = False) -> Parcel:
    """Open all that a run of `job` in `slot` needs.

    Args:
        job: what is to run.
        slot: where.
        folder: Landlock: the run's folder on the host, if it has one.
        memory_mb: what each of its processes may take.
        shared_user: others run under the same user and count against its number of processes.

    Raises:
        OSError: the host is out of descriptors or memory; nothing stays open.
    """
    text = (job.python or "").encode("utf-8", "surrogatepass")
    trusted = hashlib.sha256(text).hexdigest() if job.trusted and not job.command else ""
    if trusted and not slot.keeps(trusted):
        trusted, text = "", text + b"\nmain()\n"  # run it like any other text
    request = _request(job, text, slot, trusted)
    request["folder"], request["shared_user"] = folder, shared_user
    request["limits"]["memory_mb"] = memory_mb
    payload = b"".join([text[: request["text_bytes"]], *job.files.values()])
    with ExitStack() as theirs, ExitStack() as ours:
        line, far_line = _pair(ours, theirs, socket.SOCK_SEQPACKET)
        handed = [far_line.fileno(), _input(job.stdin, theirs)]
        output, output_end = pipe(ours, theirs)
        errors, errors_end = pipe(ours, theirs)
        handed += [output_end, errors_end]
        channel = None
        if job.channel:
            channel, far_channel = _pair(ours, theirs, socket.SOCK_STREAM)
            handed.append(far_channel.fileno())
        if payload:
            handed.append(_memory_file(payload, theirs))
        return Parcel(request, handed, line, output, errors, channel, theirs.pop_all(), ours.pop_all())


def _request(job: Job, text: bytes, slot: Slot, trusted: str) -> wire.Request:
    sent = 0 if trusted and not slot.needs(trusted) else len(text)
    return {
        "limits": _bounds(job.limits),
        "command": list(job.command),
        "trusted": trusted,
        "has_text": bool(trusted and sent),
        "channel": job.channel,
        "payload_bytes": sent + sum(map(len, job.files.values())),
        "text_bytes": sent,
        "files": [(name, len(content)) for name, content in job.files.items()],
        "folder": "",
        "shared_user": False,
    }


def _bounds(limits: Limits) -> wire.Bounds:
    return {
        "cpu_s": limits.cpu_s,
        "memory_mb": limits.memory_mb,
        "disk_mb": limits.disk_mb,
        "processes": limits.processes,
        "files": limits.files,
    }


def _input(content: bytes, stack: ExitStack) -> int:
    if content:
        return _memory_file(content, stack)
    descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    return descriptor


def _memory_file(content: bytes, stack: ExitStack) -> int:
    """A file in memory that its reader cannot grow: it would count against nobody's limit."""
    descriptor = os.memfd_create("job", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    stack.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    fcntl.fcntl(descriptor, _ADD_SEALS, _SEAL_ALL)
    return descriptor


def _pair(ours: ExitStack, theirs: ExitStack, kind: socket.SocketKind) -> tuple[socket.socket, socket.socket]:
    near, far = socket.socketpair(socket.AF_UNIX, kind)
    ours.callback(near.close)
    theirs.callback(far.close)
    near.setblocking(False)
    return near, far
