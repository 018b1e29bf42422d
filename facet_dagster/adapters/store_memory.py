"""The rows that a process has met last, as JSON: a seed's own calls and versions are not read from disk again.

Rows never change, so nothing here is ever out of date, but for a file that somebody removes by hand: that is seen by
processes that start later.
"""

from collections import OrderedDict
from threading import Lock

Row = tuple[tuple[str, str], str]  # group and key, JSON
KEPT = 8_000_000  # characters, per table: some dozens of seeds in flight


class LatestRows:
    """Rows by the path of their file, the longest unused ones forgotten first. Threads may share it."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._rows: OrderedDict[str, Row] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, path: str) -> Row | None:
        """The row of a file that was kept, or None."""
        with self._lock:
            if path in self._rows:
                self._rows.move_to_end(path)
            return self._rows.get(path)

    def keep(self, path: str, row: Row) -> None:
        """Remember a row; one that is longer than all that may be kept is not."""
        with self._lock:
            if path in self._rows or len(row[1]) > self._kept:
                return
            self._rows[path] = row
            self._size += len(row[1])
            while self._size > self._kept:
                self._size -= len(self._rows.popitem(last=False)[1][1])
