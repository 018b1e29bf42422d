"""The store on a path or URL: immutable Parquet rows and content-addressed blobs, written by many processes at once.

Nobody locks anybody: every file is written under a temporary name and appears whole (architecture: the store).
Layout: `format.json`, `<table>/<group>/<key>.parquet`, `<table>/_compacted/<n>.parquet`, `blobs/<aa>/<sha256>`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from facet_dagster.adapters.store_blobs import Blobs
from facet_dagster.adapters.store_files import StoreFiles, base_name
from facet_dagster.adapters.store_format import check_format, mark_format
from facet_dagster.adapters.store_tables import Table
from facet_dagster.records.base import StoredRecord
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.drift import DriftCheck
from facet_dagster.records.evaluation import EvaluationTrial
from facet_dagster.records.rollout import Trial
from facet_dagster.records.seed import Candidate, Hypothesis, ScenarioSeed
from facet_dagster.records.sft import SftSet
from facet_dagster.records.skill import Skill, SkillClass, SkillEntry, SkillIngest, SkillReject
from facet_dagster.records.vectors import VectorBatch

R = TypeVar("R", bound=StoredRecord)

KINDS: tuple[type[StoredRecord], ...] = (
    Skill,
    SkillReject,
    SkillClass,
    SkillEntry,
    SkillIngest,
    Hypothesis,
    Candidate,
    ScenarioSeed,
    ComponentVersion,
    SeedOutcome,
    LedgerRow,
    Trial,
    VectorBatch,
    SftSet,
    EvaluationTrial,
    DriftCheck,
)


class ParquetStore:
    """Store on any fsspec file system. Opening writes nothing.

    Raises StoreTooNew or SettingsError when opened on what it cannot read, InfrastructureError when the disk
    fails later on.
    """

    def __init__(self, root: str) -> None:
        self._files = StoreFiles(root)
        self._marked = check_format(self._files)
        self._blobs = Blobs(self._files)
        self._tables: dict[str, Table] = {}

    @property
    def files(self) -> StoreFiles:
        """Where the store is, for readers of its files."""
        return self._files

    def put(self, record: StoredRecord) -> bool:
        """Keep a record; on disk when this returns. False where the address is taken and keeps what it has."""
        self._mark()
        return self._table(record.table).put(record)

    def put_all(self, records: Sequence[StoredRecord]) -> int:
        """Keep many records of one kind in one file; how many were new. On disk when this returns."""
        if not records:
            return 0
        self._mark()
        return self._table(records[0].table).put_all(records)

    def get(self, kind: type[R], group: str, key: str) -> R | None:
        """The record at an address."""
        return self._table(kind.table).get(kind, group, key)

    def get_all(self, kind: type[R], group: str, keys: Iterable[str]) -> dict[str, R]:
        """Those of many records of one group that are there, by key; each file is opened once."""
        return self._table(kind.table).get_all(kind, group, keys)

    def rows(self, kind: type[R], group: str | None = None) -> list[R]:
        """All records of a kind (of one group), in the order of group and key."""
        return self._table(kind.table).rows(kind, group)

    def keys(self, kind: type[StoredRecord], group: str | None = None) -> list[str]:
        """The keys of all records of a kind (of one group), in the order of group and key; no record is read."""
        return [key for _, key in self._table(kind.table).addresses(group)]

    def fields(self, kind: type[StoredRecord], names: Sequence[str], seen: set[str]) -> list[tuple[Any, ...]]:
        """The values of these plain fields, row by row, of the files that are not in `seen`, which is added to."""
        return self._table(kind.table).fields(names, seen)

    def put_blob(self, data: bytes) -> str:
        """Keep bytes; their SHA-256 is the address."""
        self._mark()
        return self._blobs.put(data)

    def get_blob(self, digest: str) -> bytes:
        """The bytes at an address. Raises InfrastructureError where they are missing or damaged."""
        return self._blobs.get(digest)

    def paths(self, kind: type[StoredRecord]) -> list[str]:
        """The Parquet files that hold a kind; a row may stand in two of them while a compaction is under way."""
        return self._table(kind.table).paths()

    def compact(self) -> int:
        """Merge the single-row files of every table; how many files that were."""
        present = {base_name(folder) for folder in self._files.folders(self._files.root)}
        return sum(self._table(kind.table).compact(kind) for kind in KINDS if kind.table in present)

    def _mark(self) -> None:
        if not self._marked:
            mark_format(self._files)
            check_format(self._files)  # another process, maybe a newer one, may have been first
            self._marked = True

    def _table(self, name: str) -> Table:
        return self._tables.setdefault(name, Table(self._files, name))
