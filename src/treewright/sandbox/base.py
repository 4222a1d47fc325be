"""The `Sandbox` port: the place where a program that nobody trusts runs, one fresh process for each.

The port knows nothing of tests, values or verdicts. It starts one *job*, carries bytes in and out, holds it to its limits
and says how it ended. `harness` builds everything else on top: it sends inputs, reads back plain data and judges on this
side. Every adapter passes `conformance`.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

Status = Literal["ok", "error", "timeout", "memory", "output", "killed", "denied", "unavailable"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one job may use. All are upper bounds.

    Args:
        wall_s: seconds from start to end. The harness also limits each call; this is the job's own end.
        cpu_s: seconds of processor time, all threads together.
        memory_mb: MiB of address space.
        disk_mb: MiB of files in its private folder (the largest single file where the adapter cannot bound the sum).
        output_kb: KiB kept of standard output and of standard error, each; a job that writes more ends as "output".
        processes: new processes it may have beside itself; 0 for none where the adapter can tell threads from processes.
        files: open descriptors.
    """

    wall_s: float = 10.0
    cpu_s: float = 10.0
    memory_mb: int = 512
    disk_mb: int = 64
    output_kb: int = 256
    processes: int = 0
    files: int = 64


@dataclass(frozen=True, slots=True)
class Job:
    """One program to run.

    Exactly one of `python` and `command` is given.

    Args:
        python: source text, run as `__main__` by the sandbox's own interpreter.
        command: a program and its arguments, found inside the sandbox.
        trusted: the text of `python` is our own (the harness's guest). It only defines things, among them `main`, which is
            called as the program; so an adapter may run it once and ahead of time, outside the run's own process. What
            `main` goes on to load is never trusted.
        stdin: bytes it can read from standard input; then end of file.
        files: name -> contents, placed in its private working folder before it starts. Names have no folders.
        channel: open a two-way byte channel on descriptor 3 (`Process.send`, `Process.receive`).
        limits: what it may use.
    """

    python: str | None = None
    command: tuple[str, ...] = ()
    stdin: bytes = b""
    files: dict[str, bytes] = field(default_factory=dict)
    channel: bool = False
    trusted: bool = False
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Exit:
    """How a job ended. Information only: no verdict on a program rests on its exit code or on what it prints to the host.

    Args:
        status: "ok" ended by itself with code 0; "error" with another code or by a signal of its own making (a crash);
            "timeout" wall or processor time; "memory"; "output" wrote too much; "killed" ended from outside (by the caller
            or another process); "denied" made a system call that is not allowed; "unavailable" the sandbox could not run
            it, which must never count against the program.
        code: exit code, or None when a signal ended it.
        signal: number of the signal that ended it, or None.
        stdout: what it wrote, cut at `output_kb`.
        stderr: the same for standard error.
        wall_s: seconds from start to end.
        cpu_s: seconds of processor time.
        memory_mb: peak resident memory in MiB, 0 where not known.
        detail: one clause for people: which limit, which system call, what was unavailable.
    """

    status: Status
    code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_mb: float = 0.0
    detail: str = ""


class ChannelClosed(Exception):
    """The program closed its channel, sent a frame that is too long, or is gone. `Process.wait` tells how it ended."""


class Process(Protocol):
    """A job that was started."""

    async def send(self, frame: bytes) -> None:
        """Send one frame to descriptor 3 of the job (4 bytes of big-endian length, then the bytes).

        Raises:
            ChannelClosed: the job no longer reads.
        """
        ...

    async def receive(self, max_bytes: int = 1 << 20) -> bytes:
        """The next frame that the job wrote on descriptor 3, whole.

        A hostile peer is assumed: nothing is allocated on the word of a length field alone.

        Raises:
            ChannelClosed: end of the channel, or a frame of more than `max_bytes`.
        """
        ...

    async def wait(self) -> Exit:
        """Wait for the end (the program's own, or a limit's) and say how it was. Can be called again."""
        ...

    def kill(self) -> None:
        """End the job and all it started, at once. `wait` then says "killed" unless it had already ended."""
        ...


class Sandbox(Protocol):
    """Starts jobs. Safe to use from many tasks at once."""

    @property
    def level(self) -> str:
        """Name of the isolation in force: "process", "landlock", "namespaces", ... It stands in every result."""
        ...

    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        """Run `job`; when the block is left, by whatever way, the job and everything it started are gone.

        Raises:
            SandboxUnavailable: no job can be run here at all (one failed start is an `Exit` with "unavailable").
        """
        ...
