"""The few Linux calls that Python has no name for, by ctypes: clone into namespaces, mount, capabilities, filters, Landlock.

Standard library only and without imports of ours: besides the host, the interpreter inside the jail loads this file. It may
be an older Python there, so nothing newer than 3.9 is used.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Callable
from functools import cache

NEW_USER, NEW_MOUNT, NEW_PID, NEW_IPC = 0x10000000, 0x00020000, 0x20000000, 0x08000000
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC, REMOUNT, BIND = 1, 2, 4, 8, 32, 4096

_CHILD_SETTID, _CHILD_CLEARTID, _SIGCHLD = 0x01000000, 0x00200000, 17
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_GET_TID_ADDRESS = 1, 4, 24, 38, 40
_PR_SET_CHILD_SUBREAPER = 36
_SECCOMP_SET_MODE_FILTER, _FILTER_NEW_LISTENER = 1, 8
# clone, seccomp, capset, close_range, landlock_create_ruleset, landlock_add_rule, landlock_restrict_self
_NUMBERS = {"x86_64": (56, 317, 126, 436, 444, 445, 446), "aarch64": (220, 277, 91, 436, 444, 445, 446)}
_CLONE, _SECCOMP, _CAPSET, _CLOSE_RANGE, _RULESET, _ADD_RULE, _RESTRICT = range(7)


@cache
def _libc() -> ctypes.PyDLL:
    # subtle: PyDLL keeps the interpreter lock over the call, so that a child made by clone() starts out holding it
    return ctypes.PyDLL(None, use_errno=True)


@cache
def _number(which: int) -> int:
    machine = os.uname().machine
    if machine not in _NUMBERS:
        raise OSError(f"the machine type {machine} is not supported")
    return _NUMBERS[machine][which]


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(which: int, what: str, *arguments: object) -> int:
    return _checked(_libc().syscall(_number(which), *arguments), what)


def _prctl(option: int, value: int, what: str) -> None:
    _checked(_libc().prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)), what)


def fork_into(flags: int, child: Callable[[], None]) -> int:
    """`os.fork()` with clone's namespace flags: one call in place of fork, unshare and fork again.

    The hooks and the thread-id address are those of the C library's own fork, so threads and locks work in the child.

    Args:
        flags: any of `NEW_USER`, `NEW_MOUNT`, `NEW_PID`, `NEW_IPC`.
        child: runs in the new process and must not return.

    Returns:
        The new process's id as seen here.

    Raises:
        OSError: the kernel refused (no namespaces, or too many processes).
    """
    number, tid, machine = _number(_CLONE), _tid_address(), os.uname().machine
    wanted = flags | _SIGCHLD | ((_CHILD_SETTID | _CHILD_CLEARTID) if tid else 0)
    none, tid_argument = ctypes.c_void_p(None), ctypes.c_void_p(tid)
    last = (tid_argument, none) if machine == "x86_64" else (none, tid_argument)
    syscall, after_in_child = _libc().syscall, ctypes.pythonapi.PyOS_AfterFork_Child
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = syscall(number, ctypes.c_ulong(wanted), none, none, *last)
    if pid == 0:
        after_in_child()
        try:
            child()
        finally:
            os._exit(70)
    error = ctypes.get_errno()
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(error, f"clone: {os.strerror(error)}")
    return int(pid)


@cache
def _tid_address() -> int | None:
    """Where glibc keeps this thread's id, to be set in the child as its own fork does; other C libraries keep a lock there."""
    address = ctypes.c_void_p()
    if not hasattr(_libc(), "gnu_get_libc_version") or _libc().prctl(_PR_GET_TID_ADDRESS, ctypes.byref(address), 0, 0, 0) < 0:
        return None
    return address.value


def mount(kind: str, target: str, flags: int, data: str = "") -> None:
    """Mount a new file system of `kind` ("tmpfs", "proc") at `target`."""
    result = _libc().mount(kind.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode() or None)
    _checked(result, f"mount {target}")


