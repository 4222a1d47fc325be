"""The sandbox for machines that have a container engine and nothing better: a container for each job, by docker or podman.

Slow, since a container is started for each run (0.2 s to 1 s), and taken by itself only where `namespaces` and `landlock` do
not work. The container: no network, a root that cannot be written, no capability and none to be gained, a user of its own that
is nobody's, the engine's system call filter and ours on top of it, a small private `/tmp`, bounds on memory (without swap),
tasks, processor time, file size and descriptors, and no environment. Process 1 in it is ours (`boot`): it reports how the
program ended, and the container ends with it, also when the host hangs up or dies.

**Nothing rests on the command line alone.** Each container says how it is confined before it is given a program, and the host
refuses one with an option that the engine could not enforce (`held`), as without control groups.

**Not covered.** The engine itself: docker's runs as root, and who may start containers is root on the machine. Processes and
threads cannot be counted apart: a job that is allowed processes has 64 tasks more. Processor time is bounded for each process,
not for their sum; with podman the number of files by memory alone. The image is trusted, and needs Python 3.9 or newer as
`python3`, for `Job.command` too, and a `/tmp` that everybody may write. Where SELinux confines containers, they cannot reach
the host's socket and no job starts. Linux only, with an engine on this machine.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from treewright.core.errors import SandboxUnavailable
from treewright.sandbox.base import Exit, Job, Process
from treewright.sandbox.capture import NeverRan
from treewright.sandbox.container.engine import EngineName, Plan, find, new_name, new_user
from treewright.sandbox.container.run import ContainerRun
from treewright.sandbox.container.start import begin
from treewright.sandbox.workfolder import TRANSIENT, work_folder

DEFAULT_IMAGE = "python:3.12-slim"
_START_S = 60.0
_OWN = Path(__file__).parent
_CODE = {
    "container": (_OWN / "boot.py", _OWN / "facts.py"),
    "inside": (_OWN.parent / "inside" / "linux.py", _OWN.parent / "inside" / "program.py"),
}


class ContainerSandbox:
    """Runs each job in a container of its own. See the module for what that does and does not protect.

    Args:
        engine: "docker" or "podman".
        image: has Python 3.9 or newer and whatever else the programs need. Never pulled.
        folder: where sockets are put, for the engine to find them. Default: the system's folder for temporary files.
        start_s: seconds that a container may take to start. They do not count against its job's limits.

    Raises:
        SandboxUnavailable: the engine is not installed or does not run, or has not got the image. Asking takes some 0.2 s.
    """

    def __init__(
        self, engine: EngineName, *, image: str = DEFAULT_IMAGE, folder: Path | None = None, start_s: float = _START_S
    ) -> None:
        self._engine, self._image, self._folder, self._start_s = find(engine), image, folder, start_s
        self._engine.check(image)
        self._engine.remove_leftovers()
        self._code = _lay_out(folder)
        self._removing = weakref.finalize(self, shutil.rmtree, self._code, ignore_errors=True)

    @property
    def level(self) -> str:
        """Name of the engine."""
        return self._engine.name

    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        """Run `job` until the block is left. See `Sandbox.start`."""
        return self._run(job)

    def close(self) -> None:
        """Remove the folder with what is mounted into containers. Also done when this object is collected."""
        self._removing()

    @asynccontextmanager
    async def _run(self, job: Job) -> AsyncIterator[Process]:
        async with work_folder(self._folder, {}) as folder:
            begun = folder.detail if isinstance(folder, Exit) else await self._begin(job, folder)
            if isinstance(begun, str):
                yield NeverRan(begun)
                return
            try:
                yield begun
            finally:
                await begun.close()

    async def _begin(self, job: Job, folder: Path) -> ContainerRun | str:
        plan = Plan(
            name=new_name(),
            image=self._image,
            user=new_user(),
            limits=job.limits,
            executable=bool(job.command),
            code=self._code,
            meeting=folder,
            socket=secrets.token_hex(16),
        )
        try:
            return await begin(self._engine, plan, job, within_s=self._start_s)
        except OSError as error:
            if error.errno in TRANSIENT:
                return f"the host cannot start a container: {error.strerror}"
            raise SandboxUnavailable(f"{self._engine.name} cannot be started here: {error.strerror}.") from error


def _lay_out(parent: Path | None) -> Path:
    """A folder with what runs first in a container, as the packages it is imported from, for the container's user to read.

    Raises:
        SandboxUnavailable: no folder can be made there.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="treewright-", dir=parent)).resolve()
        for package, modules in _CODE.items():
            below = folder / "treewright" / "sandbox" / package
            below.mkdir(parents=True)
            for module in modules:
                shutil.copyfile(module, below / module.name)
            for package_folder in (below, *below.parents[:2]):  # else a treewright of the image would come first
                (package_folder / "__init__.py").touch()
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    except OSError as error:
        raise SandboxUnavailable(f"The sandbox cannot write to {parent or 'its folder'}: {error.strerror}.") from error
    return folder
