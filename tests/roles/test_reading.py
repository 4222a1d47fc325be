"""Reading the replies of weak and strong models: what they say is understood, what they do not say is never made up."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treewright.roles.asking import Unreadable, without_thoughts
from treewright.roles.reading import read_decision, read_list, read_program, read_score

SORT_HASH = ["Sort the values, then scan.", "Count with a hash map."]


@pytest.mark.parametrize(
    "reply",
    [
        "1. Sort the values, then scan.\n2. Count with a hash map.",
        "1) Sort the values, then scan.\n2) Count with a hash map.",
        "(1) Sort the values, then scan.\n(2) Count with a hash map.",
        "[1] Sort the values, then scan.\n[2] Count with a hash map.",
        "<1> Sort the values, then scan.\n<2> Count with a hash map.",
        "1: Sort the values, then scan.\n2: Count with a hash map.",
        "1 - Sort the values, then scan.\n2 – Count with a hash map.",
        "1.Sort the values, then scan.\n2.Count with a hash map.",
        "1 Sort the values, then scan.\n2 Count with a hash map.",
        "1. Sort the values, then scan.\r\n2. Count with a hash map.\r\n",
        "  1. Sort the values, then scan.\n  2. Count with a hash map.",
        "1. Sort the values, then scan.\n   2. Count with a hash map.",
        "- 1. Sort the values, then scan.\n- 2. Count with a hash map.",
        "> 1. Sort the values, then scan.\n> 2. Count with a hash map.",
        "Sure! Here are two strategies:\n\n1. Sort the values, then scan.\n\n2. Count with a hash map.\n\nGood luck!",
        "**1.** Sort the values, then scan.\n**2.** Count with a hash map.",
        "**1. Sort the values, then scan.**\n**2. Count with a hash map.**",
        "**Strategy 1:** Sort the values, then scan.\n**Strategy 2:** Count with a hash map.",
        "**Strategy 1: Sort the values, then scan.**\n**Strategy 2: Count with a hash map.**",
        "### Strategy 1\nSort the values, then scan.\n\n### Strategy 2\nCount with a hash map.",
        "### Approach #1:\nSort the values, then scan.\n\n### Approach #2:\nCount with a hash map.",
        "Step 1. Sort the values, then scan.\nStep 2. Count with a hash map.",
        "🔹 Idea 1: Sort the values, then scan.\n🔹 Idea 2: Count with a hash map.",
        "- Sort the values, then scan.\n- Count with a hash map.",
        "* Sort the values, then scan.\n* Count with a hash map.",
        "• Sort the values, then scan.\n• Count with a hash map.",
        "1. Sort the values,\nthen scan.\n2. Count with\n   a hash map.",
        "```\n1. Sort the values, then scan.\n2. Count with a hash map.\n```",
        "```text\n1. Sort the values, then scan.\n2. Count with a hash map.",
        "1. Sort the values, then scan.\n```python\nx = sorted(v)\n# 3. not a strategy\n```\n2. Count with a hash map.",
        "1. Sort the values, then scan.\n   ```python\n   x = sorted(v)\n   ```\n2. Count with a hash map.",
        "1. Sort the values, then scan.\n~~~\n3. inside\n```\n4. inside\n~~~\n2. Count with a hash map.",
        "1. Sort the values, then scan.\n2. Count with a hash map.\n\n```python\ndef f():\n    # 1. unfinished",
        "1. ```python\n   x = 1\n   ```\n1. Sort the values, then scan.\n2. Count with a hash map.",
        "1. Sort the values, then scan.\n2. SORT the values, then scan.\n3. Count with a hash map.",
        "1. ...\n2. Sort the values, then scan.\n3. Count with a hash map.\n4.",
    ],
)
def test_the_items_of_a_list_are_read(reply: str) -> None:
    assert read_list(reply, 10) == SORT_HASH


def test_a_list_inside_an_item_belongs_to_it() -> None:
    reply = "1. **Two pointers**\n   1. Sort.\n   2. Move them.\n2. **Hash map**:\n   - count\n   - look up\n3. Brute force"
    assert read_list(reply, 10) == ["Two pointers 1. Sort. 2. Move them.", "Hash map: - count - look up", "Brute force"]
    assert read_list("- Two pointers\n  - sort\n  - move\n- Hash map", 10) == ["Two pointers - sort - move", "Hash map"]


@pytest.mark.parametrize(
    ("item", "plain"),
    [
        ("Square each: use x**2 and 2**k", "Square each: use x**2 and 2**k"),
        ("Write __init__ and __slots__", "Write __init__ and __slots__"),
        ("Call f(*args, **kwargs) once", "Call f(*args, **kwargs) once"),
        ("**DFS**, with a stack", "DFS, with a stack"),
        ("`heapq` for the **k largest**", "`heapq` for the k largest"),
        ("DP", "DP"),
        ("用哈希表", "用哈希表"),
        ("Сортировка и два указателя", "Сортировка и два указателя"),
        ("3-way partition, 1.5x faster", "3-way partition, 1.5x faster"),
    ],
)
def test_markup_goes_and_code_stays(item: str, plain: str) -> None:
    assert read_list(f"1. {item}\n2. Something else", 10)[0] == plain


@pytest.mark.parametrize(
    "reply",
    [
        "1、排序后扫描\n2、用哈希表",
        "1．排序后扫描\n2．用哈希表",
        "策略1：排序后扫描\n策略2：用哈希表",
        "١. 排序后扫描\n٢. 用哈希表",
    ],
)
def test_lists_in_other_scripts_are_read(reply: str) -> None:
    assert read_list(reply, 10) == ["排序后扫描", "用哈希表"]


def test_digits_elsewhere_begin_no_item() -> None:
    lines = ["Use two pointers that move", "2 steps at a time,", "1:30 or so,", "3.5 on average, in O(1)"]
    assert read_list("1. " + "\n".join(lines), 10) == [" ".join(lines)]
    assert read_list("1 Use a heap of\n5 values\n2 Search 2024 values", 10) == ["Use a heap of 5 values", "Search 2024 values"]


def test_no_more_items_than_wanted_are_read_and_none_is_long() -> None:
    assert read_list("\n".join(f"{k}. way {k}" for k in range(1, 31)), 4) == [f"way {k}" for k in range(1, 5)]
    assert [len(item) for item in read_list("1. " + "long " * 1000, 4)] == [600]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "\n\n",
        "I would sort the values.",
        "1.",
        "1. ...\n2. ---",
        "```python\n# 1. comment\nx = 1\n```",
        "1.5 times",
        "---\n***",
    ],
)
def test_where_there_is_no_list_none_is_read(reply: str) -> None:
    with pytest.raises(Unreadable, match="no numbered list"):
        read_list(reply, 10)


RIGHT = "def f(x):\n    return x + 1\n"
FENCED = f"```python\n{RIGHT}```"


@pytest.mark.parametrize(
    "reply",
    [
        FENCED,
        f"```\n{RIGHT}```",
        f"```py\n{RIGHT}```",
        f"``` Python\n{RIGHT}```",
        f"````python\n{RIGHT}````",
        f"~~~python\n{RIGHT}~~~",
        f"Here you are:\n\n{FENCED}\n\nIt adds one.",
        f"Sure! ```python\n{RIGHT}```",
        f"Here you are: ```python\n{RIGHT}```\nIt adds one.",
        f"```python\n{RIGHT}",
        f"```python\n{RIGHT}``` It adds one.\nDone.",
        FENCED.replace("\n", "\r\n"),
        f"{FENCED}\nUse it:\n```python\nprint(f(1))\nprint(f(2))\nprint(f(3))\nprint(f(4))\n```",
        f"```bash\npip install everything and much more than that\n```\n{FENCED}",
        f"First try:\n```python\ndef f(x):\n    return x\n```\nBut that is wrong:\n{FENCED}",
        f"```python\ndef f(x):\n    return x\n```python\n{RIGHT}```",
        "1. The program:\n\n   ```python\n   def f(x):\n       return x + 1\n   ```\n",
        "> ```python\n> def f(x):\n>     return x + 1\n> ```\n",
        f"<div>\n{FENCED}\n</div>",
        f"<think>\n```python\ndef f(x):\n    return 0\n```\n</think>\n{FENCED}",
        RIGHT,
        f"{RIGHT}\nThis is it",
        f"Sure, here is the program:\n\n{RIGHT}\nIt adds one to x, as asked.",
        f"from the statement we see that one is added.\n\n{RIGHT}\nNote: this is O(1)\nDone",
        RIGHT.replace("\n", "\r\n"),
    ],
)
def test_the_program_is_read(reply: str) -> None:
    assert read_program(without_thoughts(reply), "f") == RIGHT


@pytest.mark.parametrize("code", ["async def f(x):\n    pass\n", "class f:\n    pass\n", "f = max\n", "f: object = max\n"])
def test_a_block_defines_the_entry_point_in_several_ways(code: str) -> None:
    assert (
        read_program(f"```python\n{code}```\n```python\nf(1) == 2\nassert f(3)\nff = f(2)\ndef ff(f): return 1\n```", "f")
        == code
    )


def test_of_several_blocks_the_longest_in_the_language_is_the_program() -> None:
    reply = (
        "```python\nprint(input())\nprint(1)\n```\nIt prints:\n```\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n```\n```python\nx\n```"
    )
    assert read_program(reply) == "print(input())\nprint(1)\n"
    assert read_program("```c\nint x;\n```\n```\nsome longer text than that\n```", language="c") == "int x;\n"
    assert read_program("```\nshort\n```\n```\nlonger\n```") == "longer\n"


@pytest.mark.parametrize(
    ("language", "said"),
    [("c++", "cpp"), ("c++", "C++"), ("cpp", "c++"), ("JavaScript", "js"), ("go", "golang"), ("Python", "py")],
)
def test_a_block_may_call_its_language_by_another_name(language: str, said: str) -> None:
    assert read_program(f"```{said}\nx\n```\n```text\nlonger than that\n```", language=language) == "x\n"


def test_a_program_of_another_language_is_never_guessed_from_prose() -> None:
    with pytest.raises(Unreadable):
        read_program(RIGHT, language="rust")


def test_a_stray_tag_hides_no_fence() -> None:
    assert read_program("<div>\n```rust\nfn main() {}\n```\n", language="rust") == "fn main() {}\n"


def test_bare_code_begins_with_its_imports_and_constants() -> None:
    code = "import math\nMOD = 10**9 + 7\n\ndef f(x):\n    return x % MOD\n\nprint(f(int(input())))\n"
    assert read_program(f"The program is\n{code}", "f") == code
    assert (
        read_program("n, k = map(int, input().split())\nprint(n + k)\n") == "n, k = map(int, input().split())\nprint(n + k)\n"
    )


def test_bare_code_ends_where_the_prose_begins_however_much_of_it_there_is() -> None:
    prose = "\n".join(f"{k} is explained in this line of prose" for k in range(100))
    assert read_program(f"{RIGHT}{prose}", "f") == RIGHT


def test_bare_code_that_was_cut_short_is_read_as_far_as_it_is_valid() -> None:
    assert read_program(f"{RIGHT}\ndef g(x):\n    return (x +", "f") == RIGHT


def test_odd_escapes_in_a_program_warn_nobody() -> None:
    odd = 'import re\n\ndef f(x):\n    return re.split("\\d", x)\n'
    assert read_program(odd, "f") == odd
    assert read_program(f"```python\n{odd}```", "f") == odd


@pytest.mark.parametrize(
    "reply", ["", "No.", "I cannot help with that.", "This is it", "Note: this", "x", "```\n```", "```python", "def", "1 + 1"]
)
def test_where_there_is_no_program_none_is_read(reply: str) -> None:
    with pytest.raises(Unreadable, match="no fenced code block"):
        read_program(reply, "f")


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("4", 4),
        ("0", 0),
        ("Close.\n3", 3),
        ("Close.\n\n**3**\n\n", 3),
        ("Close.\nScore: 4", 4),
        ("Close.\nScore: 4.", 4),
        ("Close.\n**Score:** 4", 4),
        ("Close.\n**Score**: **4**", 4),
        ("Close.\n### Final score: 4/5", 4),
        ("Close.\nThe final score is 4 out of 5.", 4),
        ("Close.\nMy rating is 2", 2),
        ("Close.\nScore (0-5): 3", 3),
        ("2/5", 2),
        ("2 / 5", 2),
        ("4.0", 4),
        ("- 3", 3),
        ("`3`", 3),
        ("```\n3\n```", 3),
        ("3\n---", 3),
        ("Close.\r\n3\r\n", 3),
        ("Passed 2 of 3 tests; f(5) gives 1.\n4", 4),
        ("Score: 4\n\nOnly the edge cases are missing.", 4),
        ("A score of 5 needs all outputs. I give a score: 3 (systematic).\nThat is my view.", 3),
        ("Score: 5 at first sight.\nBut no. Score: 1.\nSorry.", 1),
        ("<think>maybe 5\n5</think>\n2", 2),
    ],
)
def test_the_score_is_read(reply: str, score: int) -> None:
    assert read_score(without_thoughts(reply)) == score


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Good.",
        "6",
        "10",
        "-3",
        "45",
        "3.5",
        "Score: 4.5",
        "Score: 8/10",
        "Score: 3/10",
        "Score: 10",
        "Score: 3 out of 10",
        "Score: 0-5",
        "Score: 0 to 5",
        "score -1",
        "four",
        "3 tests fail",
        "It fails test 2",
        "2 of 3 pass.",
        "f(5) = 3, which is 2 too few",
        "5: every output matches",
        "0 1 2 3 4 5",
    ],
)
def test_where_there_is_no_score_none_is_read(reply: str) -> None:
    with pytest.raises(Unreadable, match="not an integer from 0 to 5"):
        read_score(reply)


@pytest.mark.parametrize(
    ("reply", "decision"),
    [
        ("True", True),
        ("false", False),
        ("It handles all.\nTRUE", True),
        ("It handles all.\n**True**", True),
        ("It handles all.\n`True`.\n\n", True),
        ("It handles all.\nFinal answer: True", True),
        ("It handles all.\n**Decision:** False", False),
        ("It handles all.\nThe verdict is **False**.", False),
        ("Therefore, the answer is True.", True),
        ("So I would say: False.", False),
        ("It's False.", False),
        ("True, it handles the empty list.", True),
        ("False - it is too slow.", False),
        ("False because f(0) fails.", False),
        ("f returns True for 0, False for 1.\nTrue", True),
        ("```\nFalse\n```", False),
        ("True\n---", True),
        ("It is fine.\r\nTrue\r\n", True),
        ("<think>False? hmm\nFalse</think>True", True),
    ],
)
def test_the_decision_is_read(reply: str, decision: bool) -> None:
    assert read_decision(without_thoughts(reply)) is decision


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Yes.",
        "Not true",
        "It is not true.",
        "That isn't true.",
        "It is not entirely false.",
        "True or False",
        "True/False",
        "True if it is right, False if you see a fault.",
        "True only if n is positive",
        "For an empty list it returns True.",
        "The claim that the program is right holds true for small lists.",
        "Untrue",
        "Truely",
        "True\nbut I am not sure about the bounds",
        "1",
        "正确",
    ],
)
def test_where_there_is_no_decision_none_is_read(reply: str) -> None:
    with pytest.raises(Unreadable, match="neither True nor False"):
        read_decision(reply)


# Any text at all.

READERS: dict[str, Callable[[str], object]] = {
    "list": lambda text: read_list(text, 5),
    "program": lambda text: read_program(text, "f"),
    "program of any name": read_program,
    "score": read_score,
    "decision": read_decision,
}
PIECES = [
    *(
        "1. ",
        "2) ",
        "- ",
        "* ",
        "**",
        "Strategy 3:",
        "```",
        "```python",
        "~~~",
        "````",
        "\n",
        "\r\n",
        "\n\n",
        "  ",
        "\t",
        "\x00",
    ),
    *("\ud800", "\u2028", "\x0c", "def f(x):", "return (", "class f", "import x", "'''", '"""', "\\", "f = 1", "x: y", "True"),
    *(
        "False",
        "not",
        "Score:",
        "5",
        "/5",
        "0-5",
        "4.",
        "排序",
        "٣",
        "<think>",
        "</think>",
        "> ",
        "# ",
        "<b>",
        "&amp;",
        "a",
        "lambda",
    ),
]
texts = st.text() | st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(sorted(READERS)), texts)
def test_a_reader_reads_or_says_unreadable_whatever_the_text(reader: str, text: str) -> None:
    with suppress(Unreadable):
        READERS[reader](text)


