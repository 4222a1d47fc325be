"""`treewright export`: training data from recorded runs."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from treewright.cli import UNVERIFIED, VERIFIED
from treewright.cli.solve import FLAG

if TYPE_CHECKING:
    from treewright.exporting import Row


def export(
    *runs: str,
    form: Annotated[Literal["sft", "preference", "reward"], Parameter(name="--format")],
    out: Path | None = None,
    journal: Path | None = None,
    licence: str | None = None,
    quiet: Annotated[bool, FLAG] = False,
) -> int:
    """Write training data from recorded runs: JSON Lines in the chat format, without secrets and machine paths.

    Parameters
    ----------
    runs
        Their ids, the beginnings of them, or last.
    form
        sft: what was asked and answered on the way to the right programs. preference: a right program beside a wrong one of the
        same tree. reward: every program with the result of its execution.
    out
        Write to this file instead of standard output.
    journal
        The file. Default: TREEWRIGHT_JOURNAL, else the user's own.
    licence
        Goes into every row. Default: a note that it is not known.
    quiet
        Do not say how many rows there are.
    """
    from treewright.cli.options import find_run
    from treewright.cli.streams import Screen
    from treewright.core.errors import UserError
    from treewright.exporting import LICENCE
    from treewright.exporting import export as rows_of
    from treewright.journal.places import default_path, open_journal

    if not runs:
        raise UserError("name a run, as in: treewright export last --format sft")
    with closing(open_journal(journal or default_path(), must_exist=True)) as record:
        found = list(dict.fromkeys(find_run(record, run) for run in runs))
        with _lines_of(out) as file:
            count = _write(rows_of(record, found, form, licence=licence or LICENCE), file)
    if not quiet:
        note = f"{count} row{'s' * (count != 1)} of {len(found)} run{'s' * (len(found) != 1)}"
        Screen(sys.stderr).write(f"{note}; licence: {licence or LICENCE}\n")
    return VERIFIED if count else UNVERIFIED


def _write(rows: Iterable[Row], file: IO[str]) -> int:
    return sum(1 for row in rows if file.write(json_.dumps(row, ensure_ascii=False) + "\n"))


@contextmanager
def _lines_of(out: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that takes its name only when it is whole.

    Raises:
        UserError: the file cannot be written.
    """
    from treewright.core.errors import UserError

    if out is None:
        yield sys.stdout
        return
    if out.is_dir():
        raise UserError(f"the rows cannot be written to {out}, which is a folder: name a file in it")
    direct = out.exists() and not out.is_file()  # a pipe or a device must not be replaced
    part = out if direct else out.with_name(f"{out.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            yield file
        if not direct:
            part.replace(out)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserError(
            f"the rows cannot be written to {out} ({error.strerror}): name a file in a folder that is there"
        ) from error
    finally:
        if not direct:
            part.unlink(missing_ok=True)
