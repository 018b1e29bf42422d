"""What a file's content looks like, in one line, with a short sample of text. Runs inside the container.

Standard library only; beside observer.py, which calls `sniff`. Nothing in a file may raise out of here.
"""

import csv
import io
import itertools
import json
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAX_READ = 20_000_000
SAMPLE_LINES, SAMPLE_CHARACTERS = 5, 400
LINE = 600  # characters of a description
# What readers of damaged files are known to raise.
BROKEN = (
    *(OSError, ValueError, KeyError, IndexError, EOFError, RecursionError, MemoryError, OverflowError),
    *(csv.Error, sqlite3.Error, tarfile.TarError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError),
)
MAGIC = (
    (b"\x7fELF", "ELF binary"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"\x89PNG", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF", "PDF document"),
    (b"RIFF", "RIFF data"),
)


def sniff(path: str, size: int) -> tuple[str | None, str | None]:
    """(description, sample): the sample is None for what is not text."""
    if size == 0:
        return "empty", None
    try:
        with open(path, "rb") as stream:  # noqa: PTH123  # no Path for each of thousands of files
            data = stream.read(min(size, MAX_READ))
    except OSError:
        return "unreadable", None
    try:
        text = None if b"\0" in data[:8_192] else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = None
    if text is None:
        return described(lambda: binary(path, data)) or "binary", None
    description = described(lambda: structured(path, text)) or plain(text)
    return description, sample(text)


def described(read: Callable[[], str | None]) -> str | None:
    """The description, or None where the content is not what it seemed to be."""
    try:
        line = read()
    except BROKEN:
        return None
    # JSON may hold halves of surrogate pairs, which cannot be written down.
    return line[:LINE].encode(errors="replace").decode() if line else None


def sample(text: str) -> str:
    """The first lines."""
    lines = text[: SAMPLE_CHARACTERS * 4].splitlines()[:SAMPLE_LINES]
    return "\n".join(lines)[:SAMPLE_CHARACTERS]


def plain(text: str) -> str:
    """Text without a known structure."""
    first = text.split("\n", 1)[0]
    kind = f"script ({first[2:60].strip()})" if first.startswith("#!") else "text"
    ends = ", CRLF line ends" if "\r\n" in text else ""
    return f"{kind}, {len(text.splitlines())} lines{ends}"


def structured(path: str, text: str) -> str | None:
    """JSON, JSON lines, or a table, by what the name suggests and the content confirms."""
    suffix = Path(path).suffix.lower()
    if suffix in {".csv", ".tsv"}:
        return table(text, "\t" if suffix == ".tsv" else None)
    if suffix in {".jsonl", ".ndjson"}:
        return json_lines(text)
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return f"JSON {shape(json.loads(text))}"
        except ValueError:
            return json_lines(text) if suffix != ".json" else f"broken JSON, {len(text.splitlines())} lines"
    return None


def shape(value: Any, depth: int = 3) -> str:
    """The shape of a JSON value: keys with types, first element of a list for all."""
    if isinstance(value, dict):
        if depth == 0:
            return "{…}"
        inner = [f"{key}: {shape(inner, depth - 1)}" for key, inner in itertools.islice(value.items(), 20)]
        return "{" + ", ".join([*inner, "…"] if len(value) > 20 else inner) + "}"
    if isinstance(value, list):
        return f"[{len(value)} × {shape(value[0], depth - 1)}]" if value and depth else f"[{len(value)}]"
    return "null" if value is None else type(value).__name__


def json_lines(text: str) -> str | None:
    """JSON lines: shape of the first object, how many lines are objects, how many are broken."""
    good, broken, first = 0, 0, None
    for line in filter(str.strip, text.splitlines()):
        try:
            value = json.loads(line)
        except ValueError:
            broken += 1
            continue
        good += 1
        first = value if first is None else first
    if good == 0 or (broken > good):
        return None
    return f"JSON lines: {good} lines of {shape(first, 2)}" + (f", {broken} broken" if broken else "")


def table(text: str, delimiter: str | None) -> str | None:
    """A CSV or TSV: delimiter, header with types, rows, and rows whose width differs from the header's."""
    mark = delimiter or max(",;\t|", key=text.partition("\n")[0].count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if row]
    if not rows:
        return None
    header, body = rows[0], rows[1:]
    odd = sum(len(row) != len(header) for row in body)
    columns = [
        f"{name.strip()}:{type_of_column([row[index] for row in body[:2_000] if index < len(row)])}"
        for index, name in enumerate(header[:40])
    ]
    name = {"\t": "TSV", ",": "CSV"}.get(mark, f"CSV ({mark})")
    return f"{name} {len(body)} rows: {', '.join(columns)}" + (f"; {odd} rows of another width" if odd else "")


def type_of_column(values: list[str]) -> str:
    """int, float or str, with `?` where some values are empty and `mixed` where only some are numbers."""
    filled = [value.strip() for value in values if value.strip()]
    if not filled:
        return "empty"
    kinds = {kind_of(value) for value in filled}
    name = kinds.pop() if len(kinds) == 1 else "float" if kinds == {"int", "float"} else "mixed"
    return name + ("?" if len(filled) < len(values) else "")


def kind_of(value: str) -> str:
    """The narrowest type that a cell can be read as."""
    for name, read in (("int", int), ("float", float)):
        try:
            read(value)
        except ValueError:
            continue
        return name
    return "str"


def binary(path: str, data: bytes) -> str | None:
    """SQLite, archives, and what a signature tells."""
    if data.startswith(b"SQLite format 3\0"):
        return sqlite(path) or "SQLite database that cannot be read"
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return members("zip", archive.namelist())
    inner = described(lambda: tar(path)) if data[257:262] == b"ustar" or data.startswith(compressed()) else None
    if inner:
        return inner
    named = next((name for magic, name in MAGIC if data.startswith(magic)), None)
    return named or ("text that is not UTF-8" if b"\0" not in data else None)


def compressed() -> tuple[bytes, ...]:
    """Signatures of compressed streams that may hold a tar archive."""
    return tuple(magic for magic, name in MAGIC if name in {"gzip data", "bzip2 data", "xz data"})


def tar(path: str) -> str | None:
    """A tar archive, compressed or not; at most 10,000 members are counted."""
    with tarfile.open(path) as archive:
        names = [member.name for member in itertools.islice(archive, 10_000)]
    return members("tar", names) if names else None


def members(kind: str, names: list[str]) -> str:
    """How many members, and the first names."""
    return f"{kind} archive, {len(names)} members: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}"


def sqlite(path: str) -> str | None:
    """Tables with their columns and row counts; the file is opened so that nothing can be written beside it."""
    return described(lambda: tables(path))


def tables(path: str) -> str:
    """Reads the schema; every table's rows are counted."""
    connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        names = [
            str(row[0])
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name LIMIT 40")
        ]
        return "SQLite: " + "; ".join(one_table(connection, name) for name in names)
    finally:
        connection.close()


def one_table(connection: sqlite3.Connection, name: str) -> str:
    """`name(column type, …) n rows`."""
    escaped = name.replace('"', '""')
    columns = connection.execute(f'PRAGMA table_info("{escaped}")').fetchall()
    count = connection.execute(f'SELECT count(*) FROM "{escaped}"').fetchone()[0]
    return f"{name}({', '.join(f'{column[1]} {column[2]}'.strip() for column in columns)}) {count} rows"
