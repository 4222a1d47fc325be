"""Tests of one program, judged on this side: the program's process gets inputs only, never an expected value or a test.

    function   plain asserts         inputs to `guest`, answers judged by `compare`         (functions)
               everything else       a second job runs the test text (`checker`), its calls relayed to the first     (relay)
    program    stdin and stdout      one job an example, its output compared here           (examples)
               not Python            before that, one job that compiles or checks it        (compiled)

So leaving with exit code 0, patched equality or builtins, walked frames, a forged frame on the channel change a program's own
answers at most. What a program can still do is behave differently by input: only tests it has not seen can tell.
"""

from __future__ import annotations

from treewright.core.errors import UserError
from treewright.core.languages import full_name
from treewright.core.task import CodeTask
from treewright.sandbox.base import Limits, Sandbox
from treewright.sandbox.judging.examples import SameOutput, run_examples, same_lines, same_tokens
from treewright.sandbox.judging.functions import run_functions
from treewright.sandbox.judging.report import Report, TestResult

__all__ = ["Report", "SameOutput", "TestResult", "run_tests", "same_lines", "same_tokens"]

_LIMITS = Limits()


async def run_tests(
    sandbox: Sandbox,
    program: str,
    task: CodeTask,
    *,
    limits: Limits = _LIMITS,
    same_output: SameOutput = same_lines,
) -> Report:
    """Run the visible tests of `task` against `program`.

    A test that ends the program's process costs that test alone: the program is loaded again for the next. Without tests the
    program is only loaded (in other languages than Python: built), and `Report.error` tells whether that went well.

    Args:
        sandbox: where the program runs.
        program: its source, in the task's language.
        task: its tests; `time_limit_s` is the wall time of each call of a function, of each run of a whole program. Loading
            has as much, and 2 s at least; building has limits of its own.
        limits: memory, disk, output, processes and descriptors of each job. Its times are added to what the tests may take.
        same_output: when an output is right, for whole programs.

    Raises:
        UserError: the task's tests cannot be understood (`InvalidTest`); its language is not known, is not installed where
            programs run, or does not go with tests of a function.
        SandboxUnavailable: the sandbox cannot run the program, also at a second attempt, or no programs in its language.
    """
    other = full_name(task.language) != "python"
    if other and task.tests:
        raise UserError(f"Tests of a function are Python code, but language is {task.language!r}: give examples instead.")
    if other or task.kind == "program":
        return await run_examples(sandbox, program, task, limits, same_output)
    return await run_functions(sandbox, program, task, limits)
