"""G0, paths: a file that the tests demand is named by the instruction, or can be found out in the environment.

Only a path that the tests spell out, that they do not make themselves, and of which nothing is to be found is told.
"""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from facet_dagster.records.outcome import Component
from facet_dagster.testfiles import called, docstrings
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.outputs import named_folder
from facet_dagster.validation.static.finding import Finding

WRITES = frozenset(
    {"write_text", "write_bytes", "touch", "mkdir", "makedirs", "unlink", "rename", "replace", "remove", "rmtree"}
    | {"copy", "copy2", "copyfile", "copytree", "move", "symlink_to", "dump", "run", "call", "check_call", "Popen"}
    | {"check_output", "system", "run_as_agent"}
)
Names = dict[str, str]


def path_findings(task: Candidate, name: str, tree: ast.Module) -> Iterator[Finding]:
    """Files that one test file demands and nobody tells of."""
    known = told_by_environment(task)
    created = {c.path for c in task.diff.files if c.change == "added"} if task.diff else None
    for path, line in sorted(_demanded(tree, task.workdir).items()):
        if created is not None and path not in created:
            continue
        if not _discoverable(path, task, known):
            what = f"{path} is demanded, but neither the instruction nor the environment tells of it"
            yield Finding(Component.VERIFIER, f"{name}:{line}", what)


def told_by_environment(task: Candidate) -> str:
    """Everything in which a name may be found."""
    parts = [task.dockerfile]
    parts += [f"{file.path}\n{file.content}" for file in task.context if file.encoding == "utf-8"]
    parts += [f"{file.path} {file.sniffed} {file.sample}" for file in (task.e0.files if task.e0 else ())]
    return "\n".join(parts)


def _discoverable(path: str, task: Candidate, known: str) -> bool:
    pure = PurePosixPath(path)
    stated = "\n".join([task.instruction, *(task.contract.clauses.values() if task.contract else ())])
    if pure.name in stated or pure.name in known or pure.stem in known or named_folder(stated, path, task.workdir):
        return True
    # "the report as JSON": a name that can be guessed is no certain fault
    return pure.stem.lower() in stated.lower() and pure.suffix.lstrip(".").lower() in stated.lower()


def _demanded(tree: ast.Module, workdir: str) -> dict[str, int]:
    """Paths of files below the task's folder, with the line where they are first spelt out."""
    names = _constants(tree)
    spelt: dict[str, int] = {}
    made: set[str] = set()
    ignored = {id(node) for node in docstrings(tree)}
    for node in ast.walk(tree):
        if _excused(node):
            made |= {path for inner in ast.walk(node) if (path := _value(inner, names)) is not None}
        if not isinstance(node, ast.expr) or id(node) in ignored:
            continue
        path = _value(node, names)
        if path is not None and path.startswith(f"{workdir.rstrip('/')}/") and _is_file(path):
            spelt[path] = min(node.lineno, spelt.get(path, node.lineno))
    return {path: line for path, line in spelt.items() if path not in made}


def _excused(node: ast.AST) -> bool:
    """Where a path is made, handed to a program, or demanded not to be there."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Call) and called(node) == "open":
        mode = node.args[1] if len(node.args) > 1 else None
        return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and mode.value[:1] in {"w", "a", "x"}
    return isinstance(node, ast.Call) and called(node) in WRITES


def _is_file(path: str) -> bool:
    name = PurePosixPath(path).name
    return "." in name[1:] and not any(char in path for char in "*?[]{}<> \n\t%")


def _constants(tree: ast.Module) -> Names:
    """Module-level names that hold a path or text."""
    names: Names = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = _value(node.value, names)
            if value is not None:
                names[node.targets[0].id] = value
    return names


def _value(node: ast.AST, names: Names) -> str | None:
    """The text or path that an expression stands for, as far as it can be told."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Add):
        left, right = _value(node.left, names), _value(node.right, names)
        if left is None or right is None:
            return None
        return str(PurePosixPath(left, right)) if isinstance(node.op, ast.Div) else left + right
    if isinstance(node, ast.Call) and called(node) in {"Path", "PurePosixPath", "join"} and node.args:
        parts = [_value(argument, names) for argument in node.args]
        return str(PurePosixPath(*[p for p in parts if p is not None])) if None not in parts else None
    if isinstance(node, ast.JoinedStr):
        pieces = [_value(p.value if isinstance(p, ast.FormattedValue) else p, names) for p in node.values]
        return "".join(p for p in pieces if p is not None) if None not in pieces else None
    return None
