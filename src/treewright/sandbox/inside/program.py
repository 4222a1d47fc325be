"""How a program is run once its process is ready for it (`child`): ours, already loaded, or an untrusted text."""

from __future__ import annotations

import atexit
import gc
import linecache
import os
import sys
import traceback
from functools import partial
from types import ModuleType
from typing import NoReturn

WORK = "/tmp"


def load_guest(text: bytes) -> ModuleType:
    """A trusted text as the module `__main__`, with everything defined and nothing begun. Done once, in the zygote.

    Raises:
        SyntaxError: the text is not valid Python.
    """
    guest = _main_module()
    exec(compile(text, "guest.py", "exec", dont_inherit=True), guest.__dict__)
    gc.freeze()
    return guest


def _main_module() -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __file__=f"{WORK}/program.py")
    return main


def run(guest: ModuleType | None, text: bytes) -> NoReturn:
    """Run as `python program.py` would: its exit code, its traceback (without frames of ours), its exit handlers.

    Args:
        guest: our own program, loaded; None to run `text`.
        text: an untrusted program.
    """
    _draw_afresh()
    main = sys.modules["__main__"] = guest or _main_module()
    sys.argv[:] = ["program.py"]
    status = 0
    try:
        if guest is None:
            lines = text.decode(errors="replace").splitlines(keepends=True)
            linecache.cache["program.py"] = (len(text), None, lines, "program.py")
            exec(compile(text, "program.py", "exec", dont_inherit=True), main.__dict__)
        else:
            guest.main()
    except SystemExit as leaving:
        status = _exit_status(leaving)
    except BaseException as error:  # noqa: BLE001 - the program's, not ours: shown as the interpreter would
        status = 1
        _show(error)
    _finish(status)


def _exit_status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> None:
    trace = error.__traceback__.tb_next if error.__traceback__ else None  # the first frame is `run`
    try:
        if sys.excepthook is sys.__excepthook__:
            traceback.print_exception(type(error), error, trace)
        else:
            sys.excepthook(type(error), error, trace)
    except BaseException:  # noqa: BLE001 - an exception of the program's that cannot be printed
        os.write(2, b"error in printing the exception\n")


def _finish(status: int) -> NoReturn:
    """Wait for threads, call exit handlers, flush: what the interpreter does at its end, without its slow teardown."""
    for last in (_wait_for_threads, atexit._run_exitfuncs, partial(_flush, "stdout"), partial(_flush, "stderr")):
        try:
            last()
        except BaseException:  # noqa: BLE001 - the program's
            status = status or 120
    os._exit(status)


def _flush(name: str) -> None:
    getattr(sys, name).flush()


def _wait_for_threads() -> None:
    # not imported by the zygote: its handler of forks alone would cost every run a twentieth of its time
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()


def _draw_afresh() -> None:
    """Else every run of a slot would draw the same numbers from numpy; `random` sees to itself."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()
