"""G0, the tests: they parse, can be imported, check more than existence, leave the solution alone, need no network."""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from facet_dagster.records.authoring import E0_COPIES
from facet_dagster.records.container import FileEntry
from facet_dagster.records.outcome import Component
from facet_dagster.testfiles import asserts, called, docstrings, module_of
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.static.finding import Finding
from facet_dagster.validation.static.paths import path_findings
from facet_dagster.validation.static.shell import joined, network_commands, reaches_out

_SKELETON = frozenset({"/tests/grade.py", "/tests/support.py"})
_COLLECTED = re.compile(r"(^test_[^/]*|[^/]*_test)\.py$")
_SOLUTION = re.compile(r"(?<![\w./-])/solution/\S|(?<![\w./-])/solution$")
_RUNS = frozenset({"run", "call", "check_call", "check_output", "Popen", "system", "popen", "getoutput"})
_OUTSIDE = re.compile(r"^(https?|ftp)://(?!localhost|127\.|0\.0\.0\.0|\[::1?\]|[\w-]+[:/]|[\w-]+$)")
_EXISTENCE = frozenset(
    {"exists", "is_file", "is_dir", "isfile", "isdir", "lexists", "read_text", "read_bytes", "strip"}
)
_SIZES = frozenset({"getsize", "len", "stat"})
_ALWAYS = frozenset({"pytest", "_pytest", "support", "yaml", "distutils", "imp", "setuptools", "pkg_resources"})
_INSTALLS = re.compile(
    r"\bpip[\d.]*[\"',\s]+install|-m[\"',\s]+pip\b|\b(uv|conda|mamba|poetry|pdm|pipenv)\b|\.whl"
    r"|\bpython3?-(?!pip|pytest|yaml|venv|dev|minimal|full)\w"
)
_PLAIN_BASE = re.compile(r"^FROM\s+(--\S+\s+)?(\$\{?BASE_IMAGE\}?|debian|ubuntu|python|alpine)\b", re.M | re.I)


def test_findings(task: Candidate) -> Iterator[Finding]:
    """What is wrong with the files under /tests."""
    own = [f for f in task.tests if f.path not in _SKELETON and not f.path.startswith(f"{E0_COPIES}/")]
    for script in (file for file in own if file.path.endswith(".sh")):
        for number, command in network_commands(script.data().decode(errors="replace")):
            yield _fault(script, number, f"it installs or fetches while grading: {command}")
    trees: list[tuple[FileEntry, ast.Module]] = []
    for file in (file for file in own if file.path.endswith(".py")):
        tree = module_of(file.data().decode(errors="replace"))
        if tree is not None:
            trees.append((file, tree))
        elif _collected(file):
            yield _unparsed(file)
    collected = [(file, tree) for file, tree in trees if _collected(file)]
    for file, tree in trees:
        yield from _of_file(task, file, tree, own)
    for file, tree in collected:
        yield from path_findings(task, file.path.lstrip("/"), tree)
    yield from _of_suite(collected, trees)


