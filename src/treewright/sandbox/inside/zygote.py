"""The warm interpreter of one slot: imports the usual modules once, then makes one child in its own namespaces for each run.

Runs inside the jail (see `jail`), standard library only, in the interpreter that the programs get. It holds no secrets: the
host's environment and files are not there, and program texts go past it unread, in descriptors that only the child opens.
One thread and no event loop but `poll`, so that `fork` is safe. It

- starts a child for each `Request` and is its parent: the exit status and the processor time come from the kernel;
- watches the processor clock of each child, which no signal mask or patched clock in the child can touch;
- kills a child when the host hangs up that run's socket, and everything when the host hangs up the slot's.

A trusted text is run once, to define what it defines, and kept by its hash; untrusted text is never looked at here.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import select
import signal
import socket
import struct
import time
from dataclasses import dataclass
from types import ModuleType
from typing import NoReturn

from treewright.sandbox.inside import child, linux, program, startup, wire

_PATIENCE_S = 0.05
_NOTIFICATION_RECEIVE, _NOTIFICATION = 0xC0502100, struct.Struct("QIIiIQ6Q")  # struct seccomp_notif


def main(control: int) -> NoReturn:
    """Serve the slot whose control socket is descriptor `control`, until the host hangs up."""
    line = startup.take_places(control)
    config, _ = wire.receive(line)
    if config is None:
        os._exit(0)
    ready = startup.get_ready(config)
    line.send(wire.pack(ready))
    if ready["error"]:
        os._exit(1)
    Zygote(line, config).serve()


@dataclass
class Run:
    """One child and what is known about it."""

    pid: int
    pidfd: int
    line: socket.socket  # to the host
    report: socket.socket  # from the child, before it starts the program
    cpu_s: float
    look_at: float  # monotonic time of the next look at its processor clock
    listener: int = -1
    over_cpu: bool = False
    denied: int = -1
    raised: int = 0
    failed: str = ""


class Zygote:
    """The loop that starts, watches and reaps runs."""

    def __init__(self, control: socket.socket, config: wire.Config) -> None:
        self._control = control
        self._config = config
        self._filters = {kind: [base64.b64decode(one) for one in pair] for kind, pair in config["filters"].items()}
        self._guests: dict[str, ModuleType] = {}
        self._poll = select.poll()
        self._runs: dict[int, Run] = {}  # by each descriptor that belongs to it
        self._fresh: set[int] = set()  # those watched since the last poll
        self._user = (os.getuid(), os.getgid())
        self._cores = len(os.sched_getaffinity(0))
        isolated = linux.NEW_USER | linux.NEW_MOUNT | linux.NEW_PID | linux.NEW_IPC
        self._flags = isolated if config["level"] == "namespaces" else 0

    def serve(self) -> NoReturn:
        """Until the host hangs up; then end every run and leave."""
        self._poll.register(startup.CONTROL, select.POLLIN)
        while True:
            ready = dict(self._poll.poll(self._pause()))
            self._fresh.clear()
            for descriptor, events in ready.items():
                # subtle: one that went with its run a moment ago may be a number that has come back with another meaning
                if descriptor in self._runs and descriptor not in self._fresh:
                    self.attend(self._runs[descriptor], descriptor, events)
            if startup.CONTROL in ready:  # last: a new run's descriptors may have numbers that were closed just now
                self._take_request()
            self._look_at_clocks()

    def _take_request(self) -> None:
        request, descriptors = wire.receive(self._control)
        if request is None:
            for run in {run.pid: run for run in self._runs.values()}.values():
                self._kill(run)
                os.waitpid(run.pid, 0)
            os._exit(0)
        line = socket.socket(fileno=descriptors[0])
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            pid = self._fork(request, descriptors[1:], theirs)
            pidfd = _pidfd(pid)
        except (OSError, SyntaxError, ValueError) as error:
            ours.close()
            _send(line, _report(failed=str(error)))
            return
        finally:
            theirs.close()
            for descriptor in descriptors[1:]:
                os.close(descriptor)
        run = Run(pid, pidfd, line, ours, request["limits"]["cpu_s"], look_at=0.0)
        for descriptor in (pidfd, line.fileno(), ours.fileno()):
            self._watch(run, descriptor)

    def _fork(self, request: wire.Request, descriptors: list[int], report: socket.socket) -> int:
        streams = 4 if request["channel"] else 3
        payload = descriptors[streams] if request["payload_bytes"] else None
        guest = None
        if request["trusted"]:
            if request["has_text"] and payload is not None:
                self._guests[request["trusted"]] = program.load_guest(os.pread(payload, request["text_bytes"], 0))
            guest = self._guests[request["trusted"]]
        setup = child.Setup(
            request, self._config, self._filters, guest, descriptors[:streams], payload, report.fileno(), self._user
        )
        return linux.fork_into(self._flags, lambda: child.run(setup))

    def _watch(self, run: Run, descriptor: int) -> None:
        self._runs[descriptor] = run
        self._fresh.add(descriptor)
        self._poll.register(descriptor, select.POLLIN)

    def _unwatch(self, descriptor: int) -> None:
        if self._runs.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)

    def attend(self, run: Run, descriptor: int, events: int) -> None:
        """One of a run's descriptors has `events` of `poll`."""
        if descriptor == run.pidfd:
            self._reap(run)
        elif descriptor == run.line.fileno():  # the host says kill, or is gone
            self._unwatch(descriptor)
            self._kill(run)
        elif descriptor == run.listener and not events & select.POLLIN:
            self._unwatch(descriptor)  # all who could have been told of are gone; reading it would never return
        elif descriptor == run.listener:
            self._deny(run)
        else:
            self._hear(run)

    def _hear(self, run: Run) -> None:
        """The child passed its listener, or says why it could not start; either way, or when it died, that line is over."""
        data, descriptors, _, _ = socket.recv_fds(run.report, 2048, 1)
        self._unwatch(run.report.fileno())
        if descriptors:
            run.listener = descriptors[0]
            self._watch(run, run.listener)
        elif data and data != b"+":
            run.failed = data.decode(errors="replace")

    def _deny(self, run: Run) -> None:
        notification = _notification(run.listener)
        if notification:
            _, _, _, call, _, _, *arguments = _NOTIFICATION.unpack(notification)
            if str(call) in self._config["signals"]:
                run.raised = arguments[self._config["signals"][str(call)]]
            else:
                run.denied = call
        self._unwatch(run.listener)
        self._kill(run)

    def _kill(self, run: Run) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(run.pid, signal.SIGKILL)  # not reaped yet, so the number is still its own

    def _reap(self, run: Run) -> None:
        _, status, usage = os.wait4(run.pid, 0)
        if run.report.fileno() in self._runs:
            self._hear(run)
        report = _report(run, status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
        for descriptor in (run.pidfd, run.line.fileno(), run.listener):
            self._unwatch(descriptor)
        os.close(run.pidfd)
        if run.listener >= 0:
            os.close(run.listener)
        run.report.close()
        _send(run.line, report)

    def _pause(self) -> int | None:
        """Milliseconds until the next look at a clock."""
        if not self._runs:
            return None
        first = min(run.look_at for run in self._runs.values())
        return max(0, int((first - time.monotonic()) * 1000) + 1)

    def _look_at_clocks(self) -> None:
        """End the runs whose threads together used up their processor time; look again when the others could have."""
        now = time.monotonic()
        for descriptor, run in list(self._runs.items()):
            if descriptor != run.pidfd or run.look_at > now:
                continue
            try:
                left = run.cpu_s - time.clock_gettime((~run.pid << 3) | 2)
            except OSError:  # it has just ended
                left = 1.0
            run.look_at = now + max(0.01, left / self._cores)
            if left <= 0:
                run.over_cpu = True
                self._kill(run)


class _NothingThere(Exception):
    pass


def _notification(listener: int) -> bytearray | None:
    """What the listener was told, or None if the one who waited there has just died.

    subtle: reading it blocks until there is something, and a run that ends while it waits takes its notification along. A
    hostile one could keep the zygote there; the alarm does not let it.
    """

    def give_up(*_: object) -> None:
        raise _NothingThere

    notification = bytearray(_NOTIFICATION.size)
    try:
        signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE_S)
        try:
            fcntl.ioctl(listener, _NOTIFICATION_RECEIVE, notification)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
    except (_NothingThere, OSError):
        return None
    return notification


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except OSError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def _report(run: Run | None = None, status: int = 0, cpu_s: float = 0.0, memory_kb: int = 0, failed: str = "") -> wire.Report:
    return {
        "status": status,
        "cpu_s": cpu_s,
        "memory_kb": memory_kb,
        "over_cpu": run.over_cpu if run else False,
        "denied": run.denied if run else -1,
        "raised": run.raised if run else 0,
        "failed": run.failed if run else failed,
    }


def _send(line: socket.socket, report: wire.Report) -> None:
    with contextlib.suppress(OSError):  # the host no longer listens
        line.send(wire.pack(report))
    line.close()
