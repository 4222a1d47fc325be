"""Reading replies: the one tolerant format of all code roles.

Lists are numbered lines, programs are fenced blocks, a score is an integer on the last line, a decision is True or False on
the last line. Each reader takes what a small model makes of that, and does not break on what a strong one adds around it.
A reply that does not say is `Unreadable`: never a zero, never an accept.

A reply is untrusted text of any length: a reader takes time in proportion to it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from treewright.core.languages import names_of
from treewright.roles.asking import Unreadable

_WORDS = "strategy|approach|idea|reflection|plan|option|fix|step|method|solution"
#: "1. x", "2) x", "**Strategy 3:** x", "<4> x", "5 - x", "6.x", "7、x"; and "8 x", which is bare.
#: subtle: no two repeats that stand next to each other match the same character, or a long line would take forever.
_ITEM = re.compile(
    rf"[\W_]*(?:(?:{_WORDS}|(?:(?![\x00-\x7f])[^\W\d_]){{1,12}})[\W_]*)?(?P<number>\d{{1,2}})"
    r"(?:[>)\]）】]{0,2}[*_]{0,3}\s?(?:[.):：、．。）]{1,2}(?!\d)|[-–—](?=\s)|(?<=[>)\]）】])(?=\s))[*_]{0,3}|(?P<bare>\s|$))"
    r"\s*(?P<text>.*)$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*[-*+•]\s+(?P<text>.*)$")
_FENCE = re.compile(r"\s*(?:(?:[-*+>]|\d{1,2}[.)])\s+)?(`{3,}(?=[^`]*$)|~{3,})(.*)$")
#: "**bold**", and the end of what began before the number; not "x**2" and not "**kwargs".
_BOLD = re.compile(r"(?:(?<!\S)\*\*(?=\S)(.+?))?(?<=\S)\*\*(?=[\s:.,;!?)\]–—-]|$)")
_NOT_CODE = ("", "text", "txt", "plaintext", "markdown", "md")
_ITEM_CHARS = 600


def read_list(text: str, most: int) -> list[str]:
    r"""The numbered items of a reply, in order, without repeats, at most `most`.

    Lines that follow an item without a number of their own, or whose number is set further in, belong to it. Bullets are
    taken where nothing is numbered, and a list inside a fence where there is none outside.

    Raises:
        Unreadable: there is no list.

    >>> read_list("Sure!\n1. Sort, then scan.\n2) **Hash**: count each value", 10)
    ['Sort, then scan.', 'Hash: count each value']
    """
    outside, inside = _lines(text)
    found = (_items(lines, pattern) for pattern in (_ITEM, _BULLET) for lines in (outside, inside))
    kept: dict[str, str] = {}
    for item in next(filter(None, found), []):
        kept.setdefault(item.casefold(), item)
    if not kept:
        raise Unreadable("it holds no numbered list")
    return list(kept.values())[:most]


def _lines(text: str) -> tuple[list[str], list[str]]:
    """The lines outside fences, and those inside fences that are not said to hold code."""
    outside: list[str] = []
    inside: list[str] = []
    mark, code = "", False
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if not mark and fence:
            mark, code = fence[1], fence[2].strip().lower() not in _NOT_CODE
        elif mark and fence and fence[1].startswith(mark) and not fence[2].strip():
            mark = ""
        elif not mark:
            outside.append(line)
        elif not code:
            inside.append(line)
    return outside, inside


@dataclass(slots=True)
class _Outline:
    """A list while it is read: which lines begin an item of its outermost level.

    Args:
        items: the lines of each item.
        bare: the numbers are followed by nothing: "1 x", "### Strategy 1".
        margin: indentation of the first item.
        inner: indentation of a list inside the last item; 0 for none yet.
        open: a line without a number would belong to the last item.
    """

    items: list[list[str]] = field(default_factory=list)
    bare: bool = False
    margin: int = 0
    inner: int = 0
    open: bool = False

    def begins(self, found: re.Match[str], indent: int) -> bool:
        """Whether a line with a number or a bullet begins an item, rather than continues the one above."""
        parts = found.groupdict()
        expected = parts.get("number") is not None and int(parts["number"]) == len(self.items) + 1
        bare = parts.get("bare") is not None
        if bare and not (expected and (self.bare or not self.items)):  # "2 pointers move" is no item
            return False
        if not self.items:
            self.margin, self.bare = indent, bare
        # subtle: a reply often lost the spaces before its first line, so the number that comes next counts at any depth.
        elif indent >= self.margin + 2 and (not expected or 0 < self.inner <= indent):
            self.inner = indent
            return False
        self.inner = 0
        return True


def _items(lines: list[str], pattern: re.Pattern[str]) -> list[str]:
    outline = _Outline()
    for line in lines:
        found = pattern.match(line)
        if found and outline.begins(found, len(line) - len(line.lstrip())):
            outline.items.append([found["text"]])
            outline.open = True
        elif not line.strip():
            outline.open = outline.open and not any(part.strip() for part in outline.items[-1])
        elif outline.open:
            outline.items[-1].append(line)
    return [plain for parts in outline.items if (plain := _plain(parts))]


def _plain(parts: list[str]) -> str:
    """An item as one line without markup, cut; "" when it says nothing."""
    joined = " ".join(filter(None, map(str.strip, parts[:_ITEM_CHARS])))[: 2 * _ITEM_CHARS]
    plain = re.sub(r"`{3,}", "", _BOLD.sub(r"\1", joined)).strip()[:_ITEM_CHARS]
    return plain if re.search(r"[^\W_]{2}", plain) else ""


#: A fence that opens at the end of a line of prose.
_LATE_FENCE = re.compile(r"(?:(?<=[^\W\d_])|(?<=[^\W\d_][.:!?,]))[ \t]*(```\w+)[ \t]*$", re.MULTILINE)
#: A fence that opens or closes inside another: the first was not closed, or prose follows its end on the line.
_INNER_FENCE = re.compile(r"^[ \t]*```.*\n?", re.MULTILINE)


def read_program(text: str, entry_point: str = "", language: str = "python") -> str:
    r"""The program of a reply: the last fenced block that defines `entry_point`, else the longest block, else bare code.

    Blocks that are said to be in `language` go before all others.

    Raises:
        Unreadable: the reply holds no program.

    >>> read_program("Here:\n```python\ndef f():\n    return 1\n```\nUse it:\n```python\nprint(f())\n```", "f")
    'def f():\n    return 1\n'
    """
    blocks = list(_blocks(text))
    names = names_of(language)
    if "python" in names:
        for _, code in reversed(blocks):
            if entry_point and entry_point in code and _defines(code, entry_point):
                return code
        if not blocks and (bare := _bare_python(text)):
            return bare
    if not blocks:
        raise Unreadable("it holds no fenced code block")
    return max(blocks, key=lambda block: (block[0] in names, len(block[1])))[1]


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks that hold anything: (language as it was said, code)."""
    if "```" not in text and "~~~" not in text:
        return
    from markdown_it import MarkdownIt  # heavy, and only needed once replies arrive

    # subtle: with HTML blocks on, a stray tag in the prose would swallow the fences below it. Nobody reads what the other
    # rules find, and some of them take forever on some texts.
    off = ["html_block", "code", "inline", "reference", "heading", "lheading", "hr"]
    for token in MarkdownIt("commonmark").disable(off).parse(_LATE_FENCE.sub(r"\n\1", text)):
        if token.type == "fence":
            said = token.info.lower().split()[:1]
            for code in _INNER_FENCE.split(token.content):
                if code.strip():
                    yield "".join(said), code
                said = []


