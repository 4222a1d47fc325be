from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.sandbox.judging.encoding import encode
from treewright.sandbox.judging.messages import Loaded, Raised, Unsent, Value, clean, read_reply
from treewright.sandbox.judging.values import Malformed


def test_replies_are_read() -> None:
    assert read_reply(encode(["value", [1]])) == Value([1])
    assert read_reply(encode(["unsendable", "too large"])) == Unsent("too large")
    assert read_reply(encode(["loaded", [["f", "function", ""]], ["f", "g"]])) == Loaded((("f", "function", ""),), ("f", "g"))
    raised = read_reply(encode(["raised", ["KeyError", "LookupError"], [1], "1", "  File ..."]))
    assert raised == Raised(("KeyError", "LookupError"), "1", "  File ...")
    assert str(raised) == "KeyError: 1\n  File ..."
    assert str(Raised(("E",), "", "")) == "E"


@pytest.mark.parametrize(
    "forged",
    [
        "pass",
        [],
        ["value"],
        ["value", 1, 2],
        ["result", 0, "pass"],
        ["raised", [], [], "", ""],
        ["raised", [1], [], "", ""],
        ["raised", ["E"], [], 1, ""],
        ["unsendable", 1],
        ["loaded", [["f"]], []],
        ["loaded", {}, []],
        ["ask", 1, [], {}],
    ],
)
def test_anything_else_is_refused(forged: object) -> None:
    with pytest.raises(Malformed):
        read_reply(encode(forged))


@given(st.text(st.characters(exclude_categories=())))
def test_clean_text_can_be_written_anywhere(text: str) -> None:
    found = clean(text)
    assert found.encode("utf-8") is not None
    assert all(character in "\n\t" or character.isprintable() or ord(character) >= 0xA0 for character in found)
    assert clean("plain é text\n\tas it is") == "plain é text\n\tas it is"
    assert clean("\x1b[2J\ud800\x00") == "\\x1b[2J\\ud800\\x00"
