"""Tables of the store: one immutable file per record, merged by compaction, each row seen exactly once.

`<root>/<table>/<group>/<key>.parquet` holds one row; `<root>/<table>/_compacted/<n>.parquet` many. Compaction
writes the merged file first and removes the single ones afterwards. Readers therefore look at single files
first and at compacted ones second: a row that leaves the first place is already in the second. What is seen
in both places counts once; the compacted one, being older, wins.
"""

import gc
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, TypeVar
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from facet_dagster.adapters.store_files import StoreFiles, base_name, file_name
from facet_dagster.adapters.store_format import parquet_bytes, parse
from facet_dagster.adapters.store_memory import LatestRows
from facet_dagster.errors import InfrastructureError
from facet_dagster.records.base import StoredRecord

R = TypeVar("R", bound=StoredRecord)
Address = tuple[str, str]  # group, key
COMPACTED = "_compacted"  # no group can be called so, see store_files.file_name
_SUFFIX = ".parquet"
_FILES_KEPT = 8  # compacted files whose bytes stay in memory
_MERGED = 32_000_000  # characters of records that one compacted file takes in
_GROUPS_AT_ONCE = 16  # row groups that are read in one go


class Table:
    """One table of the store. Keeps an index of the compacted files it has seen; they never change.

    Threads share it. They take turns at the index alone: while one waits for the disk, the others go on.
    """

    def __init__(self, files: StoreFiles, name: str) -> None:
        self._files = files
        self._folder = files.path(name)
        # group -> key -> compacted file, row: what belongs together is found without looking at all the rest
        self._index: dict[str, dict[str, tuple[str, int]]] = {}
        self._seen: set[str] = set()
        self._kept: OrderedDict[str, pq.ParquetFile] = OrderedDict()
        self._latest = LatestRows()
        self._lock = RLock()  # of the index and the compacted files

    def put(self, record: StoredRecord) -> bool:
        """Write one row; False where its address is taken, if only by a moment."""
        address = (record.group, record.key)
        path = self._single(address)
        if self._files.exists(path):
            return False
        self._refresh()
        if self._place(address) is not None:
            return False
        with self._lock:  # for the disk they wait side by side; at the same work they would only be in each other's way
            data = parquet_bytes([record])
        if not self._files.write(path, data):
            return False
        self._latest.keep(path, (address, record.model_dump_json()))
        return True

    def put_all(self, records: Sequence[StoredRecord]) -> int:
        """Write the rows whose address is free into one compacted file; how many those were."""
        self._refresh()
        present = {base_name(folder) for folder in self._files.folders(self._folder)}
        groups = {record.group for record in records if file_name(record.group) in present}
        taken = {path for group in groups for path in self._singles(group)}
        fresh: dict[Address, StoredRecord] = {}
        for record in records:
            address = (record.group, record.key)
            if self._place(address) is None and self._single(address) not in taken:
                fresh.setdefault(address, record)
        self._write_compacted([fresh[address] for address in sorted(fresh)])
        return len(fresh)

    def get(self, kind: type[R], group: str, key: str) -> R | None:
        """One row: one file is opened, or one row group of a compacted file."""
        address = (group, key)
        if self._place(address) is None:
            path = self._single(address)
            if row := self._read_single(path):
                return parse(kind, row[1], path)
            self._refresh()
        place = self._place(address)
        if place is None:
            return None
        path, number = place
        ((_, text),) = self._records(path, [number])
        return parse(kind, text, path)

    def get_all(self, kind: type[R], group: str, keys: Iterable[str]) -> dict[str, R]:
        """Those rows of one group that are there, in the order of `keys`; each file is opened once."""
        wanted = [(group, key) for key in dict.fromkeys(keys)]
        self._refresh()
        found: dict[Address, R] = {}
        for address in wanted:
            if self._place(address) is None and (row := self._read_single(self._single(address))):
                found[address] = parse(kind, row[1], self._single(address))
        self._refresh()  # what was compacted while we looked
        found.update(self._from_compacted(kind, [each for each in wanted if each not in found]))
        return {address[1]: found[address] for address in wanted if address in found}

    def rows(self, kind: type[R], group: str | None) -> list[R]:
        """All rows (of one group) in the order of group and key."""
        found: dict[Address, R] = {}
        for path in self._singles(group):
            row = self._read_single(path)
            if row:
                found[row[0]] = parse(kind, row[1], path)
        self._refresh()
        found.update(self._from_compacted(kind, self._indexed(group)))
        return [found[address] for address in sorted(found)]

    def _from_compacted(self, kind: type[R], wanted: Sequence[Address]) -> dict[Address, R]:
        """Those that stand in compacted files, file by file."""
        by_file: dict[str, dict[int, Address]] = {}
        for address in wanted:
            if (place := self._place(address)) is not None:
                path, row = place
                by_file.setdefault(path, {})[row] = address
        with _uncollected():
            return {
                here[row]: parse(kind, text, path)
                for path, here in sorted(by_file.items())
                for row, text in self._records(path, here)
            }

    def addresses(self, group: str | None) -> list[Address]:
        """All addresses (of one group), sorted; a file is opened only where its name does not tell them."""
        found: set[Address] = set()
        for path in self._singles(group):
            owner, key = path.removesuffix(_SUFFIX).split("/")[-2:]
            if owner == file_name(owner) and key == file_name(key):
                found.add((owner, key))
            elif row := self._read_single(path):
                found.add(row[0])
        self._refresh()
        found.update(self._indexed(group))
        return sorted(found)

    def fields(self, names: Sequence[str], seen: set[str]) -> list[tuple[Any, ...]]:
        """The values of these columns in the files that are not in `seen`, which is added to once all are read."""
        rows: list[tuple[Any, ...]] = []
        done: set[str] = set()
        while fresh := [path for path in self.paths() if path not in seen and path not in done]:
            for path in fresh:
                data = self._files.read(path)
                done.add(path)
                if data is None:  # compacted away: its row is in a file that the next look finds
                    continue
                with _damage(path):
                    table = _open(data).read(columns=list(names), use_threads=False)
                    rows += zip(*(table[name].to_pylist() for name in names), strict=True)
        seen |= done
        return rows

    def paths(self) -> list[str]:
        """All files of the table, the single ones listed before the compacted ones."""
        return [*self._singles(None), *self._compacted_paths()]

    def compact(self, kind: type[R]) -> int:
        """Merge the single files into larger ones; how many there were. Safe at any time, by several processes."""
        self._refresh()
        merged, bytes_ = dict[str, tuple[Address, str]](), 0
        count = 0
        for path in list(self._singles(None)):
            if row := self._on_disk(path):  # which is about to be removed
                merged[path] = row
                bytes_ += len(row[1])
            if bytes_ > _MERGED:  # all at once would not fit in memory
                count, bytes_ = count + self._merge(kind, merged), 0
                merged = {}
        return count + self._merge(kind, merged)

    def _merge(self, kind: type[R], rows: dict[str, tuple[Address, str]]) -> int:
        """Write the rows of single files, by path, into one compacted file and remove them; how many there were."""
        fresh = {address: text for address, text in rows.values() if self._place(address) is None}
        self._write_compacted([parse(kind, fresh[address], self._folder) for address in sorted(fresh)])
        for path in rows:
            self._files.remove(path)
        return len(rows)

    def _place(self, address: Address) -> tuple[str, int] | None:
        return self._index.get(address[0], {}).get(address[1])

    def _indexed(self, group: str | None) -> list[Address]:
        with self._lock:
            groups = self._index if group is None else [group]
            return [(each, key) for each in groups for key in self._index.get(each, ())]

    def _write_compacted(self, records: Sequence[StoredRecord]) -> None:
        if records:
            name = f"{time.time_ns():020d}-{uuid4().hex[:8]}{_SUFFIX}"
            self._files.write(f"{self._folder}/{COMPACTED}/{name}", parquet_bytes(records))

    def _single(self, address: Address) -> str:
        return f"{self._folder}/{file_name(address[0])}/{file_name(address[1])}{_SUFFIX}"

    def _singles(self, group: str | None) -> Iterator[str]:
        folders = self._files.folders(self._folder) if group is None else [f"{self._folder}/{file_name(group)}"]
        for folder in folders:
            if base_name(folder) != COMPACTED:
                yield from self._files.files(folder, _SUFFIX)

    def _read_single(self, path: str) -> tuple[Address, str] | None:
        """Address and JSON of a single row; None where it was compacted away since it was listed."""
        row = self._latest.get(path) or self._on_disk(path)
        if row is not None:
            self._latest.keep(path, row)
        return row

    def _on_disk(self, path: str) -> tuple[Address, str] | None:
        data = self._files.read(path)
        if data is None:
            return None
        with _damage(path):
            row = _open(data).read(columns=["group_", "key_", "record"], use_threads=False).to_pylist()[0]
        return (row["group_"], row["key_"]), row["record"]

    def _compacted_paths(self) -> list[str]:
        return self._files.files(f"{self._folder}/{COMPACTED}", _SUFFIX)

    def _refresh(self) -> None:
        """Index the compacted files that have come since the last look, the oldest first."""
        paths = self._compacted_paths()
        with self._lock:
            for path in paths:
                if path not in self._seen:
                    self._learn(path)

    def _learn(self, path: str) -> None:
        with _damage(path):
            table = self._compacted(path).read(columns=["group_", "key_"], use_threads=False)
        for row, address in enumerate(zip(table["group_"].to_pylist(), table["key_"].to_pylist(), strict=True)):
            self._index.setdefault(address[0], {}).setdefault(address[1], (path, row))
        self._seen.add(path)

    def _records(self, path: str, rows: Collection[int]) -> Iterator[tuple[int, str]]:
        """Number and JSON of some rows of a compacted file; only the row groups that hold them are read."""
        with self._lock:
            file, start = self._compacted(path), 0
        together: dict[int, list[int]] = {}  # row group -> its rows
        for number in range(file.num_row_groups):
            end = start + file.metadata.row_group(number).num_rows
            if any(row in rows for row in range(start, end)):
                together[number] = list(range(start, end))
            if len(together) == _GROUPS_AT_ONCE or (together and number == file.num_row_groups - 1):
                with self._lock, _damage(path):  # one reader at a time has the file
                    column = file.read_row_groups(list(together), columns=["record"], use_threads=False)["record"]
                numbers = (row for group in together.values() for row in group)
                yield from ((row, text) for row, text in zip(numbers, column.to_pylist(), strict=True) if row in rows)
                together = {}
            start = end

    def _compacted(self, path: str) -> pq.ParquetFile:
        if path not in self._kept:
            data = self._files.read(path)
            if data is None:
                raise InfrastructureError(f"{path} has been removed from the store by hand")
            with _damage(path):
                self._kept[path] = _open(data)
        self._kept.move_to_end(path)
        while len(self._kept) > _FILES_KEPT:
            self._kept.popitem(last=False)
        return self._kept[path]


def _open(data: bytes) -> pq.ParquetFile:
    # Read in this thread: Arrow's own threads may outlive the interpreter of a short command and abort it.
    return pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for garbage meanwhile: records hold no cycles, and it would go through all of them again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _damage(path: str) -> Iterator[None]:
    """Whatever a damaged or foreign file brings about is one error that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError, IndexError) as error:
        raise InfrastructureError(f"{path} is damaged: remove it, what it held is made again") from error
