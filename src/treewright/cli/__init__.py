"""The command line. `main` is the entry point; each command lives in its own file and is loaded when it is called."""

from __future__ import annotations

import sys
from io import TextIOWrapper

#: Exit statuses, the same for every command.
VERIFIED, UNVERIFIED, WRONG_INPUT, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: list[str] | None = None) -> None:
    """Run `treewright` with `arguments` (the process's own when None) and end the process with the exit status."""
    from treewright.cli.streams import Screen, silence

    if isinstance(sys.stdout, TextIOWrapper):  # under an old locale an answer is better escaped than lost
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status, trouble = _run(arguments)
        sys.stdout.flush()  # here, where a failure can still be told
    except BrokenPipeError:  # the reader of our output is gone (`treewright runs | head`)
        silence(sys.stdout)
        status, trouble = INTERRUPTED, ""
    except OSError as error:
        silence(sys.stdout)
        status, trouble = WRONG_INPUT, f"{error.filename or 'standard output'} failed: {error.strerror or error}"
    if trouble:
        Screen(sys.stderr).write(f"treewright: {trouble}\n")
    sys.exit(status)


def _run(arguments: list[str] | None) -> tuple[int, str]:
    """The exit status, and one sentence about what went wrong if something did."""
    from cyclopts import CycloptsError

    from treewright.cli.app import app
    from treewright.core.errors import TreewrightError

    try:
        status = app(arguments, exit_on_error=False, print_error=True, result_action="return_value")
    except CycloptsError:  # printed already, with the option it is about
        return WRONG_INPUT, ""
    except TreewrightError as error:
        return error.exit_status, str(error)
    except KeyboardInterrupt:
        return INTERRUPTED, "interrupted"
    return (status if isinstance(status, int) else VERIFIED), ""
