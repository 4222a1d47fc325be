"""A whole program in a language other than Python: built once in a job of its own, then run as a command.

What a build prints is the program in its runnable form; the build's folder is gone by then. Both it and the compiler's words
are as little trusted as the text they come from: they are carried, and never opened here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from treewright.core.errors import SandboxUnavailable, UserError
from treewright.sandbox.base import Exit, Job, Limits, Sandbox
from treewright.sandbox.judging.messages import clean
from treewright.sandbox.judging.session import Verdict
from treewright.sandbox.languages import ABSENT, LANGUAGES, NOWHERE_TO_RUN, Language

_MIB = 1 << 20
_MAX_MESSAGE = 4000
_PYTHON_ONLY = ("landlock",)
#: The folders of "/tmp/x/program.js:1" and of "file:///usr/include/c++/12/vector"; nothing in "a/b" and "https://a/b".
_FOLDERS = re.compile(r"(?:\bfile://|(?<![\w.:/]))/(?:[^\s/:()'\"]+/)+(?=[^\s/:()'\"])")


@dataclass(frozen=True, slots=True)
class Unsound:
    """A program that was not built: "error" with what the compiler says, or the limit that building it went past."""

    verdict: Verdict
    detail: str


async def ended(sandbox: Sandbox, job: Job) -> Exit:
    """How `job` ended, at the second attempt if it could not be run at the first.

    Raises:
        SandboxUnavailable: it could not be run twice.
    """
    for _ in range(2):
        async with sandbox.start(job) as process:
            outcome = await process.wait()
        if outcome.status != "unavailable":
            return outcome
    raise SandboxUnavailable(f"The sandbox cannot run programs ({sandbox.level}): {outcome.detail}.")


async def build(sandbox: Sandbox, program: str, name: str, limits: Limits) -> Job | Unsound:
    """Build `program` and say how to run it: a job that lacks only its input.

    Args:
        sandbox: where it is built, and will be run.
        program: its text.
        name: of its language, in full.
        limits: of each run. Beside them it gets what its runtime takes for itself, and room for the file it is.

    Raises:
        UserError: the language is not installed where programs run.
        SandboxUnavailable: no program but Python's can be run there, or none at all.
    """
    if sandbox.level in _PYTHON_ONLY:
        raise SandboxUnavailable(
            f"Programs in {name} cannot be built or run at level {sandbox.level}, which runs Python only: "
            "use --sandbox namespaces, or --sandbox process for programs that you trust."
        )
    language = LANGUAGES[name]
    files = {path.name: path.read_bytes() for path in language.beside}
    files[language.file] = program.encode("utf-8", "surrogatepass")
    outcome = await ended(sandbox, Job(command=("sh", "-c", language.script), files=files, limits=language.limits))
    if outcome.code == ABSENT:
        raise UserError(
            f"Programs in {name} need {language.needs}, which is not found where programs run (level {sandbox.level}): "
            f"install it, such as by `apt install {language.package}`, or use another language."
        )
    if outcome.code == NOWHERE_TO_RUN:
        raise SandboxUnavailable(
            f"Programs in {name} cannot be run in the folder for temporary files (level {sandbox.level}), which is mounted "
            "noexec: set TMPDIR to one that is not."
        )
    return _runs(language, outcome.stdout, limits) if outcome.status == "ok" else _unsound(outcome)


def _runs(language: Language, built: bytes, limits: Limits) -> Job:
    held = replace(
        limits,
        memory_mb=limits.memory_mb + language.runtime_mb,
        disk_mb=limits.disk_mb + -(-len(built) // _MIB),
    )
    script = language.run.format(memory=limits.memory_mb)
    return Job(command=("sh", "-c", script), files={language.built: built}, limits=held)


def _unsound(outcome: Exit) -> Unsound:
    if outcome.status == "output":
        return Unsound("output", "the built program is too large")
    if outcome.status != "ok" and outcome.status != "error":
        return Unsound(outcome.status, f"building it: {outcome.detail}")
    said = last_words(outcome.stderr[:_MAX_MESSAGE])
    return Unsound("error", said or f"building it: {outcome.detail}")


def last_words(stderr: bytes) -> str:
    """What a compiler or a program wrote, fit for reports, the same on every machine: without the folders files are in."""
    return clean(_FOLDERS.sub("", stderr.decode("utf-8", "replace").strip()))


def out_of_memory(outcome: Exit, name: str) -> Exit:
    """`outcome` of a run, as "memory" if the program ended itself because it got no more, which its last words tell."""
    full = LANGUAGES[name].full.encode()
    if outcome.status == "error" and full and full in outcome.stderr:
        return replace(outcome, status="memory", detail="it ran out of memory")
    return outcome
