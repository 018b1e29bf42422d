"""Rules of the house that no linter knows: sizes, first lines, plain files, living paths in the docs."""

import ast
import re
import statistics
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
DOMAIN = sorted((PROJECT / "facet_dagster").rglob("*.py"))
DEPLOYMENT = sorted(p for folder in ("assets", "resources", "sensors") for p in (PROJECT / folder).rglob("*.py"))
MODULES = DOMAIN + DEPLOYMENT
DOCUMENTS = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted((PROJECT / "docs").glob("*.md"))]


def _name(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_modules_stay_small() -> None:
    long = {_name(path): _lines(path) for path in MODULES if _lines(path) > 400}
    assert not long
    assert statistics.median(_lines(path) for path in MODULES) <= 120


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_functions_stay_small(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {f.name: f.end_lineno - f.lineno + 1 for f in functions if (f.end_lineno or 0) - f.lineno + 1 > 60}
    assert not long


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_every_module_says_its_purpose(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_broad_excepts_only_at_the_edges() -> None:
    broad = re.compile(r"except (Exception|BaseException)\b|except:")
    assert [_name(path) for path in MODULES if broad.search(path.read_text())] == []


def test_readme_is_short() -> None:
    assert _lines(PROJECT / "README.md") <= 150


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_paths_named_in_the_docs_exist(path: Path) -> None:
    folders = "facet_dagster|assets|resources|sensors|data|tests|docs|benchmarks|deploy"
    named = re.findall(rf"`((?:{folders})/[\w./-]+)`", path.read_text())
    made_by_a_run = ("data/store", "data/out", "data/dagster")
    missing = [name for name in named if not name.startswith(made_by_a_run) and not (PROJECT / name).exists()]
    assert not missing


def test_relative_links_in_the_docs_lead_somewhere() -> None:
    broken = []
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
            if not (document.parent / target).exists():
                broken.append(f"{_name(document)}: {target}")
    assert not broken
