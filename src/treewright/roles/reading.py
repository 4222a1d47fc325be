"""Reading replies: the one tolerant format of all code roles.

Lists are numbered lines, programs are fenced blocks, a score is an integer on the last line, a decision is True or False on
the last line. Each reader takes what a small model makes of that, and does not break on what a strong one adds around it.
A reply that does not say is `Unreadable`: never a zero, never an accept.
"""

from __future__ import annotations

import ast
import re

from treewright.roles.asking import Unreadable

_ITEM = re.compile(
    r"^\s*(?:[#>*_\-\s]*)(?:(?:strategy|approach|idea|reflection|plan|option|fix|step)\s*)?[<(\[#]*(\d{1,2})[>)\]]*\s*[.):\-–—]?[*_]*\s+(.*)$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*[-*•]\s+(.*)$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_SCORE_LINE = re.compile(
    r"^\W*(?:(?:the\s+)?(?:final\s+|overall\s+)?(?:score|rating|grade|answer)\b(?:\s+is)?\W*)?([0-5])(?:\.0)?(?:\s*(?:/|out\s+of)\s*5)?\W*$",
    re.I,
)
_SCORE_ANYWHERE = re.compile(
    r"\b(?:score|rating)\b(?:\s+is)?\W{0,4}([0-5])(?:\.0)?(?!\d)(?!\s*[-–]\s*\d)(?:\s*(?:/|out\s+of)\s*5)?", re.I
)
_DECISION = re.compile(r"\b(true|false)\b", re.I)
_ITEM_CHARS = 600


def read_list(text: str, most: int) -> list[str]:
    r"""The numbered items of a reply, in order, without repeats, at most `most`.

    Lines that follow an item without a number of their own belong to it. Bullets are taken where nothing is numbered.

    Raises:
        Unreadable: there is no list.

    >>> read_list("Sure!\n1. Sort, then scan.\n2) **Hash**: count each value", 10)
    ['Sort, then scan.', 'Hash: count each value']
    """
    lines = _outside_fences(text)
    items = _items(lines, _ITEM) or _items(lines, _BULLET)
    kept: dict[str, str] = {}
    for item in items:
        plain = re.sub(r"\*\*|__|`{3,}", "", item).strip()
        if len(plain) >= 5:
            kept.setdefault(plain.casefold(), plain[:_ITEM_CHARS])
    if not kept:
        raise Unreadable("it holds no numbered list")
    return list(kept.values())[:most]


def _outside_fences(text: str) -> list[str]:
    lines, fenced = [], False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            lines.append(line)
    return lines


def _items(lines: list[str], pattern: re.Pattern[str]) -> list[str]:
    items: list[str] = []
    open_item = False
    for line in lines:
        found = pattern.match(line)
        if found:
            items.append(found.groups()[-1].strip())
            open_item = True
        elif not line.strip():
            open_item = open_item and bool(items) and not items[-1]
        elif open_item:
            items[-1] = f"{items[-1]} {line.strip()}".strip()
    return items


def read_program(text: str, entry_point: str = "", language: str = "python") -> str:
    r"""The program of a reply: the last fenced block that defines `entry_point`, else the longest block, else bare code.

    Raises:
        Unreadable: the reply holds no program.

    >>> read_program("Here:\n```python\ndef f():\n    return 1\n```\nUse it:\n```python\nprint(f())\n```", "f")
    'def f():\n    return 1\n'
    """
    blocks = [code for code in _blocks(text) if code.strip()]
    if language == "python":
        defining = [code for code in blocks if entry_point and _defines(code, entry_point)]
        if defining:
            return defining[-1]
        if not blocks and (bare := _bare_python(text)):
            return bare
    if not blocks:
        raise Unreadable("it holds no fenced code block")
    return max(blocks, key=len)


def _blocks(text: str) -> list[str]:
    from markdown_it import MarkdownIt  # heavy, and only needed once replies arrive

    # subtle: with HTML blocks on, a stray tag in the prose would swallow the fences below it.
    tokens = MarkdownIt("commonmark").disable(["html_block", "code"]).parse(text)
    return [token.content for token in tokens if token.type == "fence"]


def _defines(code: str, name: str) -> bool:
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return re.search(rf"^\s*(?:def|class)\s+{re.escape(name)}\b|^{re.escape(name)}\s*=", code, re.M) is not None
    defined = {n.name for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    assigned = {t.id for n in body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    return name in defined | assigned


def _bare_python(text: str) -> str:
    """Code without a fence: from the first line that looks like code, the longest run of lines that is valid Python."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if re.match(r"(?:def|class|import|from|async def|@)\b|@\w", line)]
    for start in starts[:1]:
        for end in range(len(lines), start, -1):
            code = "\n".join(lines[start:end]) + "\n"
            try:
                body = ast.parse(code).body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            # subtle: "This is it" is valid Python (a comparison); closing prose is not part of the program.
            while body and isinstance(body[-1], ast.Expr) and not isinstance(body[-1].value, ast.Call):
                body.pop()
            return "\n".join(code.splitlines()[: body[-1].end_lineno]) + "\n" if body else ""
    return ""


def read_score(text: str) -> int:
    r"""The integer 0 to 5 on the last line, else the last one called a score or rating.

    Raises:
        Unreadable: there is none.

    >>> read_score("Close, but the signs differ.\nScore: 2/5")
    2
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and (found := _SCORE_LINE.match(lines[-1])):
        return int(found.group(1))
    named = _SCORE_ANYWHERE.findall(text)
    if named:
        return int(named[-1])
    raise Unreadable("its last line is not an integer from 0 to 5")


def read_decision(text: str) -> bool:
    r"""True or False as the last line says.

    Raises:
        Unreadable: the last line says neither, or both, or negates.

    >>> read_decision("It handles the empty list.\n**True**")
    True
    """
    lines = [line for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    words = {word.lower() for word in _DECISION.findall(last)}
    if len(words) != 1 or re.search(r"\bnot\s+(?:true|false)\b", last, re.I):
        raise Unreadable("its last line is neither True nor False")
    return words == {"true"}
