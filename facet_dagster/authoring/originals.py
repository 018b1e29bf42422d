"""Copies of the initial state's files, taken from a container in state e0, for the verifier.

Not only of what the task edits: an input that the agent altered must not decide what the right outcome is.
"""

from facet_dagster.ports import Container
from facet_dagster.records.authoring import StateDiff
from facet_dagster.records.container import WORKDIR, FileEntry
from facet_dagster.records.environment import ObservedFile, ObservedState

MAX_FILE = 1_000_000
MAX_TOTAL = 4_000_000
MAX_FILES = 300


async def copy_originals(container: Container, e0: ObservedState, diff: StateDiff) -> tuple[FileEntry, ...]:
    """Regular files with their absolute paths, within bounds: first what the task changes or removes, then the rest
    below /app, smallest first.

    Git's own folders are left out: a task that holds a repository inside cannot be kept in one.
    """
    wanted = [c.before for c in diff.files if c.before and _kept(c.before)]
    changed = {file.path for file in wanted}
    rest = [f for f in e0.files if f.path.startswith(f"{WORKDIR}/") and f.path not in changed and _kept(f)]
    copies, room = [], MAX_TOTAL
    for file in [*sorted(wanted, key=_size), *sorted(rest, key=_size)][:MAX_FILES]:
        data = await container.read(file.path, max_bytes=MAX_FILE) if file.size <= room else None
        if data is not None:
            copies.append(FileEntry.of(file.path, data))
            room -= len(data)
    return tuple(sorted(copies, key=lambda entry: entry.path))


def describe(copies: tuple[FileEntry, ...], e0: ObservedState) -> str:
    """What is there for the author of the tests: all of /app, or what is missing of it."""
    there = {copy.path for copy in copies}
    beyond = sorted(path for path in there if not path.startswith(f"{WORKDIR}/"))
    missing = sorted(
        f.path for f in e0.files if f.type == "file" and f.path.startswith(f"{WORKDIR}/") and f.path not in there
    )
    lines = "every file that stood below /app" if not missing else "the files that stood below /app"
    if missing:
        named = [path for path in missing if "/.git/" not in path]
        shown = [*named[:20], *(["the rest by size"] if len(named) > 20 else [])]
        lines += f", without git's own folders{''.join(f', {path}' for path in shown)}"
    return lines + (f"; beside them {', '.join(beyond)}" if beyond else "")


def _kept(file: ObservedFile) -> bool:
    return file.type == "file" and file.size <= MAX_FILE and "/.git/" not in file.path


def _size(file: ObservedFile) -> tuple[int, str]:
    return file.size, file.path