def _defines(code: str, name: str) -> bool:
    # A look at the lines, not a parse: code that was cut short counts too, and parsing may take long.
    called = re.escape(name)
    return re.search(rf"^(?:(?:async +)?def|class) +{called}\b|^{called} *(?::[^=\n]*)?=(?!=)", code, re.MULTILINE) is not None


_CODE_LINE = re.compile(r"(?:def|class|import|from|async def)\b|@\w|[A-Za-z_]\w*(?:, ?\w+)* ?=(?!=)")
_TRIES = 20
_BARE_CHARS = 100_000


def _bare_python(text: str) -> str:
    """Code without a fence: from a line that looks like code, the longest run of lines that is valid Python."""
    lines = text[:_BARE_CHARS].splitlines()
    start = end = -1
    for _ in range(_TRIES):
        if end <= start:  # nothing valid begins there: on to the next line that looks like code
            start = next((i for i in range(start + 1, len(lines)) if _CODE_LINE.match(lines[i])), len(lines))
            end = len(lines)
        if start == len(lines):
            break
        try:
            body = _parse("\n".join(lines[start:end]) + "\n")
        except SyntaxError as error:
            # No run that reaches past the line of the error can be valid either.
            end = min(end - 1, start + (error.lineno or 1) - 1)
            continue
        while body and _says_nothing(body[-1]):
            body.pop()
        return "\n".join(lines[start : start + (body[-1].end_lineno or 0)]) + "\n" if body else ""
    return ""


