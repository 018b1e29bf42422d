"""Records on their way into the store, many to a file: with a file each, 78,000 hypotheses would be 78,000 files.

Nothing that was paid for hangs on them: every answer is in the ledger before it is read, and a run that was killed
takes it from there. Does not belong here: what is stored.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from facet_dagster.ports import Store
from facet_dagster.records.base import StoredRecord

MOST = 64  # records that wait
LONGEST_S = 30.0  # that one waits while others come

R = TypeVar("R", bound=StoredRecord)


class Bulk(Generic[R]):
    """Takes records of one kind; all of them are in the store when the context is left, however it is left."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._waiting: list[R] = []
        self._since = 0.0

    def __enter__(self) -> "Bulk[R]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write()

    def add(self, *records: R) -> None:
        """Keep records, which come into the store together."""
        if not self._waiting:
            self._since = self._clock()
        self._waiting += records
        if len(self._waiting) >= MOST or self._clock() - self._since >= LONGEST_S:
            self._write()

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._store.put_all(waiting)