def unmount(target: str) -> None:
    """Detach what is mounted at `target`."""
    _checked(_libc().umount2(target.encode(), 2), f"umount {target}")


def close_from(first: int) -> None:
    """Close every descriptor from `first` on."""
    if _libc().syscall(_number(_CLOSE_RANGE), first, 0x7FFFFFFF, 0) < 0:
        os.closerange(first, 65536)


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends. Lost at every change of user: call it after."""
    _prctl(_PR_SET_PDEATHSIG, 9, "prctl")


def adopt_orphans(on: bool) -> None:
    """Become the parent of every descendant whose own parent ends, so that none can get out of sight."""
    _prctl(_PR_SET_CHILD_SUBREAPER, int(on), "prctl")


def allow_own_proc_files() -> None:
    """Own /proc/self files again after a change of user, which gives them to root."""
    _prctl(_PR_SET_DUMPABLE, 1, "prctl")


def drop_privileges(*, for_good: bool = True) -> None:
    """No capability, and none to be gained (`no_new_privs`).

    Args:
        for_good: also empty the bounding set, which matters only to programs that this process turns into.
    """
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "no_new_privs")
    header = struct.pack("<II", 0x20080522, 0)
    if for_good:
        _empty_bounding_set()
    _syscall(_CAPSET, "capset", header, bytes(24))


def _empty_bounding_set() -> None:
    prctl, zero = _libc().prctl, ctypes.c_ulong(0)
    for capability in range(64):
        if prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), zero, zero, zero) < 0:
            return  # past the last one the kernel knows, or not ours to drop: then there is nothing to drop


def install_filter(program: bytes, *, listener: bool = False) -> int | None:
    """Install a seccomp filter for this process and all it starts.

    Args:
        program: an array of `struct sock_filter`.
        listener: return a descriptor on which the filter's notifications are read.
    """
    code = ctypes.create_string_buffer(program, len(program))
    fprog = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    flags = _FILTER_NEW_LISTENER if listener else 0
    result = _syscall(_SECCOMP, "seccomp", _SECCOMP_SET_MODE_FILTER, flags, fprog)
    return result if listener else None


def landlock_version() -> int:
    """The kernel's Landlock version, 0 where there is none (not built, not enabled, or refused by a filter)."""
    return max(0, int(_libc().syscall(_number(_RULESET), None, ctypes.c_size_t(0), 1)))


def landlock(readable: list[str], listed: list[str] | None = None) -> None:
    """Confine this process for good: what is under `readable` can be read and run, /dev/null written, nothing else.

    No network and no signals to others either, where the kernel's version has that; the seccomp filter covers the rest (no
    sockets, signals only to oneself). A second call confines further: what both allow is left.

    Args:
        readable: files and folders; those that do not exist are left out.
        listed: folders whose names, at any depth, can be listed.

    Raises:
        OSError: no Landlock here, or `no_new_privs` is not set.
    """
    version = landlock_version()
    if version < 1:
        raise OSError("Landlock is not available")
    rights = 13 + (version >= 2) + (version >= 3) + (version >= 5)
    file_rights, net_rights, scopes = (1 << rights) - 1, 3 if version >= 4 else 0, 3 if version >= 6 else 0
    attributes = struct.pack("<QQQ", file_rights, net_rights, scopes)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = _syscall(_RULESET, "landlock", attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path in listed or ():
            _allow(ruleset, path, _READ_FOLDER)
        for path in readable:
            _allow(ruleset, path, _EXECUTE | _READ_FILE | _READ_FOLDER | (_WRITE_FILE if path == os.devnull else 0))
        _syscall(_RESTRICT, "landlock", ruleset, 0)
    finally:
        os.close(ruleset)


_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1, 2, 4, 8


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= ~_READ_FOLDER
        _syscall(_ADD_RULE, f"landlock {path}", ruleset, 1, struct.pack("<Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)
