"""Whole programs in languages other than Python, from text to verdict. A language that is not installed is skipped by name."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

import sandbox_homes
from treewright.cli.tasks import load_task
from treewright.core.errors import SandboxUnavailable, UserError
from treewright.core.task import CodeTask, Example
from treewright.roles.reading import read_program
from treewright.sandbox.base import Exit, Job, Limits, Process, Sandbox
from treewright.sandbox.capture import NeverRan
from treewright.sandbox.harness import Report, run_tests, same_tokens
from treewright.sandbox.judging.compiled import last_words
from treewright.sandbox.languages import LANGUAGES
from treewright.sandbox.namespaces import NamespaceSandbox
from treewright.sandbox.process import ProcessSandbox

EXAMPLE = Path(__file__).parents[3] / "examples" / "languages" / "longest-run"

#: Each reads numbers: of a positive first one, prints the sum of all; 0 makes it fail, a negative one makes it run forever.
SUMS = {
    "c": r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    long first, next, sum;
    if (scanf("%ld", &first) != 1 || first == 0) { fprintf(stderr, "bad first\n"); abort(); }
    while (first < 0) { }
    for (sum = first; scanf("%ld", &next) == 1; sum += next) { }
    printf("%ld\n", sum);
}
""",
    "c++": r"""
#include <iostream>
#include <stdexcept>
int main() {
    long first, next, sum;
    if (!(std::cin >> first) || first == 0) throw std::runtime_error("bad first");
    volatile bool forever = first < 0;
    while (forever) { }
    for (sum = first; std::cin >> next; sum += next) { }
    std::cout << sum << std::endl;
}
""",
    "javascript": r"""
const numbers = require('fs').readFileSync(0, 'utf8').split(/\s+/).filter(Boolean).map(Number)
if (!numbers[0]) throw new Error('bad first')
while (numbers[0] < 0) { }
console.log(numbers.reduce((sum, next) => sum + next))
""",
    "java": r"""
import java.io.*;
import java.util.*;
public class Main {
    record Pair(long first, long sum) { }
    public static void main(String[] arguments) throws IOException {
        StreamTokenizer in = new StreamTokenizer(new BufferedInputStream(System.in));
        List<Long> numbers = new ArrayList<>();
        while (in.nextToken() != StreamTokenizer.TT_EOF) numbers.add((long) in.nval);
        if (numbers.get(0) == 0) throw new IllegalStateException("bad first");
        while (numbers.get(0) < 0) { }
        System.out.println(new Pair(numbers.get(0), numbers.stream().mapToLong(x -> x).sum()).sum());
    }
}
""",
    "rust": r"""
use std::io::*;
fn main() {
    let mut text = String::new();
    stdin().read_to_string(&mut text).unwrap();
    let numbers: Vec<i64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    if numbers[0] == 0 { panic!("bad first"); }
    while numbers[0] < 0 { std::hint::spin_loop(); }
    println!("{}", numbers.iter().sum::<i64>());
}
""",
    "go": r"""
package main
import ("bufio"; "fmt"; "os")
func main() {
    in := bufio.NewReader(os.Stdin)
    var first, next, sum int
    fmt.Fscan(in, &first)
    if first == 0 { panic("bad first") }
    for first < 0 { }
    sum = first
    for { if _, err := fmt.Fscan(in, &next); err != nil { break }; sum += next }
    fmt.Println(sum)
}
""",
}
BIG = " ".join(map(str, range(1, 200_001)))
EXAMPLES = (
    Example("1 2\n", "3\n"),
    Example("1 2\n", "4"),
    Example("0", "0"),
    Example("-1", ""),
    Example(BIG, "20000100000"),
)


class Counting:
    """A sandbox that keeps the jobs it was asked for, and answers the first ones as it is told."""

    def __init__(self, inner: Sandbox, *never: str) -> None:
        self._inner, self._never = inner, list(never)
        self.jobs: list[Job] = []

    @property
    def level(self) -> str:
        return self._inner.level

    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        self.jobs.append(job)
        return _Given(NeverRan(self._never.pop(0))) if self._never else self._inner.start(job)


class _Given(AbstractAsyncContextManager[Process]):
    def __init__(self, process: Process) -> None:
        self._process = process

    async def __aenter__(self) -> Process:
        return self._process

    async def __aexit__(self, *_: object) -> None: ...


