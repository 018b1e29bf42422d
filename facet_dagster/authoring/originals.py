"""Copies of what the task edits in place or removes, taken from a container in state e0, for the verifier."""

from facet_dagster.ports import Container
from facet_dagster.records.authoring import StateDiff
from facet_dagster.records.container import FileEntry

MAX_FILE = 1_000_000
MAX_TOTAL = 4_000_000
E0 = "/tests/e0"


async def copy_originals(container: Container, diff: StateDiff) -> tuple[FileEntry, ...]:
    """Changed and removed files with their absolute paths, within bounds, smallest first where not all fit."""
    wanted = [
        change.before
        for change in diff.files
        if change.before and change.before.type == "file" and change.before.size <= MAX_FILE
    ]
    copies, room = [], MAX_TOTAL
    for file in sorted(wanted, key=lambda f: (f.size, f.path)):
        data = await container.read(file.path, max_bytes=MAX_FILE) if file.size <= room else None
        if data is not None:
            copies.append(FileEntry.of(file.path, data))
            room -= len(data)
    return tuple(sorted(copies, key=lambda entry: entry.path))


def at_tests(copies: tuple[FileEntry, ...]) -> list[FileEntry]:
    """The copies where the verifier finds them: /app/a.csv at /tests/e0/app/a.csv."""
    return [copy.model_copy(update={"path": f"{E0}{copy.path}"}) for copy in copies]
