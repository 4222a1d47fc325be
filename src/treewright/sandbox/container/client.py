"""The engine's client as a process of the host, for as long as a container lasts."""

from __future__ import annotations

import asyncio
import os
import subprocess
from contextlib import ExitStack
from typing import Final

from treewright.sandbox.container.engine import Engine, Plan, last_line

PATIENCE_S: Final = 20.0  # for the engine to clear away a container whose process 1 has left


class Client:
    """One `ENGINE run`.

    Args:
        engine: the engine.
        plan: the container it is to start.

    Raises:
        OSError: the host cannot start a process.
    """

    def __init__(self, engine: Engine, plan: Plan) -> None:
        self._engine, self._name = engine, plan.name
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        with ExitStack() as closing:
            self._errors = os.memfd_create("errors")
            closing.callback(os.close, self._errors)
            self._process = subprocess.Popen(
                engine.run(plan),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,  # an interrupt from the keyboard is the host's to handle
            )
            closing.callback(self._put_away)
            pidfd = os.pidfd_open(self._process.pid)
            closing.callback(os.close, pidfd)
            self._loop.add_reader(pidfd, self._finished, pidfd)
            closing.callback(self._loop.remove_reader, pidfd)
            self._closing = closing.pop_all()

    def _finished(self, pidfd: int) -> None:
        self._loop.remove_reader(pidfd)
        self.ended.set_result(self._process.wait())

    def _put_away(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()

    def reason(self) -> str:
        """Why it ended, as far as it said."""
        said = last_line(os.pread(self._errors, 1 << 16, 0).decode(errors="replace"))
        return said or (f"{self._engine.name} ended with exit code {self.ended.result()}" if self.ended.done() else "")

    async def leave(self, *, patience_s: float) -> asyncio.CancelledError | None:
        """Wait until the container is gone, and see to it if that takes too long.

        Args:
            patience_s: seconds the engine has to clear it away by itself.

        Returns:
            The cancellation, if one came meanwhile, for the caller to raise when all is put away.
        """
        leaving = asyncio.ensure_future(self._leave(patience_s))
        cancelled: asyncio.CancelledError | None = None
        while not leaving.done():
            try:
                await asyncio.wait([leaving])
            except asyncio.CancelledError as error:
                cancelled = error
        leaving.result()
        return cancelled

    async def _leave(self, patience_s: float) -> None:
        await asyncio.wait([self.ended], timeout=patience_s)
        if not self.ended.done() or self.ended.result() != 0:  # killed, say: then nobody has told about the container
            await asyncio.to_thread(self._engine.remove, self._name)
        self._closing.close()