class Ending:
    """A sandbox in which every job ends in one way."""

    level = "scripted"

    def __init__(self, outcome: Exit) -> None:
        self._outcome = outcome

    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        return _Given(self)

    async def wait(self) -> Exit:
        return self._outcome

    async def send(self, frame: bytes) -> None: ...

    async def receive(self, max_bytes: int = 1 << 20) -> bytes:
        return b""

    def kill(self) -> None: ...


@pytest.fixture(scope="module")
def jail() -> Iterator[NamespaceSandbox]:
    with sandbox_homes.namespaces() as sandbox:
        yield sandbox


def report(sandbox: Sandbox, language: str, program: str, *examples: Example, seconds: float = 4.0) -> Report:
    task = CodeTask("p", examples=examples or (Example("", ""),), language=language, time_limit_s=seconds)
    try:
        return asyncio.run(run_tests(sandbox, program, task))
    except UserError as absent:
        pytest.skip(str(absent))


def test_there_is_a_program_in_each_language() -> None:
    assert SUMS.keys() == LANGUAGES.keys()


@pytest.mark.parametrize("language", SUMS)
def test_a_program_is_built_once_and_each_run_has_its_verdict(language: str, jail: NamespaceSandbox) -> None:
    counting = Counting(jail)
    found = report(counting, language, SUMS[language], *EXAMPLES, seconds=1.5)
    assert [item.verdict for item in found.results] == ["pass", "fail", "error", "timeout", "pass"], found
    assert len(counting.jobs) == 1 + len(EXAMPLES)
    assert found.error == ""
    assert found.results[1].actual == "3\n"
    assert "bad first" in found.results[2].detail
    assert "/tmp" not in found.results[2].detail
    assert "1.5 s" in found.results[3].detail
    assert found.results[3].seconds >= 1.0
    assert found.stdout == "3\n3\n20000100000\n"
    assert found.level == "namespaces"


def test_the_example_is_solved_by_the_second_program_of_its_script(jail: NamespaceSandbox) -> None:
    task = load_task(str(EXAMPLE.with_suffix(".toml")))
    replies = [json.loads(line)["reply"] for line in EXAMPLE.with_suffix(".jsonl").read_text().splitlines()]
    programs = [read_program(reply, language=task.language) for reply in replies if "```" in reply]
    assert task.language == "c++"
    assert [report(jail, "c++", program, *task.examples).passed for program in programs] == [2, 3]


@pytest.mark.parametrize("language", ["c", "javascript"])
def test_the_weakest_level_runs_them_too(language: str) -> None:
    found = report(ProcessSandbox(), language, SUMS[language], *EXAMPLES[:3])
    assert [item.verdict for item in found.results] == ["pass", "fail", "error"], found
    assert "treewright-" not in str(found)


@pytest.mark.parametrize(
    ("language", "program", "said"),
    [
        ("c", "int main(void) { return x; }", "program.c:1:25: error: 'x' undeclared"),
        ("c", "int helper(void) { return 0; }", "undefined reference to `main'"),
        ("c++", "#include <string>\nint main() { std::string s = 1; }", "program.cpp:2:"),
        ("javascript", "let x = ;", "SyntaxError: Unexpected token ';'"),
        ("java", "public class Main { int x = y; }", "Main.java:1: error: cannot find symbol"),
        ("java", "public class Other { }", "should be declared in a file named Other.java"),
        ("rust", "fn main() { x }", "program.rs:1:13"),
        ("rust", '#![crate_type = "lib"]', "`main` function not found"),
        ("go", "package main\nfunc main() { x }", "program.go:2:15: undefined: x"),
        ("go", "package other", "the compiler made nothing that can be run"),
    ],
)
def test_a_program_that_does_not_build_fails_every_test(language: str, program: str, said: str, jail: NamespaceSandbox) -> None:
    counting = Counting(jail)
    found = report(counting, language, program, *EXAMPLES[:2])
    plain = found.error.replace("\u2018", "'").replace("\u2019", "'")
    assert said in plain, plain
    assert "/tmp" not in found.error
    assert "/usr" not in found.error
    assert [(item.verdict, item.detail) for item in found.results] == [("error", found.error)] * 2
    assert found.pass_rate == 0.0
    assert len(counting.jobs) == 1


