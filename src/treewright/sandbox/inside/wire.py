"""The messages between the host and a slot's zygote: JSON, with descriptors beside it. Loaded on both sides.

Standard library only. One message is one packet of a Unix socket (SOCK_SEQPACKET), so there is nothing to reassemble. The
host speaks first: one `Config`, answered by `Ready`; from then on one `Request` a run. How a run ended comes back as one
`Report` on that run's own socket. Both ends are ours: no untrusted program ever holds one.
"""

from __future__ import annotations

import json
import socket
from typing import Any, TypedDict

MAX_PACKET = 1 << 16
MAX_DESCRIPTORS = 8


class Config(TypedDict):
    """What holds for all runs of a slot. Filters are pairs: with notification of deadly calls, and without."""

    level: str  # "namespaces" or "landlock"
    path: list[str]  # sys.path of the runs
    warm: list[str]  # modules to import before any run
    user: int  # user and group to become; -1 to stay
    proc: bool  # runs get a /proc of their own, else an empty one
    inodes: int  # files and folders a run may have
    roots: list[str]  # Landlock: below which a run can read, as far as `readable` allows it
    readable: list[str]  # Landlock: what can be read by anyone in the slot
    listed: list[str]  # Landlock: folders that can be listed
    filters: dict[str, list[str]]  # `kind` of run -> base64 of BPF programs
    signals: dict[str, int]  # number of a call that signals -> which of its arguments is the signal
    only_itself: str  # Landlock: base64 of the second filter


class Ready(TypedDict):
    """The zygote's answer to `Config`."""

    error: str  # why no run can be made, empty if all is well
    python: str  # version
    cold: list[str]  # modules of `warm` that cannot be imported, with the reason


class Bounds(TypedDict):
    """`Limits` as they are enforced inside."""

    cpu_s: float
    memory_mb: int
    disk_mb: int
    processes: int
    files: int


class Request(TypedDict):
    """One run. Descriptors with it, in this order: the run's socket, standard input, output, error, [channel], [payload]."""

    limits: Bounds
    command: list[str]  # empty for Python
    trusted: str  # hash of a trusted text, empty if the text is in the payload
    has_text: bool  # the payload is the trusted text itself, to be compiled and kept
    channel: bool
    payload_bytes: int  # 0 without payload
    text_bytes: int
    files: list[tuple[str, int]]  # name, size
    folder: str  # Landlock: the run's folder on the host, empty if it has no files
    shared_user: bool  # others run under the same user and count against its number of processes


class Report(TypedDict):
    """How a run ended, as the zygote saw it."""

    status: int  # as from waitpid
    cpu_s: float
    memory_kb: int
    over_cpu: bool  # the zygote ended it at its limit of processor time
    denied: int  # number of the deadly system call it made, -1 if none
    raised: int  # signal that it sent itself to end, 0 if none
    failed: str  # the sandbox could not start it, and why


def kind(command: bool, processes: bool) -> str:
    """Name of the kind of run that decides its filter."""
    return ("command" if command else "python") + (" with processes" if processes else "")


def pack(message: Config | Ready | Request | Report) -> bytes:
    """One message as bytes."""
    return json.dumps(message, separators=(",", ":")).encode()


def ready(data: bytes) -> Ready:
    """A `Ready` as it was packed."""
    message: Ready = json.loads(data)
    return message


def receive(control: socket.socket) -> tuple[Any, list[int]]:
    """The next message and its descriptors; (None, []) at the end of the line."""
    data, descriptors, _, _ = socket.recv_fds(control, MAX_PACKET, MAX_DESCRIPTORS)
    return (json.loads(data) if data else None), descriptors
