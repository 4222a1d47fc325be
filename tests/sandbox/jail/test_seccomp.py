from __future__ import annotations

import errno
import struct
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.sandbox.jail import seccomp
from treewright.sandbox.jail.syscalls import MACHINES, Machine, numbers

ALLOW, KILL, NOTIFY = 0x7FFF0000, 0x80000000, 0x7FC00000
EPERM, ENOSYS, ENOTTY = (0x00050000 | number for number in (errno.EPERM, errno.ENOSYS, errno.ENOTTY))
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
THREAD, NEW_USER, FORK = 0x003D0F00, 0x10000000, 17  # clone flags of pthread_create; a namespace; SIGCHLD alone


@dataclass(frozen=True)
class Call:
    number: int
    arch: int
    arguments: tuple[int, ...] = (0, 0, 0, 0, 0, 0)

    def load(self, offset: int) -> int:
        data = struct.pack("<iIQ6Q", self.number, self.arch, 0, *self.arguments)
        return int(struct.unpack_from("<I", data, offset)[0])


def trace(program: bytes, call: Call) -> list[int]:
    """Runs the program as the kernel's interpreter does and fails on any jump out of it: the constants met, the answer last."""
    code = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    at = accumulator = 0
    met: list[int] = []
    while True:
        operation, true, false, constant = code[at]
        met.append(constant)
        at += 1
        if operation == 0x20:
            accumulator = call.load(constant)
        elif operation == 0x06:
            return met
        elif operation == 0x05:
            at += constant
        else:
            holds = {0x15: accumulator == constant, 0x35: accumulator >= constant, 0x45: accumulator & constant}[operation]
            at += true if holds else false


def answer(program: bytes, call: Call) -> int:
    return trace(program, call)[-1]


def asked(program: bytes, machine: Machine, name: str, *arguments: int) -> int:
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    return answer(program, Call(numbers(machine)[name], ARCH[machine], padded))


@pytest.mark.parametrize("machine", MACHINES)
def test_ordinary_calls_are_allowed(machine: Machine) -> None:
    program = seccomp.allow_list(machine)
    for name in ("read", "write", "openat", "mmap", "futex", "clock_gettime", "getrandom", "exit_group", "kill"):
        assert asked(program, machine, name) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["ptrace", "mount", "unshare", "setns", "bpf", "keyctl", "userfaultfd", "execve", "execveat"])
def test_calls_that_no_honest_program_makes_are_deadly(machine: Machine, name: str) -> None:
    assert asked(seccomp.allow_list(machine), machine, name) == NOTIFY
    assert asked(seccomp.allow_list(machine, notify=False), machine, name) == KILL


