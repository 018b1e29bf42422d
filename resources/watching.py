"""Onlookers as a Dagster resource: who sees a run live beside the event log, for example a terminal.

The default says nothing. `facet run` puts its progress display here (build_defs overrides, key `onlooker`).
"""

from collections.abc import Sequence
from typing import Protocol

from facet_dagster.construction import Watcher
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome
from facet_dagster.records.outcome import Component


class Onlooker(Watcher, Protocol):
    """A Watcher that also takes notes: one line about the run as a whole, from stations without seeds."""

    def note(self, text: str) -> None: ...


class NoOnlooker:
    """Sees everything and says nothing."""

    def note(self, text: str) -> None:
        """Ignored."""

    def started(self, seed: str, component: Component, round: int) -> None:
        """Ignored."""

    def finished(self, version: ComponentVersion) -> None:
        """Ignored."""

    def ended(self, outcome: SeedOutcome) -> None:
        """Ignored."""


class Watchers:
    """Tells several watchers, in order."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self._watchers = tuple(watchers)

    def started(self, seed: str, component: Component, round: int) -> None:
        for watcher in self._watchers:
            watcher.started(seed, component, round)

    def finished(self, version: ComponentVersion) -> None:
        for watcher in self._watchers:
            watcher.finished(version)

    def ended(self, outcome: SeedOutcome) -> None:
        for watcher in self._watchers:
            watcher.ended(outcome)
