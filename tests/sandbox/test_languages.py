"""The table of languages. That programs in them run is shown in `judging/test_other_languages`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from treewright.core.languages import NAMES
from treewright.sandbox.languages import ABSENT, LANGUAGES, NOWHERE_TO_RUN, Language

every_language = pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)


def test_every_language_that_a_task_may_name_can_be_run() -> None:
    assert LANGUAGES.keys() | {"python"} == NAMES.keys()


@every_language
def test_its_texts_are_valid_shell(language: Language) -> None:
    for text in (language.script, language.run.format(memory=512)):
        subprocess.run(["sh", "-n", "-c", text], check=True)


@every_language
def test_a_build_without_its_compiler_says_so_before_it_reads_anything(language: Language, tmp_path: Path) -> None:
    ran = subprocess.run(["/bin/sh", "-c", language.script], env={"PATH": str(tmp_path)}, cwd=tmp_path, check=False)
    assert ran.returncode == ABSENT != NOWHERE_TO_RUN


@every_language
def test_the_files_of_ours_that_a_build_needs_are_there(language: Language) -> None:
    assert all(path.is_file() for path in language.beside)


@every_language
def test_each_process_of_a_build_has_its_memory_also_when_they_share(language: Language) -> None:
    limits = language.limits
    assert limits.memory_mb // (1 + limits.processes) == language.process_mb
    assert f"ulimit -d {language.process_mb * 1024}\n" in language.script