# memfd_create, io_uring_setup, timer_create, shmget, msgget, splice, vmsplice, socket, connect, bind
REFUSED = {
    "x86_64": (319, 425, 222, 29, 68, 275, 278, 41, 42, 49),
    "aarch64": (279, 425, 107, 194, 186, 76, 75, 198, 203, 200),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_ways_round_the_limits_are_refused(machine: Machine) -> None:
    program = seccomp.allow_list(machine, processes=True, execute=True)
    assert {answer(program, Call(number, ARCH[machine])) for number in REFUSED[machine]} == {EPERM}


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_are_allowed_and_processes_only_if_asked_for(machine: Machine) -> None:
    default, many = seccomp.allow_list(machine), seccomp.allow_list(machine, processes=True)
    assert asked(default, machine, "clone", THREAD) == asked(many, machine, "clone", THREAD) == ALLOW
    assert asked(default, machine, "clone", FORK) == EPERM
    assert asked(many, machine, "clone", FORK) == asked(many, machine, "execve") == ALLOW
    assert asked(default, machine, "clone3") == asked(many, machine, "clone3") == ENOSYS  # its flags cannot be checked
    for namespace in (0x00020000, NEW_USER, 0x20000000, 0x40000000, 0x02000000, 0x04000000, 0x08000000):
        assert asked(many, machine, "clone", FORK | namespace) == EPERM
        assert asked(default, machine, "clone", THREAD | namespace) == EPERM


def test_old_ways_to_fork_are_refused_too() -> None:
    assert asked(seccomp.allow_list("x86_64"), "x86_64", "fork") == EPERM
    assert asked(seccomp.allow_list("x86_64"), "x86_64", "vfork") == EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_decide_where_a_call_has_harmless_uses(machine: Machine) -> None:
    program = seccomp.allow_list(machine)
    assert asked(program, machine, "socketpair", 1) == ALLOW  # Unix, for event loops
    assert asked(program, machine, "socketpair", 2) == EPERM
    assert asked(program, machine, "ioctl", 0, 0x541B) == ALLOW
    assert asked(program, machine, "ioctl", 0, 0x5412) == ENOTTY  # TIOCSTI: type into the terminal
    assert asked(program, machine, "prctl", 15) == ALLOW
    assert asked(program, machine, "prctl", 1) == EPERM  # PDEATHSIG: would outlive its zygote
    assert asked(program, machine, "fcntl", 0, 1) == ALLOW
    assert asked(program, machine, "fcntl", 0, 8) == EPERM  # F_SETOWN: signals to others


@pytest.mark.parametrize("machine", MACHINES)
def test_shared_memory_without_a_file_can_be_refused(machine: Machine) -> None:
    program = seccomp.allow_list(machine, shared_memory=False)
    assert asked(program, machine, "mmap", 0, 0, 3, 0x21) == EPERM
    assert asked(program, machine, "mmap", 0, 0, 3, 0x22) == ALLOW
    assert asked(program, machine, "mmap", 0, 0, 3, 0x01) == ALLOW
    assert asked(seccomp.allow_list(machine), machine, "mmap", 0, 0, 3, 0x21) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_the_first_process_of_a_namespace_can_still_end_itself(machine: Machine) -> None:
    program = seccomp.allow_list(machine, first=True)
    assert asked(program, machine, "tgkill", 1, 1, 6) == asked(program, machine, "kill", 7, 6) == NOTIFY
    assert asked(program, machine, "kill", 1, 9) == asked(program, machine, "tgkill", 1, 1, 9) == NOTIFY
    assert asked(program, machine, "kill", 2, 9) == asked(program, machine, "kill", 1, 15) == ALLOW
    assert asked(seccomp.allow_list(machine), machine, "tgkill", 1, 1, 6) == ALLOW
    assert asked(seccomp.allow_list(machine, first=True, notify=False), machine, "tgkill", 1, 1, 6) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_ends_the_run(machine: Machine) -> None:
    for program in (seccomp.allow_list(machine), seccomp.only_itself(machine)):
        assert answer(program, Call(1, 0x40000003)) == KILL


def test_the_x32_table_ends_the_run() -> None:
    assert answer(seccomp.allow_list("x86_64"), Call(0x40000000, ARCH["x86_64"])) == KILL


@given(
    st.sampled_from(MACHINES),
    st.integers(0, 0x3FFFFFFF),
    st.booleans(),
    st.lists(st.integers(0, 2**64 - 1), min_size=6, max_size=6),
)
def test_every_call_has_an_answer_and_unknown_ones_are_refused(
    machine: Machine, number: int, processes: bool, arguments: list[int]
) -> None:
    call = Call(number, ARCH[machine], tuple(arguments))
    found = answer(seccomp.allow_list(machine, processes=processes), call)
    assert found in (ALLOW, EPERM, ENOSYS, ENOTTY, NOTIFY)
    if number > 500:
        assert found == ENOSYS
    if number not in numbers(machine).values():
        assert found in (EPERM, ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_second_filter_lets_signals_reach_the_run_itself_only(machine: Machine) -> None:
    program = seccomp.only_itself(machine).replace(struct.pack("<I", seccomp.SELF), struct.pack("<I", 4711))
    assert asked(program, machine, "kill", 4711, 9) == asked(program, machine, "tgkill", 4711, 4712, 9) == ALLOW
    for other in (1, 4710, 0, 0xFFFFFFFF):
        assert asked(program, machine, "kill", other, 9) == EPERM
        assert asked(program, machine, "tgkill", other, other, 9) == EPERM
    assert asked(program, machine, "prlimit64", 0) == asked(program, machine, "prlimit64", 4711) == ALLOW
    assert asked(program, machine, "prlimit64", 1) == EPERM
    assert asked(program, machine, "tkill", 4711, 9) == EPERM
    assert asked(program, machine, "read", 99) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_programs_fit_the_kernel(machine: Machine) -> None:
    for processes in (False, True):
        program = seccomp.allow_list(machine, processes=processes)
        assert len(program) % 8 == 0
        assert len(program) // 8 < 4096
        depth = max(len(trace(program, Call(number, ARCH[machine]))) for number in range(460))
        assert depth < 40  # a search, not a list: it is paid on every call


def test_the_numbers_are_those_of_each_kernel_table() -> None:
    x86, arm = numbers("x86_64"), numbers("aarch64")
    assert (x86["read"], x86["clone"], x86["execve"], x86["getrandom"], x86["clone3"]) == (0, 56, 59, 318, 435)
    assert (arm["read"], arm["clone"], arm["execve"], arm["getrandom"], arm["clone3"]) == (63, 220, 221, 278, 435)
    assert "fork" not in arm
    assert "open" not in arm
    for table in (x86, arm):
        assert len(set(table.values())) == len(table)
