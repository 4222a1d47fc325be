"""The languages of whole programs besides Python: how a program is built, once, and how it is run, once for each test.

Both are shell texts that run in the sandbox (`judging.compiled`), so what counts is what is installed where programs run: in
/usr, and for level "namespaces" also where `jail.tools` finds a compiler. A build checks the program, and prints one file: what
is to be run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treewright.sandbox.base import Limits

ABSENT = 97  # exit codes of a build that never came to read the program
NOWHERE_TO_RUN = 98
_JAVA_BUILD = "Build.java"

_BUILD_S = 60.0
_DISK_MB = 512
_LARGEST_MB = 16
_MESSAGES = 16_000

# subtle: the probe is ours, so that no program whose compiler leaves something else can make the folder look unfit
_COMPILED = """
echo > probe && chmod +x probe && [ -x probe ] || exit {nowhere}
{compile} > messages 2>&1 || {{ head -c {most} messages >&2; exit 1; }}
[ -x program ] || {{ echo 'the compiler made nothing that can be run' >&2; exit 1; }}
exec cat program
"""
_CHECKED = """
{check} > messages 2>&1 || {{ head -c {most} messages >&2; exit 1; }}
exec cat {file}
"""
#: Not every sandbox makes files executable; where one does, no process is needed beside the program's own.
_RUN = "[ -x program ] || chmod +x program; exec ./program"


@dataclass(frozen=True, slots=True)
class Language:
    """One language.

    Args:
        file: what the program's text is called.
        needs: the program that builds it.
        package: how that is had on Debian; the names elsewhere are much the same.
        build: shell text that prints what `run` needs; its exit code is not 0 for a program that is not sound.
        built: what the printed file is called when it is run.
        run: shell text; {memory} stands for the MiB of the task.
        process_mb: MiB that each process of a build may have.
        processes: how many a build may have, threads counted too.
        runtime_mb: MiB that whatever runs the program takes beside the program's own.
        full: what it says on standard error when it ends because its memory is full; "" where that is not known.
        beside: files of ours that the build needs.
    """

    file: str
    needs: str
    package: str
    build: str
    built: str = "program"
    run: str = _RUN
    process_mb: int = 768
    processes: int = 4
    runtime_mb: int = 0
    full: str = ""
    beside: tuple[Path, ...] = ()

    @property
    def script(self) -> str:
        """The whole shell text of a build."""
        return f"command -v {self.needs} > /dev/null || exit {ABSENT}\nulimit -d {self.process_mb * 1024}\n{self.build}"

    @property
    def limits(self) -> Limits:
        """What a build may use.

        Where no cgroup counts the sum, each process gets its share of `memory_mb`. Where one does, the sum is loose, for the
        processes are a compiler's own and take turns; that each has `process_mb` is held by the script in both cases.
        """
        return Limits(
            wall_s=_BUILD_S,
            cpu_s=2 * _BUILD_S,
            memory_mb=self.process_mb * (1 + self.processes),
            disk_mb=_DISK_MB,
            output_kb=_LARGEST_MB * 1024,
            processes=self.processes,
            files=512,
        )


def _compiled(compile_: str) -> str:
    return _COMPILED.format(nowhere=NOWHERE_TO_RUN, compile=compile_, most=_MESSAGES)


_GO = "GOCACHE=$PWD/.cache GOTOOLCHAIN=local GOPROXY=off GO111MODULE=off CGO_ENABLED=0 GOMAXPROCS=2 go build -p 1"

#: Full name -> the language. Python is not here: its programs are jobs of their own kind, and nothing is built.
LANGUAGES = {
    "c": Language(
        file="program.c",
        needs="gcc",
        package="gcc libc6-dev",
        build=_compiled("gcc -std=gnu17 -O2 -o program program.c -lm"),
    ),
    "c++": Language(
        file="program.cpp",
        needs="g++",
        package="g++",
        build=_compiled("g++ -std=gnu++2a -O2 -o program program.cpp"),
        full="std::bad_alloc",
    ),
    "javascript": Language(
        file="program.js",
        needs="node",
        package="nodejs",
        build=_CHECKED.format(check="node --check program.js", file="program.js", most=_MESSAGES),
        built="program.js",
        run="exec node --max-old-space-size={memory} program.js",
        processes=24,
        runtime_mb=256,
        full="JavaScript heap out of memory",
    ),
    "java": Language(
        file="Main.java",
        needs="javac",
        package="default-jdk-headless",
        # one process that compiles and packs, for it has many threads and each would count as a process
        build=f"exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xmx512m {_JAVA_BUILD}",
        built="program.jar",
        run="exec java -XX:+UseSerialGC -XX:-UsePerfData -Xss16m -Xmx{memory}m -cp program.jar Main",
        process_mb=1024,
        processes=0,
        runtime_mb=384,
        full="java.lang.OutOfMemoryError",
        beside=(Path(__file__).parent / "judging" / _JAVA_BUILD,),
    ),
    "rust": Language(
        file="program.rs",
        needs="rustc",
        package="rustc",
        build=_compiled(
            "rustc --edition 2021 --crate-type bin -C opt-level=2 -C codegen-units=1 -C strip=symbols -o program program.rs"
        ),
        processes=32,  # its linker has a thread for each core, up to 16
        full="memory allocation of ",
    ),
    "go": Language(
        file="program.go",
        needs="go",
        package="golang-go",
        build=_compiled(f"{_GO} -ldflags='-s -w' -o program program.go"),
        run=f"export GOMAXPROCS=4; {_RUN}",  # else a thread for each core, of which there may be more than a run may have
        processes=32,
        full="out of memory",
    ),
}
