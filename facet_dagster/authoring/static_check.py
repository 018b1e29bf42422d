"""What can be told of test_outputs.py by reading it: names, coverage of requirements, imports, assertions.

Belongs here: rules that hold for every verifier. Whether the tests tell right from wrong is validation's business.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from facet_dagster.records.authoring import requirements_of_test
from facet_dagster.testfiles import Function, asserting, called, functions, tests

NETWORK = frozenset(
    {"requests", "httpx", "aiohttp", "urllib3", "socket", "ssl", "ftplib", "smtplib", "telnetlib", "paramiko", "docker"}
)
NETWORK_MODULES = frozenset({"urllib.request", "http.client", "http.server"})
SKIPS = frozenset({"skip", "skipif", "xfail", "importorskip"})
PYTEST = frozenset({"pytest", "pytest.mark", "mark"})
# Calls that look at the container; at module level they would run while tests are collected.
READS = frozenset(
    {"open", "read_text", "read_bytes", "run", "run_as_agent", "check_output", "connect", "listdir", "iterdir", "glob"}
    | {"rglob", "read_csv", "exists", "stat"}
)
FORBIDDEN_TEXT = re.compile(r"(?<![\w.])/solution\b|\bsolve\.sh\b|/logs/verifier|\breward\.(json|txt)\b")


def test_names(source: str) -> tuple[str, ...]:
    """Names of the module's test functions, in order. Raises SyntaxError."""
    return tuple(f.name for f in ast.parse(source).body if isinstance(f, Function) and f.name.startswith("test"))


def test_file_problems(source: str, requirement_ids: Sequence[str]) -> list[str]:
    """What is wrong with a test file; one line each, empty when nothing is."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        return [f"test_file is not valid Python: {error}"]
    return [
        *_name_problems(tree, requirement_ids),
        *_import_problems(tree),
        *_body_problems(tree),
        *_module_level_problems(tree),
        *sorted({f"the file mentions {found.group()}" for found in FORBIDDEN_TEXT.finditer(source)}),
    ]


def _name_problems(tree: ast.Module, requirement_ids: Sequence[str]) -> Iterator[str]:
    names = [test.name for test in tests(tree)]
    if not names:
        yield "there is no test function at module level"
    known, cited = set(requirement_ids), set[str]()
    for name in names:
        ids = requirements_of_test(name)
        cited.update(ids)
        if not ids:
            yield f"{name} is not named test_r<id>[_r<id>]_<what> in lower case"
        for unknown in sorted(set(ids) - known):
            yield f"{name} cites {unknown}, which is not a requirement"
    for duplicate in sorted({name for name in names if names.count(name) > 1}):
        yield f"{duplicate} is defined twice"
    for missing in [r for r in requirement_ids if r not in cited]:
        yield f"no test cites {missing}"
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield f"class {node.name}: tests must be functions at module level"


def _import_problems(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ".", *(f"{node.module}.{alias.name}" for alias in node.names)]
        for module in modules:
            if module.partition(".")[0] in NETWORK or module in NETWORK_MODULES:
                yield f"import of {module}: tests have no network; a local service is asked through run_as_agent"
            elif module.startswith("."):
                yield "relative imports do not work in the test file"


def _body_problems(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        for name in _skips(node):
            yield f"line {getattr(node, 'lineno', '?')}: {name} is not allowed; a test passes or fails"
    asserted_by = asserting(tree)
    for test in tests(tree):
        if isinstance(test, ast.AsyncFunctionDef):
            yield f"{test.name} is asynchronous"
        if test.name not in asserted_by:
            yield f"{test.name} asserts nothing"
    for function in functions(tree):
        if _is_fixture(function) and function.name in asserted_by:
            yield f"fixture {function.name} asserts: that would be an error and no failure; assert inside the tests"


def _module_level_problems(tree: ast.Module) -> Iterator[str]:
    """Reading while the tests are collected turns a missing output into an error before any test has run."""
    for node in tree.body:
        roots: list[ast.AST] = [node]
        if isinstance(node, Function):
            roots = list(node.decorator_list)
        elif isinstance(node, ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        for call in (inner for root in roots for inner in ast.walk(root) if isinstance(inner, ast.Call)):
            if called(call) in READS:
                yield f"line {call.lineno}: {called(call)}() runs at import; read inside a test or a function it calls"


def _is_fixture(function: Function) -> bool:
    decorators = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
    return any(
        (isinstance(d, ast.Attribute) and d.attr == "fixture") or (isinstance(d, ast.Name) and d.id == "fixture")
        for d in decorators
    )


def _skips(node: ast.AST) -> list[str]:
    """What of pytest's is used or imported here to pass a test by; a variable may have such a name."""
    if isinstance(node, ast.Attribute):
        return [node.attr] if node.attr in SKIPS and ast.unparse(node.value) in PYTEST else []
    if isinstance(node, ast.ImportFrom) and node.module == "pytest":
        return [alias.name for alias in node.names if alias.name in SKIPS]
    return []
