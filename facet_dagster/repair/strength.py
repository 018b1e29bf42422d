"""How much a test file checks: over all, and test by test. Counts only; whether a check is the right one is not told.

A test checks what it asserts itself and what the module's functions assert that it calls.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from facet_dagster.testfiles import Function, called, calls_of, functions, module_of, tests

_STRICT = (ast.Eq, ast.Is)
_LOOSE = (ast.In, ast.NotIn, ast.NotEq, ast.IsNot, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_LOOSE_CALLS = frozenset(
    {"startswith", "endswith", "search", "match", "isclose", "approx", "issubset", "issuperset", "exists", "is_file"}
)


@dataclass(frozen=True)
class Strength:
    """`checks` are assert statements, pytest.raises and pytest.fail; `strict` and `loose` their comparisons."""

    checks: int
    strict: int
    loose: int


def strength(test_file: str) -> tuple[int, int]:
    """Number of test functions and of checks in the whole file."""
    tree = module_of(test_file)
    if tree is None:
        return 0, 0
    nodes = list(ast.walk(tree))
    found = sum(isinstance(node, Function) and node.name.startswith("test_") for node in nodes)
    return found, sum(map(_is_check, nodes))


def strength_by_test(test_file: str) -> dict[str, Strength]:
    """The strength of each test function at module level."""
    tree = module_of(test_file)
    if tree is None:
        return {}
    known = {function.name: function for function in functions(tree)}
    return {test.name: _of(list(_reached(test, known))) for test in tests(tree)}


def weakened(before: str, after: str) -> str | None:
    """How a test file checks less than the one before it; None where it does not."""
    (count, checks), (count_after, checks_after) = strength(before), strength(after)
    if count_after < count or checks_after < checks:
        return f"{count} tests with {checks} checks before, {count_after} with {checks_after} after"
    newer = strength_by_test(after)
    for name, old in strength_by_test(before).items():
        new = newer.get(name)
        if new is None:
            continue
        if new.checks < old.checks:
            return f"{name} made {old.checks} checks before, {new.checks} after"
        if new.strict < old.strict and new.loose > old.loose:
            return (
                f"{name} compared for equality {old.strict} times before, {new.strict} after, and more loosely instead"
            )
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


def _of(reached: list[Function]) -> Strength:
    nodes = [node for function in reached for node in ast.walk(function)]
    inside = [inner for node in nodes if isinstance(node, ast.Assert) for inner in ast.walk(node.test)]
    kinds = Counter(type(op) for node in inside if isinstance(node, ast.Compare) for op in node.ops)
    loose_calls = sum(isinstance(node, ast.Call) and called(node) in _LOOSE_CALLS for node in inside)
    return Strength(
        checks=sum(map(_is_check, nodes)),
        strict=sum(kinds[kind] for kind in _STRICT),
        loose=sum(kinds[kind] for kind in _LOOSE) + loose_calls,
    )


def _is_check(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in {"raises", "fail"}
    return isinstance(node, ast.Assert)
