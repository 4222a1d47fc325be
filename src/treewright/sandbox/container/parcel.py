"""What is sent into a container when it has reported: the request, and the descriptors the job is to have."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import resource
import socket
from contextlib import ExitStack

from treewright.sandbox.base import Job
from treewright.sandbox.capture import pipe
from treewright.sandbox.container.run import Ends
from treewright.sandbox.jail import seccomp
from treewright.sandbox.jail.syscalls import this_machine

_MIB = 1 << 20
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


def send(job: Job, line: socket.socket, ours: ExitStack) -> Ends:
    """Send `job` over `line`.

    Args:
        job: what is to run.
        line: to process 1 of its container.
        ours: closes the host's ends.

    Raises:
        OSError: the host is short of something, or the container is gone.
    """
    text = b"" if job.command else (job.python or "").encode("utf-8", "surrogatepass")
    with ExitStack() as theirs:
        output, output_end = pipe(ours, theirs)
        errors, errors_end = pipe(ours, theirs)
        descriptors = [_memory_file(job.stdin, theirs), output_end, errors_end]
        channel = None
        if job.channel:
            channel, far = socket.socketpair()
            ours.callback(channel.close)
            theirs.callback(far.close)
            channel.setblocking(False)
            descriptors.append(far.fileno())
        descriptors.append(_memory_file(b"".join((text, *job.files.values())), theirs))
        socket.send_fds(line, [json.dumps(_request(job, len(text))).encode()], descriptors)
    return Ends(line, output, errors, channel)


def _request(job: Job, text_bytes: int) -> dict[str, object]:
    limits, memory = job.limits, job.limits.memory_mb * _MIB
    allowed = seccomp.allow_list(
        this_machine(), processes=bool(limits.processes), execute=bool(job.command), shared_memory=True, notify=False
    )
    return {
        "text_bytes": text_bytes,
        "files": [(name, len(content)) for name, content in job.files.items()],
        "command": list(job.command),
        "trusted": job.trusted,
        # Runtimes such as Java's and V8 reserve far more address space than they use, so commands are held to private memory.
        "bounds": [
            (resource.RLIMIT_DATA if job.command else resource.RLIMIT_AS, memory),
            (resource.RLIMIT_NOFILE, limits.files),
        ],
        "filter": base64.b64encode(allowed).decode(),
    }


def _memory_file(content: bytes, stack: ExitStack) -> int:
    """Sealed: the other side has a descriptor of the same file, and could else fill the host's memory with it."""
    descriptor = os.memfd_create("job", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    stack.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor
