"""How much a test file checks: over all, and test by test. Counts only; whether a check is the right one is not told.

A test checks what it asserts itself and what the module's functions assert that it calls.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from facet_dagster.testfiles import Function, asserts, calls_of, functions, module_of, tests

_ASSERTED = (ast.Eq, ast.Is)
_SOUGHT = (ast.NotEq, ast.IsNot)  # outside assertions: what differs is looked for, to be reported


@dataclass(frozen=True)
class Strength:
    """`checks` are assertions, pytest.raises and pytest.fail; `strict` the comparisons for equality."""

    checks: int
    strict: int


def strength(test_file: str) -> tuple[int, Strength]:
    """Number of test functions, and the strength of the whole file."""
    tree = module_of(test_file)
    if tree is None:
        return 0, Strength(0, 0)
    nodes = list(ast.walk(tree))
    found = sum(isinstance(node, Function) and node.name.startswith("test_") for node in nodes)
    return found, _of(nodes)


def strength_by_test(test_file: str) -> dict[str, Strength]:
    """The strength of each test function at module level."""
    tree = module_of(test_file)
    if tree is None:
        return {}
    known = {function.name: function for function in functions(tree)}
    return {
        test.name: _of([node for function in _reached(test, known) for node in ast.walk(function)])
        for test in tests(tree)
    }


def weakened(before: str, after: str) -> str | None:
    """How a test file checks less than the one before it; None where it does not."""
    (count, old), (count_after, new) = strength(before), strength(after)
    if count_after < count or new.checks < old.checks:
        return f"{count} tests with {old.checks} checks before, {count_after} with {new.checks} after"
    newer = strength_by_test(after)
    for name, one in strength_by_test(before).items():
        other = newer.get(name)
        if other is None:
            continue
        if other.checks < one.checks:
            return f"{name} made {one.checks} checks before, {other.checks} after"
        if other.strict < one.strict:
            return f"{name} compared for equality {one.strict} times before, {other.strict} after"
    if new.strict < old.strict:
        return f"{old.strict} comparisons for equality before, {new.strict} after"
    return None


def _reached(test: Function, known: dict[str, Function]) -> Iterator[Function]:
    """The test and the module's functions that it calls, directly or not, once each."""
    seen: set[str] = set()
    pending = [test]
    while pending:
        function = pending.pop()
        if function.name in seen:
            continue
        seen.add(function.name)
        yield function
        pending += [known[name] for name in calls_of(function) if name in known]


def _of(nodes: list[ast.AST]) -> Strength:
    inside = {id(inner) for node in nodes if isinstance(node, ast.Assert) for inner in ast.walk(node.test)}
    compared = [(op, id(node) in inside) for node in nodes if isinstance(node, ast.Compare) for op in node.ops]
    strict = sum(isinstance(op, _ASSERTED if asserted else _SOUGHT) for op, asserted in compared)
    return Strength(checks=sum(map(_is_check, nodes)), strict=strict)


def _is_check(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in {"raises", "fail"}
    return asserts(node)
