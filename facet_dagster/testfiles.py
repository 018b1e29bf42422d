"""What a test file says of itself: its tests, what asserts, how much each test checks. Nothing is run.

Shared by those who write tests, judge them and guard their repair; what is allowed is decided there.
"""

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> list[Function]:
    """Functions at module level."""
    return [node for node in tree.body if isinstance(node, Function)]


def tests(tree: ast.Module) -> list[Function]:
    """Test functions at module level."""
    return [function for function in functions(tree) if function.name.startswith("test")]


def called(call: ast.Call) -> str | None:
    """The last part of what is called: `b` for `a.b(…)`."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else None


def asserts(node: ast.AST) -> bool:
    """Whether this very node is an assertion: a statement, or a raised AssertionError."""
    if isinstance(node, ast.Raise) and node.exc is not None:
        return any(isinstance(n, ast.Name) and n.id == "AssertionError" for n in ast.walk(node.exc))
    return isinstance(node, ast.Assert)


def asserting(tree: ast.Module) -> set[str]:
    """Functions that assert, themselves or through functions of the module that they call."""
    known = {function.name: function for function in functions(tree)}
    calls = {name: calls_of(function) for name, function in known.items()}
    found = {
        name
        for name, function in known.items()
        if any(asserts(node) for node in ast.walk(function)) or calls[name] & {"fail", "raises"}
    }
    while grown := {name for name in known if name not in found and calls[name] & found}:
        found |= grown
    return found


def calls_of(function: ast.AST) -> set[str | None]:
    """Names that are called anywhere in a function."""
    return {called(node) for node in ast.walk(function) if isinstance(node, ast.Call)}


def docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Constants that document a module, class or function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def module_of(source: str) -> ast.Module | None:
    """The parsed file; None for what is no Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
