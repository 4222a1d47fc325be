"""What hostile programs try to reach or leave, watched from the host: a secret, files, sockets, processes, shared memory."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from treewright.sandbox.inside import linux

_SETTLE_S = 2.0  # for what is just ending
_SLOT_USERS = 61000  # and above: users that the sandboxes give to runs when the host is root
_PLACES = (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"))
_VARIABLE = "CANARY_API_KEY"


@dataclass(frozen=True, slots=True)
class Sight:
    """What was there at one time.

    Args:
        processes: how many descendants of this process, by name.
        files: in the places that everybody can write, those that a run could have made.
        shared: System V segments and ports that are listened on, as far as a run could have made them.
    """

    processes: Counter[str]
    files: frozenset[str]
    shared: frozenset[str]


class Canaries:
    """A block in which they are out. Everything is put back at its end."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._files: dict[Path, bytes] = {}
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            with suppress(OSError):  # where nothing can be written there is nothing to reach
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="treewright-canary-")))
                self._plant(folder / "canary.txt", stack)
            # the attacks look for these names; they are planted only where nothing is in the way
            home = Path("/home/user")
            if home.is_dir() and os.access(home, os.W_OK):
                self._plant(home / "canary.txt", stack)
                self._plant(home / ".secret", stack)
            os.environ[_VARIABLE] = f"sk-canary-{secrets.token_hex(8)}"
            stack.callback(os.environ.pop, _VARIABLE, None)
            self._listen(stack)
            with suppress(OSError):
                linux.adopt_orphans(True)
                stack.callback(linux.adopt_orphans, False)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def _plant(self, path: Path, stack: ExitStack) -> None:
        if not path.exists():
            self._files[path] = f"sk-file-{secrets.token_hex(8)}".encode()
            path.write_bytes(self._files[path])
            stack.callback(path.unlink, missing_ok=True)

    def _listen(self, stack: ExitStack) -> None:
        addresses: list[tuple[socket.AddressFamily, socket.SocketKind, object]] = [
            (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            (socket.AF_UNIX, socket.SOCK_STREAM, "\0canary"),
            (socket.AF_UNIX, socket.SOCK_STREAM, "/tmp/canary.sock"),
        ]
        for family, kind, address in addresses:
            ear = stack.enter_context(socket.socket(family, kind))
            try:
                ear.bind(address)  # type: ignore[arg-type]  # the address fits the family
            except OSError:
                continue  # in use by somebody else
            if isinstance(address, str) and address.startswith("/"):
                stack.callback(Path(address).unlink, missing_ok=True)
            if kind == socket.SOCK_STREAM:
                ear.listen()
            ear.setblocking(False)
            self._sockets.append(ear)

    def harmed(self) -> list[str]:
        """What was reached, in words."""
        found = [f"{path} was changed" for path, text in self._files.items() if not path.exists() or path.read_bytes() != text]
        for ear in self._sockets:
            with suppress(OSError):
                if ear.type == socket.SOCK_DGRAM:
                    ear.recv(16)
                elif not _by_a_run(ear):
                    continue
                found.append(f"a socket of the host was reached ({ear.getsockname()!r})")
        return found

    def look(self) -> Sight:
        """What is there now."""
        return Sight(_descendants(), frozenset(_files()), frozenset(_shared()))

    async def left_since(self, before: Sight) -> list[str]:
        """What is there that was not at `before`, in words, after a moment for what is just ending."""
        until = time.monotonic() + _SETTLE_S
        while True:
            now = self.look()
            left = [f"process {name}" for name in (now.processes - before.processes).elements()]
            left += [f"file {name}" for name in now.files - before.files] + [*(now.shared - before.shared)]
            if not left or time.monotonic() > until:
                return left
            await asyncio.sleep(0.05)


def _descendants() -> Counter[str]:
    children: dict[int, list[tuple[int, str]]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
                if rest.split()[0] != "Z":  # a zombie holds nothing, and is its parent's to clear
                    children.setdefault(int(rest.split()[1]), []).append((int(entry.name), name))
    found: Counter[str] = Counter()
    ahead = [os.getpid()]
    while ahead:
        for pid, name in children.get(ahead.pop(), []):
            found[name] += 1
            ahead.append(pid)
    return found


def _by_a_run(ear: socket.socket) -> bool:
    """Whether it was a run that connected: others on the machine may know the fixed names too."""
    with ear.accept()[0] as caller:
        if caller.family != socket.AF_UNIX:
            return True
        user = int.from_bytes(caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], sys.byteorder)
        return _could_be_of_a_run(user)


def _could_be_of_a_run(user: int) -> bool:
    """As root the runs have users of their own; else they share ours."""
    return user >= _SLOT_USERS if os.getuid() == 0 else user == os.getuid()


def _files() -> list[str]:
    found = []
    for place in _PLACES:
        with suppress(OSError):
            for entry in os.scandir(place):
                with suppress(OSError):
                    if _could_be_of_a_run(entry.stat(follow_symlinks=False).st_uid) and "treewright-" not in entry.name:
                        found.append(entry.path)
    return found


def _shared() -> list[str]:
    found = []
    with suppress(OSError):
        for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
            if _could_be_of_a_run(int(row.split()[7])):
                found.append(f"shared memory {row.split()[1]}")
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                fields = row.split()
                if fields[3] == "0A" and _could_be_of_a_run(int(fields[7])):
                    found.append(f"port {int(fields[1].rpartition(':')[2], 16)}")
    return found
