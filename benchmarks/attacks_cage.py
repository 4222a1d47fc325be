"""A cage that is thrown away after one program: what runs in it cannot hurt this machine, whatever the design under test lets it do.

An ordinary user in pid, mount, network, IPC and UTS namespaces of their own, on a read-only system with an empty home in memory,
held by control groups to 3 GiB and 120 processes, on one processor, without privileges to gain. Needs root and bubblewrap.
"""

import os
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from treewright.core.errors import UserError
from treewright.sandbox.jail import cgroup

USER = 30000
MEMORY_MIB = 3072
PROCESSES = 120
HOME = "/home/user"
RESULT = "/result"
_READY_S = 120.0
_LONGEST_S = 300.0
_POLL_S = 0.02
_SHUT_DOWN_S = 5.0
_PIDS = Path("/sys/fs/cgroup/pids")
# The shell puts itself into the control groups before anything of the cage exists.
_ENTER = 'for group in $GROUPS_OF_CAGE; do echo $$ > "$group/cgroup.procs" || exit 9; done; exec "$@"'
_SYSTEM = (
    *("--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--bind", "/proc", "/proc", "--dev", "/dev"),
    *("--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin"),
    *("--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"),
    *(word for place in ("/dev/shm", "/tmp", "/var/tmp", HOME) for word in ("--perms", "1777", "--tmpfs", place)),
)


@dataclass(frozen=True, slots=True)
class Caged:
    """How the caged program ended.

    Args:
        answer: what it wrote to `RESULT/answer`, or None.
        hung: it gave no answer in time, or had to be killed after its answer.
        wall_s: seconds from `RESULT/ready` to its end.
        errors: what stopped it before it was ready, or the end of its own traceback.
    """

    answer: str | None
    hung: bool
    wall_s: float
    errors: str


def ground() -> cgroup.Cgroups:
    """Where cages can be made.

    Raises:
        UserError: nowhere here.
    """
    found = cgroup.find()
    if os.getuid() != 0 or found is None or not shutil.which("bwrap"):
        raise UserError("Cages need root, control groups that bound memory, and bubblewrap.")
    return found


def run(words: list[str], shown: dict[Path, str], place: Path, above: cgroup.Cgroups, *, cap_s: float, core: int) -> Caged:
    """Run a command in a cage until it ends or `cap_s` seconds after it said that it is ready.

    Args:
        words: the command, as it is called inside.
        shown: folder of this machine -> where it is seen inside, read-only.
        place: an empty folder; inside it is `RESULT`, the only place that outlives the cage.
        above: where its control groups are made (`ground`).
        cap_s: seconds.
        core: number of the processor.

    Raises:
        UserError: the cage did not start.
    """
    os.chown(place, USER, USER)
    with ExitStack() as stack:
        groups = " ".join(str(folder) for folder in _groups(place.name, above, stack))
        process = subprocess.Popen(
            ["/bin/sh", "-c", _ENTER, "cage", "taskset", "-c", str(core), *_command(words, shown, place)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(place / "errors").open("wb"),
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "GROUPS_OF_CAGE": groups},
            start_new_session=True,
        )
        stack.callback(_end, process)
        _wait(process, place / "ready", _READY_S)
        if not (place / "ready").exists():
            raise UserError(f"A cage did not start: {_tail(place)}")
        started = time.monotonic()
        _wait(process, place / "answer", cap_s)
        answered = (place / "answer").exists()
        hung = _runs(process) and (not answered or not _ends(process))
        wall_s = time.monotonic() - started
    return Caged((place / "answer").read_text() if answered else None, hung, wall_s, _tail(place))


def _command(words: list[str], shown: dict[Path, str], place: Path) -> list[str]:
    """A fresh /proc that is not covered anywhere, so that a jail inside may mount one too; process 1 is not the program's."""
    folders = [word for outside, inside in shown.items() for word in ("--ro-bind", str(outside), inside)]
    return [
        *("timeout", "--signal=KILL", f"{_LONGEST_S:g}"),  # should nobody be left to end it
        *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--uts", "--mount-proc"),
        *("bwrap", "--unshare-net", "--new-session", "--perms", "0755", "--dir", "/home", *_SYSTEM),
        *("--perms", "0755", "--dir", "/opt", *folders, "--bind", str(place), RESULT, "--chdir", HOME, "--clearenv"),
        *("--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", HOME, "--setenv", "LANG", "C.UTF-8"),
        *("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs", *words),
    ]


def _groups(name: str, above: cgroup.Cgroups, stack: ExitStack) -> list[Path]:
    memory = above.make(abs(hash(name)) % 10**9)
    stack.callback(memory.remove)
    memory.limit(MEMORY_MIB)
    if above.version == 2:
        (memory.folder / "pids.max").write_text(str(PROCESSES))
        return [memory.folder]
    pids = _PIDS / memory.folder.name
    pids.mkdir()
    stack.callback(cgroup.Cgroup(pids, 1).remove)
    (pids / "pids.max").write_text(str(PROCESSES))
    return [memory.folder, pids]


def _wait(process: subprocess.Popen[bytes], file: Path, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not file.exists() and _runs(process) and time.monotonic() < until:
        time.sleep(_POLL_S)


def _tail(place: Path) -> str:
    files = [place / "errors", place / "fault"]  # before it was ready, after
    return "".join(file.read_text(errors="replace")[-1000:] for file in files if file.exists())


def _runs(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is None


def _ends(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_SHUT_DOWN_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """With `unshare` its child goes, which is process 1 of the cage, and with that everything in it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