def _parse(code: str) -> list[ast.stmt]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in the model's text
            return ast.parse(code).body
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError("nested too deeply, or not text") from error


def _says_nothing(statement: ast.stmt) -> bool:
    """Whether it is closing prose: "This is it" is valid Python (a comparison), and so is "Note: done" (an annotation)."""
    if isinstance(statement, ast.AnnAssign):
        return statement.value is None
    return isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Call)


_LABEL = r"(?:the\s+|my\s+)?(?:final\s+|overall\s+)?"
#: The scale named between the label and the score: "Score (0-5): 3".
_SCALE = r"(?:\W{0,4}0\s*(?:[-–]|to)\s*5\b)?"
_SCORE_LINE = re.compile(
    rf"\W*(?:{_LABEL}(?:score|rating|grade|answer)\b{_SCALE}(?:\s+is)?\W*)?(?<![-−–.])([0-5])(?:\.0)?"
    r"(?:\s*(?:/|out\s+of)\s*5)?\W*$",
    re.IGNORECASE,
)
_SCORE_ANYWHERE = re.compile(
    rf"\b(?:score|rating)\b{_SCALE}(?:\s+is)?\W{{0,8}}(?<![-−–.])([0-5])(?:\.0)?"
    r"(?!\.?\d)(?!\s*(?:[-–/]|to|out\s+of)\s*(?!5\b)\d)(?!\s*(?:[-–]|to)\s*5)",
    re.IGNORECASE,
)
_DECISION_LINE = re.compile(
    r"\W*(?:(?:so|thus|hence|therefore|overall|finally)\b\W*)?"
    rf"(?:(?:{_LABEL}(?:decision|answer|verdict|verification|result|conclusion|judge?ment)\b(?:\s+is)?"
    r"|(?:it|that|this)(?:\s+is|['’]s)|i\s+(?:would\s+)?(?:say|decide|conclude))\b\W*)?"
    r"(true|false)\b(?!\s+(?:only\s+)?if\b)",
    re.IGNORECASE,
)
_DECISION = re.compile(r"\b(true|false)\b", re.IGNORECASE)


def read_score(text: str) -> int:
    r"""The integer 0 to 5 on the last line, else the last one called a score or rating.

    Raises:
        Unreadable: there is none.

    >>> read_score("Close, but the signs differ.\nScore: 2/5")
    2
    """
    if found := _SCORE_LINE.match(_last_line(text)):
        return int(found.group(1))
    named = _SCORE_ANYWHERE.findall(text)
    if named:
        return int(named[-1])
    raise Unreadable("its last line is not an integer from 0 to 5")


def read_decision(text: str) -> bool:
    r"""True or False, if the last line begins with it, or with what it is called ("Decision: True").

    Raises:
        Unreadable: the last line says neither, or both, or only speaks of the word ("it returns True for 0").

    >>> read_decision("It handles the empty list.\n**True**")
    True
    """
    last = _last_line(text)
    found = _DECISION_LINE.match(last)
    if not found or len({word.lower() for word in _DECISION.findall(last)}) != 1:
        raise Unreadable("its last line is neither True nor False")
    return found[1].lower() == "true"


def _last_line(text: str) -> str:
    """The last line that holds a letter or a digit: the end of a fence or a rule below it is no line."""
    return next((line for line in reversed(text.splitlines()) if re.search(r"[^\W_]", line)), "")
