"""The tests of a task, taken apart: a list of single checks, each with what is needed to judge it.

A test is Python text: asserts one after another, `def check(candidate): ...` as in HumanEval, test functions, or anything else.
Each assert becomes a check of its own, together with the statements before it that check nothing. A statement that checks and
cannot be split (a loop, `with raises`, a helper that asserts) is one check, run whole. If all checks of a test are plain calls
compared with plain data, the host judges them (`compare`); otherwise the test needs a checker (`checker`), which gets the text
with each assert rewritten so that it reports its two sides.

Nothing of the text is executed here.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from treewright.core.errors import UserError
from treewright.sandbox.judging.compare import Literal, literal
from treewright.sandbox.judging.encoding import Unsendable, encode
from treewright.sandbox.judging.expressions import NotPlain, build
from treewright.sandbox.judging.names import Asserting, bound, calls_of_tests, imported, loaded, splits
from treewright.sandbox.judging.rewriting import Text
from treewright.sandbox.judging.values import Reference

_MAX_SHOWN = 400
_MAX_CALL = 1 << 23
_MODULES = {"math": "math", "pytest": "pytest"}
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SILENT = (*_DEFINING, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete, ast.Pass)
_KINDS: dict[type[ast.stmt], str] = {
    ast.For: "a for loop",
    ast.While: "a while loop",
    ast.With: "a with block",
    ast.Try: "a try block",
    ast.If: "an if block",
    ast.Expr: "a call",
}


class InvalidTest(UserError):
    """A test of the task is not valid Python, or checks nothing. The message says which and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """One thing that is right or wrong. Two with the same text are still two.

    Args:
        source: its text, for people.
        code: the same for the checker, asserts rewritten.
        literal: what the host needs to judge it by itself; None if it needs the checker.
        whole: what kind of statement it is, if it could not be split ("a for loop"); else empty.
    """

    source: str
    code: str
    literal: Literal | None
    whole: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """The checks of one test, which share their variables.

    Args:
        aliases: names by which the test calls a function of the program, as (alias, name).
    """

    checks: tuple[Check, ...]
    aliases: tuple[tuple[str, str], ...]

    @property
    def plain(self) -> bool:
        """Whether the host can judge all of it."""
        return all(check.literal for check in self.checks)


@dataclass(frozen=True, slots=True)
class Plan:
    """All checks of a task, the names of the program that they use, and the modules that they import."""

    blocks: tuple[Block, ...]
    names: tuple[str, ...]
    modules: tuple[str, ...]


@lru_cache(maxsize=64)
def plan(tests: tuple[str, ...], setup: str, entry_point: str) -> Plan:
    """Take the tests of a task apart. The result is kept: a search asks for the same one for every program.

    Raises:
        InvalidTest: a test, or the setup, is not valid Python, or a test checks nothing.
    """
    prelude = _parsed(setup, "The setup")
    blocks = [_Splitter(source, number, prelude, entry_point) for number, source in enumerate(tests, 1)]
    names = {name for block in blocks for name in block.names} | ({entry_point} if entry_point else set())
    modules = {module for block in blocks for module in block.modules}
    return Plan(tuple(block.block() for block in blocks), tuple(sorted(names)), tuple(sorted(modules)))


def called_names(test: str) -> frozenset[str]:
    """The names that `test` calls and that are neither its own nor Python's: the functions of the program it is about.

    Raises:
        InvalidTest: it is not valid Python.
    """
    tree = _parsed(test, "The test")
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return frozenset(called - bound(tree) - vars(builtins).keys())


