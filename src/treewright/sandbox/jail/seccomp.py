"""Which system calls a run may make, as a classic BPF program that the run installs just before untrusted text is loaded.

An allow-list: what is not named here is refused. Three grades of "no":

- refused: `EPERM`, or `ENOSYS` for calls newer than the table (the C library then takes its older way). Programs get an
  ordinary error and may go on. New processes, sockets, `memfd_create` (memory beyond the address-space limit), io_uring,
  POSIX timers, System V and POSIX message queues, splice and the like belong here;
- deadly: no honest program makes them (`ptrace`, `mount`, `bpf`, `keyctl`, ..., and `execve`, which would put another program
  in its place): the run ends as "denied";
- wrong architecture or the x32 table: the run ends.

The program is a binary search over the numbers: about 8 comparisons for a call. Filters cannot follow pointers, so `clone3`
is answered with `ENOSYS` and `clone`, whose flags are in a register, is checked. Everything here is a pure function of the
machine and of what is allowed; the bytes are installed by `child`.
"""

from __future__ import annotations

import errno
import signal
import struct
from collections.abc import Iterable, Mapping, Sequence

from treewright.sandbox.jail.syscalls import Machine, numbers

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant: struct sock_filter
Program = tuple[Instruction, ...]

FILES = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 open openat openat2 creat close close_range
stat fstat lstat newfstatat statx access faccessat faccessat2 lseek getdents getdents64 getcwd chdir fchdir
mkdir mkdirat rmdir rename renameat renameat2 link linkat unlink unlinkat symlink symlinkat readlink readlinkat
chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat umask truncate ftruncate fallocate fadvise64 readahead
fsync fdatasync sync_file_range flock statfs fstatfs utime utimes utimensat futimesat
getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr sendfile copy_file_range
"""
DESCRIPTORS = """
dup dup2 dup3 pipe pipe2 poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
eventfd eventfd2 timerfd_create timerfd_settime timerfd_gettime signalfd signalfd4
sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown getsockname getpeername getsockopt setsockopt
"""
MEMORY = "brk mmap munmap mremap mprotect madvise msync membarrier get_mempolicy pkey_alloc pkey_free pkey_mprotect"
TIME = "time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep getitimer setitimer alarm times pause"
SIGNALS = """
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo
sigaltstack kill tkill tgkill restart_syscall
"""
PROCESS = """
exit exit_group wait4 waitid getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups
getpgrp getpgid getsid setsid setpgid getrlimit setrlimit prlimit64 getrusage getpriority capget uname sysinfo getcpu
getrandom futex futex_waitv futex_wait futex_wake futex_requeue set_robust_list get_robust_list set_tid_address rseq
sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_getscheduler sched_get_priority_max
sched_get_priority_min sched_rr_get_interval arch_prctl
"""
NEW_PROCESS = "fork vfork"
EXEC = "execve execveat"
DEADLY = """
ptrace process_vm_readv process_vm_writev bpf userfaultfd perf_event_open keyctl add_key request_key
mount umount2 pivot_root chroot unshare setns open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
open_by_handle_at name_to_handle_at init_module finit_module delete_module kexec_load kexec_file_load reboot
swapon swapoff acct quotactl quotactl_fd iopl ioperm vhangup syslog settimeofday clock_settime clock_adjtime adjtimex
sethostname setdomainname lookup_dcookie nfsservctl
"""

_ALLOW = 0x7FFF0000
_KILL = 0x80000000  # the whole process, not only the thread
_NOTIFY = 0x7FC00000  # the call waits for the zygote, which reads its number and kills the run
_ERRNO = 0x00050000
_LOAD, _JEQ, _JGE, _JSET, _JUMP, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x05, 0x06
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_CLONE_THREAD = 0x00010000
_CLONE_NEW_NAMESPACES = 0x7E020000
# FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TCGETS, TIOCGWINSZ: asking, and descriptor flags. Not TIOCSTI, which types for others.
_IOCTLS = (0x541B, 0x5421, 0x5451, 0x5450, 0x5401, 0x5413)
# GET_DUMPABLE, SET_NAME, GET_NAME, GET_SECCOMP, CAPBSET_READ, GET_NO_NEW_PRIVS, GET_TID_ADDRESS, SET_VMA (a name).
# Not SET_PDEATHSIG: the run must end with its zygote.
_PRCTLS = (3, 15, 16, 21, 23, 39, 40, 0x53564D41)
_SET_OWNER = (8, 15)  # F_SETOWN, F_SETOWN_EX: ask the kernel to signal somebody else
_AF_UNIX = 1
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20
SIGNAL_ARGUMENT = {"kill": 1, "tkill": 1, "tgkill": 2}  # which of its arguments is the signal
SELF = 0x7E57AB1E  # stands for the run's own process id until it is known


def allow_list(
    machine: Machine,
    *,
    processes: bool = False,
    execute: bool = False,
    shared_memory: bool = True,
    first: bool = False,
    notify: bool = True,
) -> bytes:
    """The filter of one run, as an array of `struct sock_filter` (8 bytes each).

    Args:
        machine: the architecture of the interpreter.
        processes: new processes, and programs run by them, are allowed (counted by RLIMIT_NPROC and held by a cgroup).
        execute: `execve` is allowed because the run itself starts another program.
        shared_memory: memory that is shared and has no file is allowed. Only a limit on addresses or a cgroup counts it.
        first: the run is the first process of its namespace. The kernel spares such a process its own `abort` and `SIGKILL`;
            the listener is told, and sees to it.
        notify: deadly calls are reported to a listener, so that the call can be named; else the kernel just kills.
    """
    table = numbers(machine)
    verdicts: dict[int, Program] = dict.fromkeys(range(max(table.values()) + 1), _answer(_ERRNO | errno.EPERM))
    verdicts.update(_each(table, f"{DEADLY} {EXEC}", _answer(_NOTIFY if notify else _KILL)))
    for group in (FILES, DESCRIPTORS, MEMORY, TIME, SIGNALS, PROCESS):
        verdicts.update(_each(table, group, _answer(_ALLOW)))
    if processes:
        verdicts.update(_each(table, NEW_PROCESS, _answer(_ALLOW)))
    if processes or execute:
        verdicts.update(_each(table, EXEC, _answer(_ALLOW)))
    if not shared_memory:
        verdicts.update(_each(table, "mmap", _all_bits(3, _MAP_SHARED, _MAP_ANONYMOUS)))
    if first and notify:
        verdicts.update({table[name]: _own_end(index) for name, index in SIGNAL_ARGUMENT.items()})
    verdicts.update(_each(table, "clone3", _answer(_ERRNO | errno.ENOSYS)))
    verdicts.update(_each(table, "clone", _clone(processes)))
    verdicts.update(_each(table, "socketpair", _argument_among(0, (_AF_UNIX,))))
    verdicts.update(_each(table, "ioctl", _argument_among(1, _IOCTLS, otherwise=errno.ENOTTY)))
    verdicts.update(_each(table, "prctl", _argument_among(0, _PRCTLS)))
    verdicts.update(_each(table, "fcntl", _argument_not_among(1, _SET_OWNER)))
    return _encode(_prologue(machine) + _search(_ranges(verdicts)))


def only_itself(machine: Machine) -> bytes:
    """A second filter for homes without process namespaces: signals, limits and the like reach only the run itself.

    `SELF` stands where its process id belongs; `child` puts it there.
    """
    table = numbers(machine)
    verdicts: dict[int, Program] = {0: _answer(_ALLOW)}
    verdicts.update(_each(table, "kill tgkill rt_sigqueueinfo rt_tgsigqueueinfo", _argument_among(0, (SELF,))))
    verdicts.update(_each(table, "prlimit64 sched_setaffinity setpgid", _argument_among(0, (0, SELF))))
    verdicts.update(_each(table, "tkill", _answer(_ERRNO | errno.EPERM)))
    last = max(verdicts)
    filled = {number: verdicts.get(number, _answer(_ALLOW)) for number in range(last + 1)}
    return _encode(_prologue(machine) + _search(_ranges(filled, beyond=_answer(_ALLOW))))


def _each(table: Mapping[str, int], names: str, verdict: Program) -> dict[int, Program]:
    return {table[name]: verdict for name in names.split() if name in table}


def _answer(action: int) -> Program:
    return ((_RETURN, 0, 0, action),)


def _argument(index: int) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * index)  # low half: all arguments checked here are ints


def _argument_among(index: int, values: Sequence[int], otherwise: int = errno.EPERM) -> Program:
    tests = [(_JEQ, len(values) - at, 0, value) for at, value in enumerate(values)]
    return (_argument(index), *tests, *_answer(_ERRNO | otherwise), *_answer(_ALLOW))


def _argument_not_among(index: int, values: Sequence[int]) -> Program:
    tests = [(_JEQ, len(values) - at, 0, value) for at, value in enumerate(values)]
    return (_argument(index), *tests, *_answer(_ALLOW), *_answer(_ERRNO | errno.EPERM))


def _all_bits(index: int, one: int, other: int) -> Program:
    """Refused if both bits are set."""
    return (_argument(index), (_JSET, 0, 1, one), (_JSET, 1, 0, other), *_answer(_ALLOW), *_answer(_ERRNO | errno.EPERM))


def _own_end(index: int) -> Program:
    """Notify of `SIGABRT`, which only `abort` sends, and of `SIGKILL` to process 1; the signal is argument `index`."""
    to_first: Program = ((_JEQ, 0, 2, signal.SIGKILL), _argument(0), (_JEQ, 1, 0, 1), *_answer(_ALLOW), *_answer(_NOTIFY))
    return (_argument(index), (_JEQ, len(to_first) - 1, 0, signal.SIGABRT), *to_first)


def _clone(processes: bool) -> Program:
    """Threads always, processes when allowed, new namespaces never."""
    thread = () if processes else ((_JSET, 0, 2, _CLONE_THREAD),)
    return (_argument(0), *thread, (_JSET, 1, 0, _CLONE_NEW_NAMESPACES), *_answer(_ALLOW), *_answer(_ERRNO | errno.EPERM))


def _prologue(machine: Machine) -> Program:
    """Another architecture's table (32-bit calls, x32) would give the numbers another meaning: end the run."""
    arch: Program = ((_LOAD, 0, 0, 4), (_JEQ, 1, 0, _AUDIT_ARCH[machine]), *_answer(_KILL), (_LOAD, 0, 0, 0))
    return (*arch, (_JGE, 0, 1, _X32), *_answer(_KILL)) if machine == "x86_64" else arch


def _ranges(verdicts: Mapping[int, Program], beyond: Program | None = None) -> list[tuple[int, Program]]:
    """(first number, verdict) of each stretch with one verdict; `beyond` the last number the answer is ENOSYS by default."""
    stretches: list[tuple[int, Program]] = []
    for number in range(len(verdicts)):
        if not stretches or stretches[-1][1] != verdicts[number]:
            stretches.append((number, verdicts[number]))
    stretches.append((len(verdicts), beyond or _answer(_ERRNO | errno.ENOSYS)))
    return stretches


def _search(stretches: Sequence[tuple[int, Program]]) -> Program:
    """A balanced tree of comparisons; jumps in BPF go forward only, and conditional ones at most 255 instructions."""
    if len(stretches) == 1:
        return stretches[0][1]
    middle = len(stretches) // 2
    left, right = _search(stretches[:middle]), _search(stretches[middle:])
    pivot = stretches[middle][0]
    if len(left) <= 255:
        return ((_JGE, len(left), 0, pivot), *left, *right)
    return ((_JGE, 0, 1, pivot), (_JUMP, 0, 0, len(left)), *left, *right)


def _encode(program: Iterable[Instruction]) -> bytes:
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
