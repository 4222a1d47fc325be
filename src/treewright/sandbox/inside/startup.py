"""How a slot's interpreter becomes a zygote: its descriptors, its user, what it imports. Standard library only; runs inside."""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import gc
import importlib
import os
import platform
import resource
import socket
import sys

from treewright.sandbox.inside import child, linux, wire

CONTROL = 4
_USUAL = """
abc argparse array ast base64 bisect calendar cmath collections collections.abc contextlib copy csv dataclasses datetime
decimal enum fractions functools hashlib heapq inspect io itertools json keyword linecache math numbers operator os.path
pathlib pickle pprint random re shlex shutil statistics string struct tempfile textwrap time traceback types
typing unicodedata uuid warnings weakref zlib
"""


def take_places(control: int) -> socket.socket:
    """Keep descriptors 0 to 4 taken for good: what arrives for a run is then always above what the run's own will be."""
    spare = fcntl.fcntl(control, fcntl.F_DUPFD_CLOEXEC, 10)
    if control > CONTROL:
        os.close(control)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 3)
    os.dup2(spare, CONTROL, inheritable=False)
    os.close(spare)
    if nothing != 3:
        os.close(nothing)
    return socket.socket(fileno=CONTROL)


def get_ready(config: wire.Config) -> wire.Ready:
    """Become the slot's user, import what the programs will, and shut oneself in where no jail does."""
    version = platform.python_version()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        _become(config)
    except OSError as error:
        return {"error": str(error), "python": version, "cold": []}
    sys.path[:] = config["path"]
    child.own_environment()
    cold = []
    for name in [*_USUAL.split(), *config["warm"]]:
        try:
            importlib.import_module(name)
        except ImportError as error:
            if name in config["warm"]:
                cold.append(f"{name}: {error}")
    try:
        _confine(config)
    except OSError as error:
        return {"error": str(error), "python": version, "cold": []}
    vars(builtins).update(exit=sys.exit, quit=sys.exit)  # `site` would make them, and programs rely on them
    _hide_ourselves()
    gc.collect()
    gc.freeze()  # else the first collection in every child would touch, and so copy, every page
    return {"error": "", "python": version, "cold": cold}


def _hide_ourselves() -> None:
    """Our modules are of no use to a program, and a package of ours that is half there would only confuse it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "treewright"]:
        del sys.modules[name]


def _become(config: wire.Config) -> None:
    """From root to the slot's user, which also ends every capability; then die with the jail's own parent."""
    if config["proc"] and os.getuid() == 0:
        # subtle: the kernel lets a run mount its own /proc only where one is fully visible, and bwrap covers these for root
        for name in ("sys", "sysrq-trigger", "irq", "bus"):
            with contextlib.suppress(OSError):
                linux.unmount(f"/proc/{name}")
    user = config["user"]
    if user >= 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        linux.allow_own_proc_files()
    linux.die_with_parent()


def _confine(config: wire.Config) -> None:
    """Without a jail around it, the zygote shuts itself in before its first run; each run then shuts itself in further."""
    if config["level"] != "landlock":
        return
    with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - this side is kept small
        file.write("500")
    linux.drop_privileges()
    linux.landlock(config["readable"], config["listed"])
