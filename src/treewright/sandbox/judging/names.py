"""What the names in a test's syntax tree mean: which it binds, which it only uses, which of its statements check something."""

from __future__ import annotations

import ast
from collections.abc import Iterable


def bound(tree: ast.AST) -> set[str]:
    """Every name that is given a meaning anywhere in `tree`: assigned, imported, defined, a parameter, caught."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update(alias.asname or alias.name.split(".")[0] for alias in aliases)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
    return names


def loaded(tree: ast.AST) -> set[str]:
    """Every name whose value is used in `tree`."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def imported(tree: ast.AST) -> dict[str, str]:
    """What imported names stand for: {"m": "math", "isclose": "math.isclose"}."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update((alias.asname or alias.name, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
    return names


def splits(function: ast.FunctionDef) -> bool:
    """Whether the body of `function` means the same when its statements stand at the top level."""
    nodes: list[ast.AST] = [function]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Global | ast.Nonlocal):
            return False
        if node is function or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            nodes.extend(ast.iter_child_nodes(node))
    return True


def calls_of_tests(node: ast.stmt, entry_point: str) -> list[str]:
    """How to run what `node` defines, if it is a test function or a class of test methods; else nothing."""
    match node:
        case ast.FunctionDef(name="check", args=ast.arguments(args=[_])) if entry_point:
            return [f"check({entry_point})"]
        case ast.FunctionDef(name=name, args=ast.arguments(args=arguments), decorator_list=decorators) if name.startswith(
            "test"
        ):
            parametrized = any("parametrize" in ast.unparse(decorator) for decorator in decorators)
            return [f"{name}()"] if parametrized or not arguments else []
        case ast.AsyncFunctionDef(name=name, args=ast.arguments(args=[])) if name.startswith("test"):
            return [f"__import__('asyncio').run({name}())"]
        case ast.ClassDef(name=name, bases=[base, *_], body=body) if ast.unparse(base).endswith("TestCase"):
            methods = [part.name for part in body if isinstance(part, ast.FunctionDef) and part.name.startswith("test")]
            return [f"{name}({method!r}).debug()" for method in methods]
    return []


class Asserting:
    """Knows the functions that check something: they assert or raise, or call such a function.

    Args:
        trees: where functions are defined.
    """

    def __init__(self, trees: Iterable[ast.Module]) -> None:
        functions = [part for tree in trees for part in ast.walk(tree) if isinstance(part, ast.FunctionDef)]
        self._names: set[str] = set()
        while more := {function.name for function in functions if function.name not in self._names and self.used_in(function)}:
            self._names |= more

    def used_in(self, node: ast.AST) -> bool:
        """Whether `node` checks something."""
        return any(isinstance(part, ast.Assert | ast.Raise) or self._checks(part) for part in ast.walk(node))

    def _checks(self, node: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Name(id=name)):
                return name in self._names or name.startswith("assert") or name == "raises"
            case ast.Call(func=ast.Attribute(attr=name)):
                return name.startswith("assert") or name == "raises"
        return False