def _parsed(source: str, what: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "invalid escape sequence" and the like are no concern of ours
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidTest(f"{what} is not valid Python: {error}.") from error


class _Splitter:
    """One test on its way to a `Block`."""

    def __init__(self, source: str, number: int, prelude: ast.Module, entry_point: str) -> None:
        self._what = f"Test {number}"
        self._tree = _parsed(source, self._what)
        self._text = Text(source)
        self._entry_point = entry_point
        self._statements, self._aliases = self._body()
        own = bound(self._tree) | bound(prelude)
        used = loaded(self._tree)
        free = used - own - vars(builtins).keys() - _MODULES.keys()
        self.names = free | set(self._aliases.values()) | ({entry_point} if entry_point else set())
        imports = imported(prelude) | imported(self._tree)
        self.modules = {name.split(".")[0] for name in imports.values()} | (used & _MODULES.keys())
        # A name that the test itself gives a meaning to is not the built-in of that name.
        self._known = dict.fromkeys(own - self._aliases.keys(), "?") | _MODULES | imports
        self._helpers = Asserting([prelude, self._tree])

    def _body(self) -> tuple[list[ast.stmt], dict[str, str]]:
        """The statements to split and the aliases: those of `check(candidate)` if the test has that shape."""
        statements = self._tree.body
        for node in statements:
            if isinstance(node, ast.FunctionDef) and node.name == "check" and len(node.args.args) == 1 and splits(node):
                names = [name for statement in statements if (name := _checked(statement))] or [self._entry_point]
                if not names[0]:
                    raise InvalidTest(f"{self._what} defines check(candidate), but the task names no entry point.")
                rest = [statement for statement in statements if statement is not node and not _checked(statement)]
                return rest + node.body, {node.args.args[0].arg: names[0]}
        return statements, {}

    def block(self) -> Block:
        checks = tuple(self._checks())
        if not checks:
            raise InvalidTest(f"{self._what} checks nothing: it has no assert and calls nothing.")
        return Block(checks, tuple(self._aliases.items()))

    def _checks(self) -> Iterator[Check]:
        group: list[ast.stmt] = []
        for node in self._statements:
            if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and node.test.value:
                continue  # "assert True, 'this prints if ...'": says nothing of the program
            group.append(node)
            if calls := calls_of_tests(node, self._entry_point):
                for call in calls:
                    yield self._check(group, call)
                    group = []
            elif not isinstance(node, _SILENT) and self._helpers.used_in(node):
                yield self._check(group)
                group = []
        if any(isinstance(part, ast.Call) for node in group if not isinstance(node, _SILENT) for part in ast.walk(node)):
            yield self._check(group)

    def _check(self, group: list[ast.stmt], call: str = "") -> Check:
        code = "\n".join([*map(self._text.statement, group), call])
        if len(group) == 0:  # one more method of a class that stands in an earlier check
            return Check(call, code, None, "a test function")
        *before, last = group
        shown = [self._text.of(node) for node in before if _prepares(node, last)]
        source = self._text.of(last) if isinstance(last, ast.Assert) or not call else call
        if sum(map(len, shown)) <= _MAX_SHOWN:
            source = "\n".join([*shown, source])
        for alias, name in self._aliases.items():
            source = re.sub(rf"\b{alias}\b", name, source)
        if isinstance(last, ast.Assert):
            return Check(source, code, self._literal(before, last))
        return Check(source, code, None, "a test function" if call else _KINDS.get(type(last), "a statement"))

    def _literal(self, before: Sequence[ast.stmt], check: ast.Assert) -> Literal | None:
        if any(isinstance(part, ast.Call) for node in before if not isinstance(node, _DEFINING) for part in ast.walk(node)):
            return None
        test, texts = check.test, dict[ast.Call, str | None]()

        def call(node: ast.Call) -> str | None:
            if node not in texts:
                texts[node] = self._call_text(node)
            return texts[node]

        try:
            found = literal(test, self._text.of(test), call=call, names=self._known)
        except NotPlain:
            return None
        return found if found.calls else None

    def _call_text(self, node: ast.Call) -> str | None:
        if not isinstance(node.func, ast.Name):
            return None
        name = self._aliases.get(node.func.id, node.func.id)
        if name not in self.names:
            return None
        if any(isinstance(part, ast.Starred) for part in node.args) or any(word.arg is None for word in node.keywords):
            raise NotPlain("*")
        try:
            arguments = [self._value(part) for part in node.args]
            keywords = {word.arg: self._value(word.value) for word in node.keywords}
            return encode([Reference("n", name), arguments, keywords], max_chars=_MAX_CALL)
        except (Unsendable, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise NotPlain("arguments that cannot be worked out here") from error

    def _value(self, node: ast.expr) -> object:
        return build(node, calls=lambda _: None, names=self._known)(())


def _prepares(node: ast.stmt, check: ast.stmt) -> bool:
    """Whether a reader of `check` wants to see `node` before it."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Assign | ast.AugAssign) and not bound(node).isdisjoint(loaded(check))


def _checked(node: ast.stmt) -> str:
    """The `f` of a statement `check(f)`, else nothing."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="check"), args=[ast.Name(id=name)], keywords=[])):
            return name
    return ""
