"""Streams that fail: what is shown on a screen may be lost, and nothing else."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

import pytest

from treewright.cli.streams import Screen, screen, silence


class Broken(StringIO):
    """A stream that fails from some write on."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.left = writes

    def write(self, text: str) -> int:
        self.left -= 1
        if self.left < 0:
            raise BrokenPipeError
        return super().write(text)

    def flush(self) -> None:
        if self.left < 0:
            raise OSError(28, "No space left on device")


def test_a_screen_shows_what_it_can() -> None:
    stream = Broken(2)
    shown = Screen(stream)
    assert [shown.write(text) for text in ("a", "bc", "d", "e")] == [1, 2, 1, 1]
    shown.flush()
    assert stream.getvalue() == "abc"


def test_a_console_on_a_broken_screen_neither_raises_nor_ends_the_process() -> None:
    console = screen(Broken(1))
    for line in ("first", "second", "third"):
        console.print(line)
    console.print("styled", style="bold")


def test_a_silenced_stream_takes_everything_and_gives_it_to_nobody(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("w") as file:
        file.write("kept\n")
        file.flush()
        silence(file)
        file.write("gone\n")
    assert path.read_text() == "kept\n"


def test_a_stream_of_a_closed_pipe_can_be_closed_once_it_is_silenced() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        stream.write("x")
        with pytest.raises(BrokenPipeError):
            stream.flush()
        silence(stream)


def test_a_stream_without_a_descriptor_is_left_alone() -> None:
    silence(StringIO())
