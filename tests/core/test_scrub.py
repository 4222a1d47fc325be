"""Scrubbing: nothing of this machine is left, and nothing else is touched."""

from __future__ import annotations

import getpass
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaky_machine import LEAKS, SECRETS, lived_in_by
from treewright.core.scrub import scrub


@pytest.fixture
def machine() -> Iterator[None]:
    with lived_in_by("mirabelle", "quetsche.lan", cwd="/scratch/orchard"):
        yield


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('File "/home/mirabelle/.venv/lib/python3.12/site-packages/numpy/x.py", line 3', 'File "numpy/x.py", line 3'),
        ('File "/usr/lib/python3/dist-packages/yaml/x.py"', 'File "yaml/x.py"'),
        ("in .venv/lib/python3.12/site-packages/numpy/x.py", "in numpy/x.py"),
        ('File "/usr/lib/python3.12/json/decoder.py", line 355', 'File "json/decoder.py", line 355'),
        ('File "/usr/lib/python3.12/lib-dynload/math.so"', 'File "math.so"'),
        ('File "/anywhere/at/all/program.py", line 1', 'File "program.py", line 1'),
        ('File "<string>", line 1', 'File "<string>", line 1'),
        ("No such file: '/tmp/tw-81/data.csv'", "No such file: 'data.csv'"),
        ("/home/mirabelle/a/b.py:3: bad", "b.py:3: bad"),
        ("cd /home/mirabelle && ls", "cd ~ && ls"),
        ("cd /home/mirabelle/", "cd ~/"),
        ("/scratch/orchard/x/y.py and /scratch/orchard", "y.py and orchard"),
        ("file:///tmp/a/b.txt", "b.txt"),
        ("host:/tmp/a/b.txt", "host:b.txt"),
        ("PATH=/usr/bin:/home/mirabelle/bin", "PATH=bin:bin"),
        (r"C:\Users\mirabelle\x\y.py, C:\Users\mirabelle", "y.py, ~"),
        ("mirabelle@quetsche.lan", "someone@someone"),
        ("on quetsche, as mirabelle", "on someone, as someone"),
        ("<function f at 0x7f3c55d0aa10>", "<function f at 0x…>"),
    ],
)
def test_what_tells_of_the_machine_goes_and_what_matters_stays(text: str, left: str) -> None:
    assert scrub(text) == left


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "a / b / c and 3/4 and a/b",
        "x = total/count/2  # and/or",
        "x //= 2; y = a//b//c",
        "s.split('/')[-1] + '/' + t.strip('//')",
        "re.sub(r'/+', '/', path)",
        "https://example.org/usr/lib/x and http://localhost:8000/home/mirabel",
        "https://docs.python.org/python3/library/json.html",
        "https://example.org/a/" + "site-packages/b.html",
        "GET /api/v1/users/5 and /data2/x",
        'assert simplify_path("/home/user/Documents/../Pictures") == "/home/user/Pictures"',
        'assert simplify_path("/a/./b/../../c/") == "/c"',
        "</usr/lib> <tmp/> </tmp>",
        "dir/tmp/x and ./tmp/x and ../usr/x and ~/tmp/x",
        "/tmpfile/x and /usrs/y and /home/mirabelles/x and /scratch/orchard-2/y",
        "/",
        "x & 0xFFFFFFFF ^ 0x5bd1e995",
        'print("x:\\n\\n\\t")',
        r"re.match(r'a:\d\w\s', s)",
        "mirabelles, quetschen",
        "1/2/2024 at 10:30",
        "a < b > c | d",
        "パス/usr は別",
    ],
)
def test_ordinary_text_urls_divisions_and_code_stay(text: str) -> None:
    assert scrub(text) == text


@pytest.mark.parametrize("name", ["root", "user", "runner", "Ubuntu", "bob", "vm", "", "main"])
def test_names_that_are_common_or_short_stay_words(name: str) -> None:
    text = f"the {name} of the tree; {name} = 3; def {name}(): pass"
    with lived_in_by(name, name):
        assert scrub(text) == text


def test_a_home_folder_is_known_wherever_it_is() -> None:
    with lived_in_by("mirabelle", "quetsche", home="/srv/people/m"):
        text = "/srv/people/m/x/y.py, /home/mirabelle/x/y.py, /Users/mirabelle, /home/other/x/y.py"
        assert scrub(text) == "y.py, y.py, ~, /home/other/x/y.py"


def test_a_name_with_odd_characters_is_taken_as_it_is() -> None:
    with lived_in_by("mira.belle", "quet-sche"):
        assert scrub("mira.belle miraxbelle quet-sche /home/mira.belle/x.py") == "someone miraxbelle someone x.py"


def test_a_user_without_a_name_and_a_machine_without_folders_are_no_trouble() -> None:
    def nobody() -> str:
        raise KeyError("uid")

    def homeless() -> Path:
        raise RuntimeError("no home")

    def gone() -> Path:
        raise FileNotFoundError("removed")

    with lived_in_by("mirabelle", "quetsche"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(getpass, "getuser", nobody)
        patch.setattr(Path, "home", homeless)
        patch.setattr(Path, "cwd", gone)
        assert scrub("mirabelle on quetsche at /tmp/a/b") == "mirabelle on someone at b"


def test_the_folder_for_temporary_files_is_scrubbed_wherever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/fast/disk/")
    with lived_in_by("mirabelle", "quetsche"):
        assert scrub("in /fast/disk/tw-1/data.csv or /fast/disk") == "in data.csv or disk"
    monkeypatch.setenv("TMPDIR", ".")
    with lived_in_by("mirabelle", "quetsche"):
        assert scrub("a . b ./c") == "a . b ./c"


def test_this_very_machine_is_scrubbed(tmp_path: Path) -> None:
    packages = sysconfig.get_paths()["purelib"]
    here = [str(tmp_path / "x.py"), str(Path.home() / "x.py"), f"{packages}/numpy/x.py", str(Path.cwd() / "x.py"), __file__]
    text = scrub("\n".join(f"{path} and '{path}' and ({path}), {path}:3" for path in here))
    assert [path for path in (*here, str(tmp_path), packages, str(Path.home()), str(Path.cwd())) if path in text] == []
    assert text.count("x.py") == 16


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("text", LEAKS)
def test_no_secret_is_left_in_what_turns_up_in_prompts(text: str) -> None:
    scrubbed = scrub(f"before {text} after\n{text}")
    assert [secret for secret in SECRETS if secret in scrubbed] == []


PIECES = [
    *LEAKS,
    "/home/mirabelle",
    "/tmp",
    "/",
    "/x",
    " ",
    "\n",
    "'",
    '"',
    ":",
    "mirabelle",
    "quetsche",
    "a",
    ".",
    "File ",
    "~",
]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_name_is_left_however_it_is_written(text: str) -> None:
    with lived_in_by("mirabelle", "quetsche.lan"):
        assert not re.search(r"\b(?:mirabelle|quetsche)\b", scrub(text))


@settings(deadline=None, max_examples=200)
@given(st.text(st.characters(exclude_characters="/\\")))
def test_text_without_any_path_stays(text: str) -> None:
    with lived_in_by("mirabelle", "quetsche.lan"):
        assert scrub(text) == text


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    ["/a", "/tmp/b", "/home/b ", "/usr/lib/python3", "a", " ", "/", 'File "/', "C:\\a\\", "0x", "file://", "~", ".", "@"],
)
def test_a_long_text_takes_no_long_time(piece: str) -> None:
    scrub(piece * (300_000 // len(piece)))
