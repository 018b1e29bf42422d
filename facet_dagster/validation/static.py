"""What can be said of a verifier without running it: it parses, and there is something to run."""

import ast

from facet_dagster.records.authoring import Verifier


def fault_in(verifier: Verifier) -> str | None:
    """What makes the test file unusable, with its line; None when it may be run."""
    try:
        tree = ast.parse(verifier.test_file)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        return f"test_outputs.py{f', line {line}' if line else ''}: it does not parse: {error}"
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    if not any(isinstance(node, functions) and node.name.startswith("test_") for node in ast.walk(tree)):
        return "test_outputs.py: it holds no test function"
    return None
