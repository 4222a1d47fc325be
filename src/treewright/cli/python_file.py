"""Reads a Python file with a stub and its asserts as a task.

in the file                                      becomes
the stub: a function (or a class of methods)     the end of the prompt; its name is the entry point
  with no body but a docstring, pass, ... or
  raise NotImplementedError
what stands before it                            the prompt, word for word; its code is setup as well
an assert; a loop or block with asserts          one test each
test_*() and check(candidate)                    one test for each assert, or one in all if it does more than assert
other code after the stub                        setup; but where it uses the stub, the first lines of a test
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator

from treewright.core.check import bound_names, parse_python, used_names
from treewright.core.errors import UserError
from treewright.core.task import CodeTask

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


def task_of_python(text: str, name: str) -> CodeTask:
    """The task that the text of a Python file states.

    Raises:
        UserError: it is no valid Python, has no stub, or has tests in a form that is not read.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        tree = parse_python(text)
    except SyntaxError as error:
        where = f"line {error.lineno} is" if error.lineno else "it is"
        raise UserError(f"{where} no valid Python ({error.msg}): correct it") from error
    stubs = _stubs(tree)
    sorter = _Sorter(text.split("\n"), stubs)
    for node in _statements(tree):
        sorter.add(node)
    return CodeTask(
        prompt=sorter.prompt(),
        tests=sorter.tests(),
        setup="\n".join(sorter.setup),
        entry_point=stubs[0].name if len(stubs) == 1 else "",
        name=name,
    )


class _Sorter:
    """Puts each statement of a file where it belongs; fed in the file's order.

    The *script* is the code after the stub that depends on calling it (`stack = Stack()`), with the asserts that look at
    its results. Only together and in order do they mean anything, so they are one test.
    """

    def __init__(self, lines: list[str], stubs: list[Definition]) -> None:
        self.setup: list[str] = []
        self._lines = lines
        self._stubs = stubs
        self._tests: list[str] = []
        self._test_lines: set[int] = set()
        self._script: list[ast.stmt] = []
        self._script_names: set[str] = set()

    def add(self, node: ast.stmt) -> None:
        """Sort one statement of the module."""
        if node in self._stubs:
            return
        is_test = isinstance(node, Function) and _is_test(node)
        if is_test or (_asserts(node) and not isinstance(node, Definition)):
            self._test_lines |= set(range(_first_line(node), _last_line(node) + 1))
        if isinstance(node, Function) and is_test:
            self._tests += [self._after_script(node, test) for test in _tests_of(node, self._quote, self._stubs)]
        elif isinstance(node, Definition) or not _asserts(node):
            self._add_other(node)
        elif self._continues_script(node):
            self._script.append(node)
        else:
            self._tests.append(self._quote(node))

    def _after_script(self, node: ast.stmt, test: str) -> str:
        needed = [self._quote(line) for line in self._script if not _asserts(line)] if self._continues_script(node) else []
        return "\n".join([*needed, test])

    def _add_other(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ClassDef) and any("TestCase" in ast.unparse(base) for base in node.bases):
            raise UserError(f"line {node.lineno} begins a unittest class, which is not read: write asserts or test_ functions")
        after_stub = node.lineno > self._stubs[-1].lineno
        begins = not isinstance(node, ast.Expr) and used_names(node) & {stub.name for stub in self._stubs}
        if after_stub and (begins or self._continues_script(node)):
            self._script.append(node)
            self._script_names |= bound_names(node)
        elif not after_stub or not isinstance(node, ast.Expr):  # a bare call after the stub prints, or starts the tests
            self.setup.append(self._quote(node))

    def _continues_script(self, node: ast.stmt) -> bool:
        return bool(used_names(node) & self._script_names)

    def _quote(self, node: ast.stmt) -> str:
        """The statement as it was written, moved to the left margin."""
        text = textwrap.dedent("\n".join(self._lines[_first_line(node) - 1 : node.end_lineno]))
        return text if _is_source_of(text, node) else ast.unparse(node)

    def tests(self) -> tuple[str, ...]:
        """All tests in the file's order, then the script."""
        has_script = any(_asserts(node) for node in self._script)
        return (*self._tests, *(["\n".join(map(self._quote, self._script))] if has_script else []))

    def prompt(self) -> str:
        """The file up to the end of its last stub, without tests."""
        lines = enumerate(self._lines[: _last_line(self._stubs[-1])], 1)
        return "\n".join(line for number, line in lines if number not in self._test_lines).strip("\n")


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """The module's statements without its docstring; those under `if __name__ == "__main__":` stand in for that line."""
    for node in tree.body[1:] if ast.get_docstring(tree) is not None else tree.body:
        if isinstance(node, ast.If) and "__name__" in used_names(node.test):
            yield from node.body
        else:
            yield node


