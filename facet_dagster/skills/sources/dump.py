"""A dump of a corpus: one row per SKILL.md, as Parquet or as JSON lines.

Columns: `path` (of the file) and `text` or `raw_b64`; and, where they are there, `repo`, `licence`, `symlink_target`,
`sibling_files`. Rows are read in batches, so that a dump may be larger than the memory.
"""

import base64
import binascii
import json
import posixpath
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from facet_dagster.errors import SettingsError
from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.licence import is_collection, is_licence_file
from facet_dagster.skills.refusal import Refusal
from facet_dagster.skills.sources.entry import MAX_BYTES, MAX_SIBLINGS, Entry, LicenceText, place_of

DUMPS = (".parquet", ".jsonl", ".ndjson")
_COLUMNS = ("repo", "path", "licence", "text", "raw_b64", "symlink_target", "sibling_files")
_BATCH = 256
_AHEAD = 8  # batches that are decoded before they are needed
_LONGEST_LINE = 64 << 20  # bytes of one JSON line; a longer one is no row of skills


class DumpSource:
    """The rows of a dump, in their order. A second row of one file is not read."""

    version = ""

    def __init__(self, file: Path, name: str) -> None:
        self.file, self.name = file, name
        self.place = place_of(file)

    def entries(self) -> Iterator[Entry]:
        """Raises SettingsError for a damaged file or one without the columns."""
        seen: set[tuple[str, str]] = set()
        rows = self._parquet() if self.file.name.lower().endswith(".parquet") else self._lines()
        for row in rows:
            entry = _entry(row, self.name)
            if (entry.source, entry.path) not in seen:
                seen.add((entry.source, entry.path))
                yield entry

    def _parquet(self) -> Iterator[Mapping[str, Any]]:
        try:
            file = pq.ParquetFile(self.file)
            names = set(file.schema_arrow.names)
            if "path" not in names or not names & {"text", "raw_b64"}:
                raise SettingsError(f"{self.file} is no dump of skills: it needs the columns path, and text or raw_b64")
            columns = [name for name in _COLUMNS if name in names]
            for batch in _ahead(file.iter_batches(batch_size=_BATCH, columns=columns)):
                yield from _rows(batch)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            said = (str(error).splitlines() or ["not Parquet"])[0]
            raise SettingsError(f"{self.file} cannot be read as a dump of skills: {said}") from error

    def _lines(self) -> Iterator[Mapping[str, Any]]:
        try:
            with self.file.open("rb") as stream:
                number = 0
                while line := stream.readline(_LONGEST_LINE):
                    number += 1
                    if line.strip():
                        yield self._row(line, number)
        except OSError as error:
            raise SettingsError(f"{self.file} cannot be read: {error.strerror}") from error

    def _row(self, line: bytes, number: int) -> Mapping[str, Any]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SettingsError(f"{self.file}, line {number}, is not JSON: {error}") from error
        if not isinstance(row, dict) or not isinstance(row.get("path"), str) or not row.keys() & {"text", "raw_b64"}:
            raise SettingsError(f"{self.file}, line {number}, is no row of skills: it needs path, and text or raw_b64")
        return row


def _ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, decoded by a thread while those before them are worked on."""
    with ThreadPoolExecutor(1) as pool:
        following = deque(pool.submit(next, batches, None) for _ in range(_AHEAD))
        while (batch := following.popleft().result()) is not None:
            following.append(pool.submit(next, batches, None))
            yield batch


def _rows(batch: pa.RecordBatch) -> Iterator[Mapping[str, Any]]:
    """Texts as the bytes they are: decoding them, only to encode them again, would be a tenth of the reading."""
    names = batch.schema.names
    columns = [_undecoded(batch.column(name)) if name == "text" else batch.column(name) for name in names]
    for values in zip(*(column.to_pylist() for column in columns), strict=True):
        yield dict(zip(names, values, strict=True))


def _undecoded(texts: pa.Array) -> pa.Array:
    return texts.view(pa.binary()) if pa.types.is_string(texts.type) else texts


def _entry(row: Mapping[str, Any], name: str) -> Entry:
    source, path = _safe(row.get("repo") or name), _safe(row["path"])
    folder = posixpath.dirname(path) or "."
    data = _bytes(row)
    if row.get("symlink_target"):
        # Where it leads is another row, if it is in the dump at all: a second way to the same skill.
        refusal = Refusal(SkillFault.DUPLICATE, f"SKILL.md is a symbolic link to {_safe(row['symlink_target'])}")
        return Entry(source=source, path=folder, refusal=refusal)
    if isinstance(data, Refusal):
        return Entry(source=source, path=folder, refusal=data)
    given = row.get("sibling_files")
    siblings = sorted(_safe(each) for each in given) if isinstance(given, list) else []
    return Entry(
        source=source,
        path=folder,
        data=data[:MAX_BYTES],
        size=len(data),
        siblings=tuple(siblings[:MAX_SIBLINGS]),
        siblings_cut=len(siblings) > MAX_SIBLINGS,
        licences=_licences(row, source, siblings),
    )


def _safe(value: object) -> str:
    """Text that can be stored: JSON may hold lone surrogates, which no encoding takes."""
    if isinstance(value, str) and value.isascii():
        return value
    return str(value).encode("utf-8", errors="backslashreplace").decode()


def _bytes(row: Mapping[str, Any]) -> bytes | Refusal:
    if isinstance(raw := row.get("raw_b64"), str):
        try:
            return base64.b64decode(raw, validate=True)
        except (binascii.Error, ValueError):
            return Refusal(SkillFault.UNREADABLE, "raw_b64 is not base64")
    text = row.get("text")
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        return Refusal(SkillFault.UNREADABLE, "the row has no text")
    return text.encode("utf-8", errors="surrogatepass")  # a lone surrogate is then no UTF-8, as it was none before


def _licences(row: Mapping[str, Any], source: str, siblings: list[str]) -> tuple[LicenceText, ...]:
    """A dump says which licence it found; for a collection that is the collection's, which proves nothing."""
    own = next((each for each in siblings if "/" not in each and is_licence_file(each)), None)
    said = "" if is_collection(source) else _safe(row.get("licence") or "")
    if own is None and not said:
        return ()
    return (LicenceText(own or "the repository's licence", said, own=own is not None),)
