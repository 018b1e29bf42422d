"""Names that tests demand: keys, columns and short words of outputs, as they are spelt out in the test files.

Belongs here: reading them off, and leaving out whatever the tests make themselves or anybody knows. Whether the
environment tells of the rest, and whether an output holds it, only a container can say.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from facet_dagster.testfiles import called, docstrings, module_of
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.static.paths import WRITES, told_by_environment
from facet_dagster.validation.static.vocabulary import STANDARD

MOST = 300  # names that are looked up of one task
_SKELETON = frozenset({"/tests/grade.py", "/tests/support.py"})
_NAME = re.compile(r"[A-Za-z_][\w-]*(?: [\w-]+){0,3}", re.ASCII)
_LONGEST = 40
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_ENDINGS = ("ies", "ing", "ed", "es", "er", "s", "y", "e")
_HEADERS = re.compile(r"\bkeys\(|header|column|field|names\b|\bset\(|\[0\]")
_HEX = re.compile(r"[0-9a-f]{7,64}")
_MAKES = WRITES | {
    "write",
    "writelines",
    "writerow",
    "writerows",
    "writestr",
    "dumps",
    "executescript",
    "addfile",
    "Popen",
}
_QUERY = re.compile(r"\s*(select|pragma|with)\b", re.I)


@dataclass(frozen=True)
class Name:
    """A name and the place where a test demands it. `value`: it is compared with what an output holds."""

    text: str
    place: str  # file:line
    value: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """Its words, in lower case; numbers and words of one or two letters say nothing."""
        return tuple(part.lower() for part in _PARTS.findall(self.text) if len(part) > 2 and not part.isdigit())


def untold_names(task: Candidate) -> tuple[Name, ...]:
    """Names that tests demand and neither the instruction nor what is known of the environment tells."""
    instruction, environment = task.instruction.lower(), told_by_environment(task).lower()
    found: dict[str, Name] = {}
    for file in task.tests:
        if not file.path.endswith(".py") or file.path in _SKELETON or file.path.startswith("/tests/e0/"):
            continue
        tree = module_of(file.data().decode(errors="replace"))
        for text, line, value in _demanded(tree) if tree is not None else ():
            name = Name(text, f"{file.path.lstrip('/')}:{line}", value)
            lower = text.lower()
            if lower in instruction or lower in environment or all(stem(p) in instruction for p in name.parts):
                continue
            known = found.get(text)
            if known is None or (known.value and not value):
                found[text] = name
    return tuple(found.values())[:MOST]


def stem(word: str) -> str:
    """`levels` is told by `level`, `deliveries` by `delivery`."""
    ending = next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 3), "")
    return word.removesuffix(ending)


def _demanded(tree: ast.Module) -> Iterator[tuple[str, int, bool]]:
    """Each name with its line, and whether it is a value; without what the tests made themselves."""
    constants = _constants(tree)
    own, texts, patterns = _own(tree)
    for text, line, value in _spelt(tree, constants):
        known = text.lower() in STANDARD or text.lower() in own or any(text in longer for longer in texts)
        if known or _HEX.fullmatch(text) or len(text) > _LONGEST or not _NAME.fullmatch(text):
            continue
        if sum(map(str.isalpha, text)) >= 3 and not any(pattern.fullmatch(text) for pattern in patterns):
            yield text, line, value


def _spelt(tree: ast.Module, constants: dict[str, list[str]]) -> Iterator[tuple[str, int, bool]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and not _is_environ(node.value):
            yield from ((text, node.lineno, False) for text in _single(node.slice, constants))
        elif isinstance(node, ast.Call) and called(node) == "get" and isinstance(node.func, ast.Attribute):
            if node.args and not _is_environ(node.func.value):
                yield from ((text, node.lineno, False) for text in _single(node.args[0], constants))
        elif isinstance(node, ast.Call) and called(node) in {"assertEqual", "assertIn"} and len(node.args) > 1:
            operator = ast.Eq() if called(node) == "assertEqual" else ast.In()
            yield from _compared(node.args[0], operator, node.args[1], constants)
        elif isinstance(node, ast.Assert):
            yield from _asserted(node.test, constants)


def _asserted(test: ast.AST, constants: dict[str, list[str]]) -> Iterator[tuple[str, int, bool]]:
    """Comparisons that must hold. Of alternatives, and of what must not be, nothing is told."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        for left, operator, right in zip(sides, test.ops, sides[1:], strict=False):
            yield from _compared(left, operator, right, constants)
    for inner in ast.iter_child_nodes(test):
        yield from _asserted(inner, constants)


