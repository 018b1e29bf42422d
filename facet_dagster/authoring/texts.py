"""Small text files of a container in full: what a prompt shows, its author need not spend a look on.

Belongs here: which files, in which order, how much. How they are shown stands in prompts/views.py.
"""

from collections.abc import Iterable
from pathlib import PurePosixPath

from facet_dagster.ports import Container
from facet_dagster.records.authoring import StateDiff
from facet_dagster.records.container import WORKDIR
from facet_dagster.records.environment import ObservedFile, ObservedState

RULE_FILE, RULE_ROOM = 6_000, 10_000  # bytes of one file, characters of all
RESULT_FILE, RESULT_ROOM = 2_500, 6_000

_DOCUMENTS = frozenset({"", ".md", ".txt", ".rst"})
_SETTINGS = frozenset({".toml", ".ini", ".conf", ".cfg", ".yaml", ".yml", ".json", ".env"})
_RECORDS = ("CSV", "TSV", "JSON lines", "empty")  # how the sniffer begins where lines are data
_DATA = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".log"})


async def rule_texts(container: Container, e0: ObservedState) -> dict[str, str]:
    """Path -> text of the files of e0 below /app that are likely to hold rules: documents, settings, then programs.

    Data (tables, lines of records, logs) are left to their first lines and to looks. Raises InfrastructureError.
    """
    wanted = [f for f in e0.files if f.path.startswith(f"{WORKDIR}/") and "/.git/" not in f.path and not _is_data(f)]
    return await _read(container, sorted(wanted, key=_rank), RULE_FILE, RULE_ROOM)


async def result_texts(container: Container, diff: StateDiff) -> dict[str, str]:
    """Path -> text of the files that a solution made or changed, the smallest first. Raises InfrastructureError."""
    made = [c.after for c in diff.files if c.after and "/.git/" not in c.path]
    return await _read(container, sorted(made, key=lambda file: (file.size, file.path)), RESULT_FILE, RESULT_ROOM)


def _is_data(file: ObservedFile) -> bool:
    return (file.sniffed or "").startswith(_RECORDS) or PurePosixPath(file.path).suffix.lower() in _DATA


def _rank(file: ObservedFile) -> tuple[int, int, str]:
    suffix = PurePosixPath(file.path).suffix.lower()
    kind = 0 if suffix in _DOCUMENTS else 1 if suffix in _SETTINGS else 2
    return kind, file.size, file.path


async def _read(container: Container, files: Iterable[ObservedFile], largest: int, room: int) -> dict[str, str]:
    texts: dict[str, str] = {}
    for file in files:
        # A sample is there for text only.
        if file.type != "file" or file.sample is None or file.size > min(largest, room):
            continue
        data = await container.read(file.path, max_bytes=largest)
        if data is not None:
            texts[file.path] = data.decode(errors="replace")
            room -= len(texts[file.path])
    return texts
