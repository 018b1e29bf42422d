"""A store in memory: records travel through JSON, as they do on disk, so that what cannot be kept fails here too."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from facet_dagster.errors import InfrastructureError
from facet_dagster.records.base import StoredRecord, digest_of

R = TypeVar("R", bound=StoredRecord)


class MemoryStore:
    """Store for tests; passes the same contract as the real one."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[tuple[str, str], str]] = {}
        self._blobs: dict[str, bytes] = {}

    def put(self, record: StoredRecord) -> bool:
        """Keep a record; False where the address is taken and keeps what it has."""
        rows, address = self._rows.setdefault(record.table, {}), (record.group, record.key)
        if address in rows:
            return False
        rows[address] = record.model_dump_json()
        return True

    def put_all(self, records: Sequence[StoredRecord]) -> int:
        """Keep many records of one kind; how many were new."""
        return sum(self.put(record) for record in records)

    def get(self, kind: type[R], group: str, key: str) -> R | None:
        """The record at an address."""
        text = self._rows.get(kind.table, {}).get((group, key))
        return kind.model_validate_json(text) if text is not None else None

    def get_all(self, kind: type[R], group: str, keys: Iterable[str]) -> dict[str, R]:
        """Those of many records of one group that are there, by key."""
        found = {key: self.get(kind, group, key) for key in keys}
        return {key: record for key, record in found.items() if record is not None}

    def rows(self, kind: type[R], group: str | None = None) -> list[R]:
        """All records of a kind (of one group), in the order of group and key."""
        rows = sorted(self._rows.get(kind.table, {}).items())
        return [kind.model_validate_json(text) for (owner, _), text in rows if group in (None, owner)]

    def keys(self, kind: type[StoredRecord], group: str | None = None) -> list[str]:
        """The keys of all records of a kind (of one group), in the order of group and key."""
        return [key for owner, key in sorted(self._rows.get(kind.table, {})) if group in (None, owner)]

    def fields(self, kind: type[StoredRecord], names: Sequence[str], seen: set[str]) -> list[tuple[Any, ...]]:
        """The values of these plain fields of all rows that came since `seen`, which is added to."""
        rows = self._rows.get(kind.table, {})
        fresh = {f"{group}/{key}": text for (group, key), text in rows.items() if f"{group}/{key}" not in seen}
        seen.update(fresh)
        records = [kind.model_validate_json(text) for text in fresh.values()]
        return [tuple(getattr(record, name) for name in names) for record in records]

    def put_blob(self, data: bytes) -> str:
        """Keep bytes; their SHA-256 is the address."""
        digest = digest_of(data)
        self._blobs[digest] = data
        return digest

    def get_blob(self, digest: str) -> bytes:
        """The bytes at an address. Raises InfrastructureError where they are missing."""
        if digest not in self._blobs:
            raise InfrastructureError(f"the store has lost the blob {digest}")
        return self._blobs[digest]
