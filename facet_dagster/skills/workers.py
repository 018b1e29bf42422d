"""Texts through the rules in as many processes as there are, each text once, in order.

Equal bytes with equal siblings are judged once per ingest. Does not belong here: the rules (reading).
"""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Generic, TypeVar

from facet_dagster.errors import InfrastructureError
from facet_dagster.records.base import digest_of
from facet_dagster.skills.reading import Judged, judge
from facet_dagster.skills.sources.entry import Entry

T = TypeVar("T")
Unit = tuple[bytes, int, tuple[str, ...]]

_CHUNK = 200  # texts that travel to a process together
POOL_FROM = 2 * _CHUNK
"""Texts from which processes are started; below, starting them takes longer than the work."""


def judge_all(units: list[Unit]) -> list[Judged]:
    """What a process does."""
    return [judge(*unit) for unit in units]


def _end_with_parent() -> None:
    """A process whose parent was killed would wait for work for ever."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


class Judges(Generic[T]):
    """Takes texts with what they are called, gives them back judged, in the order in which they came."""

    def __init__(self, workers: int | None) -> None:
        self._workers = workers or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None
        self._known: dict[str, Judged] = {}
        self._waiting: list[tuple[T, str]] = []
        self._units: dict[str, Unit] = {}
        self._flying: deque[tuple[list[tuple[T, str]], list[str], Future[list[Judged]]]] = deque()
        self._count = 0

    def __enter__(self) -> "Judges[T]":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def put(self, name: T, entry: Entry, content_hash: str) -> Iterator[tuple[T, Judged]]:
        """Take one text; gives what has been judged meanwhile."""
        key = digest_of("\0".join((content_hash, str(entry.size), *entry.siblings)))[:32]
        self._waiting.append((name, key))
        if key not in self._known:
            self._units.setdefault(key, (entry.data, entry.size, entry.siblings))
        self._count += 1
        if len(self._waiting) >= _CHUNK:
            yield from self._send()

    def rest(self) -> Iterator[tuple[T, Judged]]:
        """Everything that is still to be judged."""
        yield from self._send()
        while self._flying:
            yield from self._land()

    def _send(self) -> Iterator[tuple[T, Judged]]:
        names, keys, units = self._waiting, list(self._units), list(self._units.values())
        self._waiting, self._units = [], {}
        if self._workers == 1 or (self._pool is None and self._count < POOL_FROM):
            self._known.update(zip(keys, judge_all(units), strict=True))
            yield from ((name, self._known[key]) for name, key in names)
            return
        if self._pool is None:
            # Not forked: the threads of an embedding program may hold locks that a child would wait for for ever.
            self._pool = ProcessPoolExecutor(
                self._workers, mp_context=get_context("spawn"), initializer=_end_with_parent
            )
        self._flying.append((names, keys, self._pool.submit(judge_all, units)))
        while len(self._flying) > 2 * self._workers:
            yield from self._land()

    def _land(self) -> Iterator[tuple[T, Judged]]:
        names, keys, future = self._flying.popleft()
        try:
            self._known.update(zip(keys, future.result(), strict=True))
        except BrokenProcessPool as error:
            raise InfrastructureError(
                "a process that reads skills was killed (out of memory?): try again with FACET_INGEST_WORKERS=1"
            ) from error
        yield from ((name, self._known[key]) for name, key in names)