def _compared(
    left: ast.expr, operator: ast.cmpop, right: ast.expr, constants: dict[str, list[str]]
) -> Iterator[tuple[str, int, bool]]:
    if isinstance(operator, ast.In):
        if not isinstance(right, ast.List | ast.Tuple | ast.Set | ast.Dict | ast.Constant):
            yield from ((text, left.lineno, False) for text in _single(left, constants))
        return
    if not isinstance(operator, ast.Eq | ast.LtE | ast.GtE):
        return
    for side, other in ((left, right), (right, left)):
        if isinstance(side, ast.Constant):
            yield from ((text, side.lineno, True) for text in _single(side, constants))
            continue
        names = _HEADERS.search(ast.unparse(other)) is not None
        yield from ((text, side.lineno, not names) for text in _several(side, constants))


def _single(node: ast.AST, constants: dict[str, list[str]]) -> list[str]:
    if isinstance(node, ast.Name):
        held = constants.get(node.id, [])
        return held if len(held) == 1 else []
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _several(node: ast.AST, constants: dict[str, list[str]]) -> list[str]:
    """The strings of a collection; of a dict its keys."""
    if isinstance(node, ast.Name):
        return constants.get(node.id, [])
    if isinstance(node, ast.Call) and called(node) in {"set", "list", "tuple", "frozenset", "sorted"} and node.args:
        return _several(node.args[0], constants)
    entries: list[ast.expr] = []
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        entries = node.elts
    elif isinstance(node, ast.Dict):
        entries = [key for key in node.keys if key is not None]
    return [e.value for e in entries if isinstance(e, ast.Constant) and isinstance(e.value, str)]


def _constants(tree: ast.Module) -> dict[str, list[str]]:
    """Names at module level that hold a string, or a collection of strings (no dict: that is data of the tests)."""
    held: dict[str, list[str]] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign) or isinstance(node.value, ast.Dict):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name):
                held[target.id] = _single(node.value, {}) or _several(node.value, {})
    return held


def _own(tree: ast.Module) -> tuple[set[str], list[str], list[re.Pattern[str]]]:
    """What the tests make themselves: keys, longer texts, and patterns of texts that are put together."""
    compared = {id(side) for node in ast.walk(tree) if isinstance(node, ast.Compare) for side in node.comparators}
    asserted = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Assert) for inner in ast.walk(node)}
    ignored = {id(node) for node in docstrings(tree)}
    keys: set[str] = set()
    texts: list[str] = []
    patterns: list[re.Pattern[str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict) and id(node) not in compared:
            keys |= set(_several(node, {}))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            keys |= set(_single(node.slice, {}))
        elif isinstance(node, ast.Call):
            keys |= {word.arg for word in node.keywords if word.arg and called(node) == "dict"}
            keys |= set(_single(node.args[0], {})) if called(node) == "setdefault" and node.args else set()
            given = [word.value for word in node.keywords if word.arg == "input"]
            for part in [*node.args, *given] if called(node) in _MAKES or given else ():
                texts += [n.value for n in ast.walk(part) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            made = "\n" in node.value.strip() and id(node) not in asserted and not _QUERY.match(node.value)
            if (made and id(node) not in ignored) or "(?P<" in node.value:
                texts.append(node.value)
        elif isinstance(node, ast.JoinedStr) and id(node) not in asserted:
            patterns += _pattern(node)
    return {key.lower() for key in keys}, texts, patterns


def _pattern(node: ast.JoinedStr) -> list[re.Pattern[str]]:
    """What an f-string may become; one that says next to nothing of its own is none."""
    fixed = [part.value for part in node.values if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    if sum(char.isalpha() for text in fixed for char in text) < 2:
        return []
    pieces = [re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in node.values]
    return [re.compile("".join(pieces), re.S)]


def _is_environ(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "environ") or (
        isinstance(node, ast.Name) and node.id in {"environ", "env"}
    )
