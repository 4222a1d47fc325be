"""Texts of statements, cut out of their source as they stand, and asserts in them rewritten to report their sides.

Text is spliced, not regenerated: tests can hold megabytes of literals, and `ast.unparse` takes seconds for those.
"""

from __future__ import annotations

import ast

COMPARE, TRUE = "_tw_compare", "_tw_true"
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


class Text:
    """A source text whose parts can be looked up by the positions that `ast` gives, which count bytes of UTF-8."""

    def __init__(self, source: str) -> None:
        self._bytes = source.encode()
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def of(self, node: ast.expr | ast.stmt) -> str:
        """The text of `node`, without what stands before it on its line."""
        return self._bytes[self._start(node) : self._end(node)].decode()

    def statement(self, node: ast.stmt) -> str:
        """Code that does what `node` does, with its asserts rewritten; it can stand anywhere at the top level of a program."""
        start, column = self._start(node), node.col_offset
        if decorators := getattr(node, "decorator_list", []):
            start = self._starts[decorators[0].lineno - 1] + column
        text = self._rewritten(node, start)
        if column == 0:
            return text
        # Nested lines keep their indentation, so the first one gets back what it had; a tab counts as one column.
        before = self._bytes[self._starts[node.lineno - 1] : start].decode()
        return "if True:\n" + (before if before.isspace() else " " * column) + text

    def _rewritten(self, node: ast.stmt, start: int) -> str:
        pieces, end = [], self._end(node)
        checks = [part for part in ast.walk(node) if isinstance(part, ast.Assert)]
        for check in sorted(checks, key=self._start, reverse=True):
            pieces.append(self._bytes[self._end(check) : end].decode())
            pieces.append(self._report(check))
            end = self._start(check)
        pieces.append(self._bytes[start:end].decode())
        return "".join(reversed(pieces))

    def _report(self, check: ast.Assert) -> str:
        message = f"lambda: ({self.of(check.msg) if check.msg else None}\n)"
        test = check.test
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
            return f"{TRUE}(({self.of(test)}\n), {message})"
        left, right = test.left, test.comparators[0]
        expected_first = fixed(left) and not fixed(right)
        sign = _SIGNS[type(test.ops[0])]
        return f"{COMPARE}({sign!r}, ({self.of(left)}\n), ({self.of(right)}\n), {expected_first}, {message})"

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)


def fixed(node: ast.expr) -> bool:
    """Whether `node` has the same value whatever the program does: it names nothing and calls nothing."""
    return not any(isinstance(part, ast.Name | ast.Call | ast.Attribute) for part in ast.walk(node))