def test_without_examples_the_program_is_only_built(jail: NamespaceSandbox) -> None:
    def built(program: str) -> Report:
        return asyncio.run(run_tests(jail, program, CodeTask("p", language="c")))

    report(jail, "c", "int main(void) { }")
    assert (built("int main(void) { }").total, built("int main(void) { }").error) == (0, "")
    assert "expected" in built("int main(void) {").error


@pytest.mark.parametrize(
    ("language", "program", "verdicts"),
    [
        ("c++", "#include <vector>\nint main() { std::vector<char> v; for (;;) v.resize(v.size() + (1 << 24)); }", {"memory"}),
        ("javascript", "const kept = []; for (;;) kept.push(new Array(10000).fill(1))", {"memory", "error"}),
        ("java", "public class Main { public static void main(String[] a) { long[] x = new long[1 << 30]; } }", {"memory"}),
        ("c", '#include <stdio.h>\nint main(void) { for (;;) puts("xxxxxxxxxxxxxxxx"); }', {"output"}),
        ("c", "int main(void) { for (;;) { char x[1 << 20]; x[0] = 1; main(); } }", {"error", "timeout"}),
        ("c", "int main(void) { *(volatile int *) 0 = 1; }", {"error"}),
    ],
)
def test_a_limit_that_is_reached_is_the_verdict(
    language: str, program: str, verdicts: set[str], jail: NamespaceSandbox
) -> None:
    found = report(jail, language, program, Example("", "x"))
    assert found.error == ""
    assert found.results[0].verdict in verdicts, found


#: Attempts of a run on what is around it: each prints what it got, or "no".
ATTEMPTS = {
    "a socket": (
        "#include <sys/socket.h>",
        "socket(AF_INET, SOCK_STREAM, 0) < 0 && socket(AF_UNIX, SOCK_STREAM, 0) < 0 && socket(16, SOCK_RAW, 0) < 0",
    ),
    "a process": ("#include <unistd.h>", "fork() < 0"),
    "root's home": ("#include <dirent.h>", '!opendir("/root") && !fopen("/etc/shadow", "r") && !fopen("/root/.bashrc", "r")'),
    "the host's processes": ("#include <signal.h>", "kill(2, 0) && kill(getpid() + 1, 0)"),
    "the system": ("", '!fopen("/usr/lib/x", "w") && !fopen("/opt/x", "w") && !fopen("/x", "w")'),
}


@pytest.mark.parametrize("what", ATTEMPTS)
def test_a_compiled_program_reaches_nothing_of_the_host(what: str, jail: NamespaceSandbox) -> None:
    header, refused = ATTEMPTS[what]
    program = f'#include <stdio.h>\n#include <unistd.h>\n{header}\nint main(void) {{ puts(({refused}) ? "no" : "yes"); }}'
    found = report(jail, "c", program, Example("", "no"))
    assert found.all_passed, found


def test_a_compiled_program_fills_no_disk(jail: NamespaceSandbox) -> None:
    program = r"""
#include <stdio.h>
static char block[1 << 20];
int main(void) {
    long written = 0;
    for (int file = 0; file < 16; file++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", file);
        FILE *out = fopen(name, "w");
        setvbuf(out, NULL, _IONBF, 0);
        for (int i = 0; i < 60 && fwrite(block, 1, sizeof block, out) == sizeof block; i++) written++;
        fclose(out);
    }
    puts(written <= 64 ? "held" : "free");
}
"""
    found = report(jail, "c", program, Example("", "held"))
    assert found.all_passed or found.results[0].verdict == "memory", found


@pytest.mark.parametrize(
    "program",
    [
        '#include "/etc/shadow"\nint main(void) { }',
        '#include "/root/.bashrc"\nint main(void) { }',
        'asm(".incbin \\"/etc/shadow\\"");\nint main(void) { }',
        'asm(".incbin \\"/proc/1/environ\\"");\nint main(void) { return y; }',
    ],
)
def test_a_compiler_reads_nothing_of_the_host_into_its_program(program: str, jail: NamespaceSandbox) -> None:
    found = report(jail, "c", program, Example("", ""))
    assert not found.all_passed
    assert found.error
    assert "root:" not in found.error
    assert "export" not in found.error


def test_a_program_that_overwhelms_its_compiler_is_told_so(jail: NamespaceSandbox) -> None:
    bomb = "volatile char big[40 << 20] = {1};\nint main(void) { return big[0] - 1; }"
    found = report(jail, "c", bomb, Example("", ""))
    assert found.results[0].verdict == "output"
    assert found.error == "the built program is too large"