@settings(deadline=None, max_examples=200)
@given(texts, st.integers(1, 5))
def test_items_are_few_short_distinct_lines_that_say_something(text: str, most: int) -> None:
    try:
        items = read_list(text, most)
    except Unreadable:
        return
    assert 1 <= len(items) <= most
    assert len({item.casefold() for item in items}) == len(items)
    for item in items:
        assert 2 <= len(item) <= 600
        assert len(item.splitlines()) == 1
        assert item == item.strip()


@settings(deadline=None, max_examples=200)
@given(texts)
def test_bare_code_that_is_read_is_valid_python(text: str) -> None:
    if "```" in text or "~~~" in text:
        return
    try:
        code = read_program(text)
    except Unreadable:
        return
    assert ast.parse(code).body


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["Sort it", "Use a heap", "Scan twice", "Guess", "排序", "x**2 of each"]), min_size=1, unique=True)
)
def test_a_list_in_the_form_that_was_asked_for_is_read_as_it_is(items: list[str]) -> None:
    reply = "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))
    assert read_list(reply, len(items)) == items


@settings(deadline=None)
@given(texts, st.integers(0, 5), st.booleans())
def test_the_last_line_decides_whatever_stands_before_it(text: str, score: int, decision: bool) -> None:
    assert read_score(f"{text}\n{score}") == score
    assert read_decision(f"{text}\n{decision}") is decision


