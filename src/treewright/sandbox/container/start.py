"""From the engine's command line to a container that has shown how it is confined and been sent its job."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from contextlib import ExitStack

from treewright.sandbox.base import Job
from treewright.sandbox.container import parcel
from treewright.sandbox.container.client import Client
from treewright.sandbox.container.engine import Engine, Plan
from treewright.sandbox.container.held import missing
from treewright.sandbox.container.run import ContainerRun
from treewright.sandbox.jail.syscalls import this_machine

_PACKET = 1 << 16


async def begin(engine: Engine, plan: Plan, job: Job, *, within_s: float) -> ContainerRun | str:
    """Start the container of `plan` and send it `job`.

    Args:
        engine: the engine.
        plan: the container.
        job: what is to run in it.
        within_s: seconds it has for that.

    Returns:
        The running job, or why there is none.

    Raises:
        OSError: the host cannot make a socket or start a process.
    """
    with ExitStack() as ours:
        listener = _listener(plan, ours)
        client = Client(engine, plan)
        try:
            run = await _met(listener, client, plan, job, within_s, ours)
        except BaseException:
            await client.leave(patience_s=0)
            raise
        if isinstance(run, str):
            cancelled = await client.leave(patience_s=0)
            if cancelled:
                raise cancelled
        return run


async def _met(
    listener: socket.socket, client: Client, plan: Plan, job: Job, within_s: float, ours: ExitStack
) -> ContainerRun | str:
    try:
        async with asyncio.timeout(within_s):
            if not await _readable(listener, client):
                return f"the container did not start: {client.reason()}"
            line = ours.enter_context(listener.accept()[0])
            line.setblocking(False)
            await _readable(line, client)
            said = line.recv(_PACKET)
        if not said:
            return f"the container did not start: {client.reason()}"
        if wrong := missing(json.loads(said), plan.bounds(this_machine())):
            return wrong
        return ContainerRun(client, job, parcel.send(job, line, ours), closing=ours)
    except TimeoutError:
        return f"the container did not start within {within_s:g} s"
    except OSError as error:
        return f"the container was lost, or the host is short of something: {error.strerror}"


async def _readable(end: socket.socket, client: Client) -> bool:
    """Wait until something can be read, or the client has ended. Whether something can."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[int] = loop.create_future()

    def tell() -> None:
        loop.remove_reader(end)
        ready.set_result(0)

    loop.add_reader(end, tell)
    try:
        await asyncio.wait([ready, client.ended], return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_reader(end)
    return ready.done()


def _listener(plan: Plan, ours: ExitStack) -> socket.socket:
    """A socket that the container finds in its folder. Its name cannot be guessed, and its folder not be listed."""
    listener = ours.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    folder = os.open(plan.meeting, os.O_PATH | os.O_DIRECTORY)
    ours.callback(os.close, folder)
    listener.bind(f"/proc/self/fd/{folder}/{plan.socket}")  # subtle: addresses end at 107 bytes, paths of folders do not
    (plan.meeting / plan.socket).chmod(0o666)
    plan.meeting.chmod(0o711)
    listener.listen(1)
    listener.setblocking(False)
    return listener