@pytest.mark.parametrize(
    ("outcome", "verdict", "said"),
    [
        (Exit("timeout", signal=9, detail="longer than 60 s"), "timeout", "building it: longer than 60 s"),
        (Exit("memory", code=1, detail="more than 9 MiB"), "memory", "building it: more than 9 MiB"),
        (Exit("error", signal=6, detail="crashed by signal SIGABRT"), "error", "building it: crashed by signal SIGABRT"),
    ],
)
def test_what_a_build_goes_past_is_the_programs(outcome: Exit, verdict: str, said: str) -> None:
    found = report(Ending(outcome), "rust", "", *EXAMPLES[:2])
    assert found.error == said
    assert [item.verdict for item in found.results] == [verdict] * 2


def test_a_build_that_could_not_start_is_tried_again_and_never_counted() -> None:
    counting = Counting(ProcessSandbox(), "the host is busy")
    assert report(counting, "c", SUMS["c"], EXAMPLES[0]).all_passed
    assert len(counting.jobs) == 3
    with pytest.raises(SandboxUnavailable, match="the host is busy"):
        report(Counting(ProcessSandbox(), *["the host is busy"] * 2), "c", SUMS["c"], EXAMPLES[0])


def test_a_language_that_is_not_installed_is_named_with_the_way_out() -> None:
    task = CodeTask("p", examples=EXAMPLES, language="golang")
    with pytest.raises(UserError, match=r"need go, which is not found .*level scripted.*apt install golang-go"):
        asyncio.run(run_tests(Ending(Exit("error", code=97)), "", task))


def test_a_folder_where_nothing_may_run_is_named_with_the_way_out() -> None:
    with pytest.raises(SandboxUnavailable, match=r"noexec: set TMPDIR"):
        asyncio.run(run_tests(Ending(Exit("error", code=98)), "", CodeTask("p", examples=EXAMPLES, language="c")))


def test_a_level_without_commands_is_named_with_the_way_out() -> None:
    task = CodeTask("p", examples=EXAMPLES, language="cpp")
    with sandbox_homes.landlock() as sandbox:
        counting = Counting(sandbox)
        with pytest.raises(SandboxUnavailable, match=r"c\+\+ .*landlock.*--sandbox namespaces"):
            asyncio.run(run_tests(counting, "", task))
        assert not counting.jobs


def test_outputs_are_compared_as_for_python(jail: NamespaceSandbox) -> None:
    program = '#include <stdio.h>\nint main(void) { printf("%.9f", 1 / 3.0); return 3; }'
    report(jail, "c", program)
    task = CodeTask("p", examples=(Example("", "0.3333"),), language="c")
    assert not asyncio.run(run_tests(jail, program, task)).all_passed
    assert asyncio.run(run_tests(jail, program, task, same_output=same_tokens(1e-3))).all_passed


def test_limits_of_the_caller_hold(jail: NamespaceSandbox) -> None:
    program = '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(malloc(100 << 20) ? "got" : "none"); }'
    report(jail, "c", program)
    for memory_mb, got in ((512, "got"), (64, "none")):
        task = CodeTask("p", examples=(Example("", got),), language="c")
        assert asyncio.run(run_tests(jail, program, task, limits=Limits(memory_mb=memory_mb))).all_passed


def test_the_program_itself_takes_no_room_from_its_files(jail: NamespaceSandbox) -> None:
    large = '#include <stdio.h>\nvolatile char big[3 << 20] = {1};\nint main(void) { puts("ran"); }'
    report(jail, "c", large)
    task = CodeTask("p", examples=(Example("", "ran"),), language="c")
    assert asyncio.run(run_tests(jail, large, task, limits=Limits(disk_mb=2))).all_passed


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("/tmp/treewright-x1/program.js:3", "program.js:3"),
        ("at Module (/tmp/program.js:1:2)", "at Module (program.js:1:2)"),
        ("file:///tmp/a.mjs:1", "a.mjs:1"),
        ("/usr/include/c++/12/vector:9: note", "vector:9: note"),
        ("1/2/3 and a/b https://x/y/z //x/y /one", "1/2/3 and a/b https://x/y/z //x/y /one"),
        ("\x1b[31mred", "\\x1b[31mred"),
    ],
)
def test_words_of_a_compiler_are_free_of_folders_and_controls(text: str, plain: str) -> None:
    assert last_words(text.encode()) == plain