def _of_file(task: Candidate, file: FileEntry, tree: ast.Module, own: Sequence[FileEntry]) -> Iterator[Finding]:
    ignored = {id(node) for node in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in ignored:
            if _SOLUTION.search(node.value):
                yield _fault(file, node.lineno, f"it reaches for the solution: {node.value[:100]!r}")
        elif isinstance(node, ast.Call):
            outside = _reaches_out(node)
            if outside is not None:
                yield _fault(file, node.lineno, f"it installs or fetches while grading: {outside}")
    for name, line in _missing_imports(task, tree, own):
        yield _fault(file, line, f"it imports {name}, which the image does not install")


def _of_suite(
    collected: list[tuple[FileEntry, ast.Module]], trees: list[tuple[FileEntry, ast.Module]]
) -> Iterator[Finding]:
    """What holds of all test files together; helpers count where tests lean on them."""
    if not collected:
        return
    first = collected[0][0]
    if not any(_is_test(node) for _, tree in collected for node in ast.walk(tree)):
        yield Finding(Component.VERIFIER, first.path.lstrip("/"), "it holds no test function")
        return
    nodes = [node for _, tree in trees for node in ast.walk(tree)]
    others = {called(node) or "" for node in nodes if isinstance(node, ast.Call)}
    if any(
        name.lower().startswith(("assert", "check", "expect", "verify", "fail")) or name == "raises" for name in others
    ):
        return
    if any(isinstance(node, ast.keyword) and node.arg == "check" for node in nodes):
        return
    assertions = [node for node in nodes if asserts(node)]
    if not assertions:
        yield Finding(Component.VERIFIER, first.path.lstrip("/"), "no test asserts anything")
    elif all(isinstance(node, ast.Assert) and _only_exists(node.test) for node in assertions):
        yield Finding(Component.VERIFIER, first.path.lstrip("/"), "its tests assert nothing but that files exist")


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")


def _only_exists(test: ast.expr) -> bool:
    """Existence, or that something is not empty; that something is not there is more."""
    if isinstance(test, ast.BoolOp):
        return all(_only_exists(value) for value in test.values)
    if isinstance(test, ast.Call):
        return called(test) in _EXISTENCE
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Gt | ast.GtE | ast.NotEq):
        right = test.comparators[0]
        size = {called(n) for n in ast.walk(test.left) if isinstance(n, ast.Call)} & _SIZES
        small = isinstance(right, ast.Constant) and right.value in {0, 1, ""}
        return small and bool(size) and not any(isinstance(n, ast.Subscript) for n in ast.walk(test.left))
    return False


def _reaches_out(call: ast.Call) -> str | None:
    """A command or an address that is spelt out and lies outside this machine."""
    name, first = called(call), call.args[0] if call.args else None
    if first is None:
        return None
    if name in _RUNS or name == "run_as_agent":
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return next((command for _, command in network_commands(first.value)), None)
        words = [n.value for n in first.elts if isinstance(n, ast.Constant)] if isinstance(first, ast.List) else []
        return reaches_out(joined([str(word) for word in words])) if words else None
    if not (isinstance(first, ast.Constant) and isinstance(first.value, str) and _OUTSIDE.match(first.value)):
        return None
    owner = call.func.value.id if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else ""
    return first.value[:100] if name in {"urlopen", "urlretrieve"} or owner in {"requests", "httpx"} else None


def _missing_imports(task: Candidate, tree: ast.Module, own: Sequence[FileEntry]) -> Iterator[tuple[str, int]]:
    """Modules that nothing can have brought. Where the image installs Python packages, only running can tell."""
    installed = _installed(task)
    if installed is None:
        return
    local = {part for file in own for part in PurePosixPath(file.path.removesuffix(".py")).parts}
    tried = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Try) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in tried:
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in (name.partition(".")[0] for name in names):
            if (
                name not in sys.stdlib_module_names
                and name not in _ALWAYS
                and name not in local
                and name not in installed
            ):
                yield name, getattr(node, "lineno", 1)


def _installed(task: Candidate) -> frozenset[str] | None:
    """Importable names beyond the base; None where they cannot be told."""
    if not _PLAIN_BASE.search(task.dockerfile) or len(re.findall(r"^FROM\b", task.dockerfile, re.M | re.I)) > 1:
        return None
    if task.e0 is not None and any(p.startswith("pip:") or "python3-" in p for p in task.e0.packages):
        return None
    texts = [task.dockerfile, *(file.content for file in task.context if file.encoding == "utf-8")]
    texts += [file.content for file in task.tests if file.path.endswith(".sh")]
    return None if any(_INSTALLS.search(text) for text in texts) else frozenset()


def _collected(file: FileEntry) -> bool:
    return _COLLECTED.search(PurePosixPath(file.path).name) is not None


def _unparsed(file: FileEntry) -> Finding:
    try:
        ast.parse(file.data().decode(errors="replace"))
    except SyntaxError as error:
        return _fault(file, error.lineno or 1, f"it does not parse: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return _fault(file, 1, f"it does not parse: {type(error).__name__}")
    raise AssertionError("unreachable")


def _fault(file: FileEntry, line: int, what: str) -> Finding:
    return Finding(Component.VERIFIER, f"{file.path.lstrip('/')}:{line}", what)
