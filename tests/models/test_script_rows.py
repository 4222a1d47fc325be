"""Reading a script: every wrong line is named, with what is wrong."""

from pathlib import Path

import pytest

from treewright.core.errors import UserError
from treewright.models.script_rows import Row, read_rows


def read(tmp_path: Path, text: str | bytes) -> list[Row]:
    path = tmp_path / "script.jsonl"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_rows(path)


def test_all_keys_are_read_and_empty_lines_skipped(tmp_path: Path) -> None:
    line = '{"when": "a.b", "reply": "r", "latency_s": 0.5, "fail": "429", "retry_after": 2}'
    assert read(tmp_path, f'\n{line}\r\n\n{{"reply": ""}}\n') == [Row("r", "a.b", 0.5, "429", 2.0), Row("")]


def test_a_byte_order_mark_and_line_separators_inside_texts_do_no_harm(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbf" + '{"reply": "a\u2028b"}'.encode()) == [Row("a\u2028b")]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not JSON"),
        ("[1]", "a row is an object"),
        ('{"reply": 1}', "'reply' must be a text"),
        ('{"wehn": "x", "reply": "y"}', "did you mean 'when'"),
        ('{"zzz": 1}', "a row may have when, reply"),
        ('{"when": "(", "reply": "y"}', "no regular expression"),
        ('{"when": "x"}', 'needs a "reply" or a "fail"'),
        ('{"reply": "x", "latency_s": -1}', "'latency_s' must be a number of seconds"),
        ('{"reply": "x", "latency_s": true}', "'latency_s' must be a number of seconds"),
        ('{"reply": "x", "latency_s": NaN}', "'latency_s' must be a number of seconds"),
        ('{"fail": "404"}', "'fail' is '404'; it may be 429, 500, cut, hang"),
        ("[" * 100_000, "line 2"),
    ],
)
def test_a_wrong_line_is_named_with_what_is_wrong(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path, f'{{"reply": "good"}}\n{line}\n')
    assert "script.jsonl, line 2: " in str(caught.value)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_binary_or_empty_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.jsonl cannot be read: No such file"):
        read_rows(tmp_path / "nowhere.jsonl")
    with pytest.raises(UserError, match=r"script\.jsonl is not UTF-8"):
        read(tmp_path, b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"script\.jsonl has no rows"):
        read(tmp_path, "\n\n")