LONG = [
    *(
        "word ",
        "word\n",
        " ",
        "\t",
        "\n",
        "*",
        "#",
        ">",
        "- ",
        "> a\n",
        "[",
        "(",
        "`",
        "```\n",
        "~~~\n```\n",
        "1",
        "1. ",
        "strategy ",
    ),
    *(
        "1. a\nb\n",
        "ab\n",
        "import x\nthis is prose\n",
        "# c\n",
        "def f(x):\n    return x\n",
        "    1,\n",
        "score ",
        "true ",
        "a\r\n",
    ),
    *("\x00", "排序", "[a](b)", "<a><b>", "_a", "[a]: b\n", "a\n=\n", "x = (\n"),
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_long_reply_takes_no_long_time(reader: str) -> None:
    for piece in LONG:
        for head in ("", "1. a\n", "def f(x):\n"):
            with suppress(Unreadable):
                READERS[reader](head + piece * (30_000 // len(piece)) + "x")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_megabyte_is_read_too(reader: str) -> None:
    prose = "The quick brown fox jumps over the lazy dog, 3 times out of 5.\n" * 16_000
    reply = f"{prose}\n1. Sort it.\n2. Count it.\n\n{FENCED}\n{prose}\n"
    READERS[reader](f"{reply}{'Score: 3' if reader == 'score' else 'True'}")
