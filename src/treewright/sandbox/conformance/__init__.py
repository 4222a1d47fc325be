"""What every sandbox must do. Each case is a coroutine over a sandbox, named after what must hold.

An adapter's tests run all cases; `treewright sandbox` runs them on the sandbox it has chosen. Cases that need what a strict
adapter refuses unless asked (new processes) ask for it, and also hold where it is refused still.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from treewright.sandbox.base import ChannelClosed, Sandbox
from treewright.sandbox.conformance import ending, keeping, stopping

Factory = Callable[[], AbstractAsyncContextManager[Sandbox]]
Case = Callable[[Sandbox], Awaitable[None]]

#: Only for adapters that can run commands beside Python.
COMMAND_CASES: tuple[Case, ...] = (keeping.runs_a_command, keeping.says_which_command_is_missing)
CASES: tuple[Case, ...] = (
    ending.ends_well,
    ending.tells_the_exit_code,
    ending.tells_the_signal_of_a_crash,
    ending.shows_an_uncaught_exception,
    ending.refuses_what_is_not_python,
    ending.is_the_main_module,
    ending.gives_standard_input_and_then_its_end,
    ending.has_empty_input_by_default,
    ending.keeps_bytes_as_they_are,
    ending.ends_a_flood_of_output,
    ending.allows_output_up_to_the_cap,
    ending.keeps_output_of_what_it_ends,
    stopping.ends_at_the_wall_limit,
    stopping.ends_at_the_processor_limit,
    stopping.cannot_be_outstayed_by_masking_signals,
    stopping.kills_children_with_the_job,
    stopping.kills_children_that_outlive_the_program,
    stopping.is_not_held_up_by_a_child_that_keeps_its_pipes,
    stopping.leaves_nothing_when_the_block_is_left,
    stopping.leaves_nothing_when_cancelled,
    stopping.can_be_killed,
    stopping.keeps_its_outcome_when_killed_too_late,
    keeping.hides_the_environment,
    keeping.passes_no_descriptor_on,
    keeping.has_a_private_folder_with_its_files,
    keeping.carries_frames_both_ways,
    keeping.keeps_frames_apart,
    keeping.refuses_frames_that_are_too_long,
    keeping.survives_half_a_frame,
    keeping.resumes_a_receive_that_was_given_up,
    keeping.runs_trusted_text_alike,
    keeping.ends_at_the_memory_limit,
    keeping.bounds_the_size_of_files,
    keeping.bounds_open_descriptors,
    keeping.allows_threads,
    keeping.runs_jobs_side_by_side,
    keeping.leaves_no_descriptor_in_the_host,
    keeping.has_a_level,
)


def run_case(case: Case, factory: Factory) -> None:
    """Run one case over a sandbox of `factory`."""

    async def run() -> None:
        async with factory() as sandbox:
            await case(sandbox)

    asyncio.run(run())


async def check(sandbox: Sandbox) -> dict[str, str]:
    """Run every case on a sandbox: the name of the case in words -> what went wrong, "" for nothing.

    Raises:
        SandboxUnavailable: it runs nothing at all.
    """
    commands = COMMAND_CASES if sandbox.level != "landlock" else ()
    found: dict[str, str] = {}
    for case in CASES + commands:
        name = getattr(case, "__name__", "case").replace("_", " ")
        try:
            await asyncio.wait_for(case(sandbox), 60)
        except (AssertionError, ChannelClosed, OSError, TimeoutError) as fault:
            found[name] = str(fault).strip().splitlines()[0] if str(fault).strip() else type(fault).__name__
        else:
            found[name] = ""
    return found
