"""The private working folder of one job of the `process` adapter."""

from __future__ import annotations

import asyncio
import errno
import secrets
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Exit

# Shortages of the host that may be over in a moment, as against a folder that cannot be used at all.
TRANSIENT = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT})


@asynccontextmanager
async def work_folder(parent: Path | None, files: Mapping[str, bytes]) -> AsyncIterator[Path | Exit]:
    """A new folder under `parent` that holds `files`; an `Exit` if the host is short of something; removed afterwards.

    Raises:
        SandboxUnavailable: no folder can be made there.
    """
    folder: Path | None = None
    try:
        try:
            folder = _made(parent, files)
        except OSError as error:
            if error.errno not in TRANSIENT:
                place = error.filename or parent or "the folder for temporary files"
                raise SandboxUnavailable(f"The sandbox cannot write to {place}: {error.strerror}.") from error
            yield Exit("unavailable", detail=f"the host cannot make a working folder: {error.strerror}")
            return
        yield folder
    finally:
        if folder is not None:
            await _remove(folder)


def _made(parent: Path | None, files: Mapping[str, bytes]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="treewright-", dir=parent)).resolve()
    try:
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError:
        _remove_tree(folder)
        raise
    return folder


async def _remove(folder: Path) -> None:
    if not _was_empty(folder):
        await asyncio.shield(asyncio.to_thread(_remove_tree, folder))


def _was_empty(folder: Path) -> bool:
    """Remove the folder if it is empty, as it nearly always is, without a thread."""
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def _remove_tree(folder: Path) -> None:
    """Remove what a hostile program may have made, such as folders without permissions.

    Each folder is moved up before it is emptied, for they may be nested deeper than Python recurses or a path may be long.
    """
    moved = f".{secrets.token_hex(8)}-"
    count = 0
    with suppress(OSError):
        while below := list(folder.iterdir()):
            for path in below:
                if path.is_symlink() or not path.is_dir():
                    path.unlink()
                    continue
                path.chmod(0o700)
                for inner in path.iterdir():
                    if inner.is_symlink() or not inner.is_dir():
                        inner.unlink()
                    else:
                        inner.chmod(0o700)
                        inner.rename(folder / f"{moved}{count}")
                        count += 1
                path.rmdir()
        folder.rmdir()
