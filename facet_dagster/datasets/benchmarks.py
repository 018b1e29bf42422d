"""The texts of benchmark tasks, read from folders and files: what a training set must not repeat.

Of a Harbor task (a folder with task.toml, or task.yaml of its forerunner): instruction, solution and tests, of every
step where it has steps. Its environment is left out: image recipes and package lists are alike everywhere. Anything
else: *.txt, *.md, and *.jsonl, of which every row is a task.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from facet_dagster.errors import SettingsError

MARKS = ("task.toml", "task.yaml")
PARTS = ("instruction.md", "task.yaml", "solution.sh", "solution.yaml", "solution", "tests")
LOOSE = (".txt", ".md", ".jsonl")
MAX_BYTES = 2_000_000
"""Larger files of a task are data, not words; loose files have no limit."""


@dataclass(frozen=True)
class BenchmarkText:
    """One text of one benchmark task. `file` is relative to the folder that was given."""

    task: str
    file: str
    text: str


def read_benchmarks(places: Iterable[Path]) -> list[BenchmarkText]:
    """All texts below the places given, in the order of their paths.

    Raises SettingsError where a place is not there, or holds nothing that is read: a set must not be called
    clean because a path was wrong.
    """
    found: list[BenchmarkText] = []
    for place in places:
        texts = [text for text in _texts(place) if text.text.strip()]
        if not texts:
            raise SettingsError(
                f"no benchmark text in {place}: name a folder of Harbor tasks, or *.txt, *.md or *.jsonl files"
            )
        found += texts
    return found


def _texts(place: Path) -> Iterator[BenchmarkText]:
    if place.is_file():
        yield from _loose(place, place.name)
        return
    if not place.is_dir():
        raise SettingsError(f"the benchmark {place} is not there")
    tasks = {path.parent for mark in MARKS for path in place.rglob(mark)}
    for task in sorted(tasks):
        name = task.name if task == place else task.relative_to(place).as_posix()
        for path in _parts(task):
            data = _bytes(path)
            if b"\0" not in data:  # else no text; a text in an old encoding still has most of its words
                yield BenchmarkText(name, path.relative_to(place).as_posix(), data.decode(errors="replace"))
    for path in sorted(place.rglob("*")):
        if path.is_file() and path.suffix in LOOSE and tasks.isdisjoint(path.parents):
            yield from _loose(path, path.relative_to(place).as_posix())


def _parts(task: Path) -> Iterator[Path]:
    for path in (place / part for place in (task, *sorted(task.glob("steps/*"))) for part in PARTS):
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in files if file.is_file() and file.stat().st_size <= MAX_BYTES)


def _loose(path: Path, name: str) -> Iterator[BenchmarkText]:
    try:
        text = _bytes(path).decode()
    except UnicodeDecodeError as error:
        raise SettingsError(f"the benchmark file {path} is not UTF-8 text") from error
    if path.suffix != ".jsonl":
        yield BenchmarkText(name, name, text)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise SettingsError(f"{path}, line {number}, is not JSON: {error}") from error
            yield BenchmarkText(f"{name} row {number}", f"{name} row {number}", "\n".join(_strings(row)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror or error}") from error