def _stubs(tree: ast.Module) -> list[Definition]:
    """What is to be written: of several blank definitions the one that is tested, or all if that does not tell."""
    blank = [node for node in tree.body if isinstance(node, Definition) and _is_stub(node)]
    if not blank:
        raise UserError("no stub: leave the body of the function to write with only a docstring, pass or ...")
    testing = (node for node in _statements(tree) if not isinstance(node, Definition) or _is_test(node))
    used = {name for node in testing for name in used_names(node)}
    tested = [stub for stub in blank if stub.name in used]
    return tested if len(tested) == 1 else blank


def _is_stub(node: Definition) -> bool:
    if isinstance(node, ast.ClassDef):
        methods = [item for item in node.body if isinstance(item, Function)]
        return bool(methods) and all(_is_stub(method) for method in methods)
    return not _is_test(node) and all(_is_blank(statement) for statement in node.body)


def _is_blank(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


def _is_test(node: Definition) -> bool:
    if isinstance(node, ast.ClassDef):
        return False
    return node.name.startswith("test_") or (node.name == "check" and _asserts(node))


def _tests_of(node: Function, quote: Callable[[ast.stmt], str], stubs: list[Definition]) -> list[str]:
    """The tests that one test function holds, each of which stands by itself."""
    names = [argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)]
    takes_candidate = len(names) == 1 and (node.name == "check" or names == ["candidate"])
    if isinstance(node, ast.AsyncFunctionDef) or node.decorator_list or (names and not takes_candidate):
        raise UserError(f"line {node.lineno}: {node.name} must be a plain function without arguments or decorators to be read")
    if names and len(stubs) != 1:
        raise UserError(f"line {node.lineno}: {node.name}({names[0]}) needs exactly one stub to test, not {len(stubs)}")
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if names:
        rename = _Rename(names[0], stubs[0].name)
        if all(isinstance(statement, ast.Assert) for statement in body):
            return [ast.unparse(rename.visit(statement)) for statement in body]
        return [f"{quote(node)}\n{node.name}({stubs[0].name})"]
    texts = [quote(statement) for statement in body]
    if all(isinstance(statement, ast.Assert) for statement in body):
        return texts
    try:
        parse_python("\n".join(texts))
    except SyntaxError:  # a return, say: it means something in a function only
        return [f"{quote(node)}\n{node.name}()"]
    return ["\n".join(texts)]


class _Rename(ast.NodeTransformer):
    def __init__(self, old: str, new: str) -> None:
        self.old = old
        self.new = new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.new, node.ctx) if node.id == self.old else node


def _asserts(node: ast.stmt) -> bool:
    return any(isinstance(inner, ast.Assert) for inner in ast.walk(node))


def _is_source_of(text: str, node: ast.stmt) -> bool:
    """Whether the text is this statement and nothing else.

    subtle: its lines are not, when another statement shares them or when moving them to the left changed a string.
    """
    try:
        return [ast.dump(found) for found in parse_python(text).body] == [ast.dump(node)]
    except SyntaxError:
        return False


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, Definition) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
