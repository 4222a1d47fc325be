"""The command line. `main` is the entry point; each command lives in its own file and is loaded when it is called."""

from __future__ import annotations

import os
import sys

#: Exit statuses, the same for every command.
VERIFIED, UNVERIFIED, WRONG_INPUT, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: list[str] | None = None) -> None:
    """Run `treewright` with `arguments` (the process's own when None) and end the process with the exit status."""
    from cyclopts import CycloptsError

    from treewright.cli.app import app
    from treewright.core.errors import TreewrightError

    try:
        status = app(arguments, exit_on_error=False, print_error=True, result_action="return_value")
    except CycloptsError:  # printed already, with the option it is about
        status = WRONG_INPUT
    except TreewrightError as error:
        print(f"treewright: {error}", file=sys.stderr)
        status = error.exit_status
    except KeyboardInterrupt:
        print("treewright: interrupted", file=sys.stderr)
        status = INTERRUPTED
    except BrokenPipeError:  # the reader of our output is gone (`treewright runs | head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = INTERRUPTED
    sys.exit(status if isinstance(status, int) else 0)
