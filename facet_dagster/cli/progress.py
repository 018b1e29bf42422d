"""What a person sees while seeds are worked on: a live table on a terminal, one line per event elsewhere."""

import time
from collections import Counter

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from facet_dagster.cli.live import LiveDisplay
from facet_dagster.cli.plain import plain
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome, Status
from facet_dagster.records.outcome import Component

_COLOURS = {Status.ACCEPTED: "green", Status.REJECTED: "red", Status.PENDING: "yellow"}
SHOWN_SEEDS = 12


class LiveProgress(LiveDisplay):
    """A Watcher that draws: seeds by station, the latest step of each seed, rounds and time."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._began = time.monotonic()
        self._at: dict[str, tuple[Component, int]] = {}
        self._last: dict[str, str] = {}
        self._ended: dict[str, SeedOutcome] = {}

    def note(self, text: str) -> None:
        """One line about the run as a whole; what models and builds said is text, never markup."""
        self._say(plain(text))

    def heading(self, text: str) -> None:
        """The next group of assets begins."""
        self._say(f"[bold]{plain(text)}[/]")

    def _say(self, markup: str) -> None:
        self._console.print(f"[dim]{self._clock()}[/dim] {markup}", highlight=False)

    def started(self, seed: str, component: Component, round: int) -> None:
        self._at[seed] = (component, round)

    def finished(self, version: ComponentVersion) -> None:
        rejected = version.rejected
        verdict = f"{rejected.reason.value}" if rejected else _summary(version)
        self._last[version.seed] = f"{version.component.value}: {verdict}"
        style = "red" if rejected else "default"
        origin = "" if version.round == 0 else f" (round {version.round}, {version.origin.value})"
        self._say(f"{version.seed} [{style}]{version.component.value}{origin}: {verdict}[/] {version.seconds:.1f} s")

    def ended(self, outcome: SeedOutcome) -> None:
        self._at.pop(outcome.seed, None)
        self._ended[outcome.seed] = outcome
        why = f" by {outcome.component.value}: {outcome.reason.value}" if outcome.component and outcome.reason else ""
        if outcome.status is Status.PENDING:
            why = f": {outcome.evidence.splitlines()[0] if outcome.evidence else ''}"
        colour = _COLOURS[outcome.status]
        self._say(f"{outcome.seed} [{colour}]{outcome.status.value}[/]{plain(why)}, {outcome.rounds} repair round(s)")

    def _clock(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        return f"{minutes:02d}:{seconds:02d}"

    def _draw(self) -> Group:
        by_station = Counter(component.value for component, _ in self._at.values())
        ended = Counter(outcome.status.value for outcome in self._ended.values())
        counts = [f"{c.value} {by_station[c.value]}" for c in Component if by_station[c.value]]
        counts += [f"{s.value} {ended[s.value]}" for s in Status if ended[s.value]]
        table = Table(box=None, padding=(0, 1), show_header=False)
        for seed, (component, round_) in list(self._at.items())[:SHOWN_SEEDS]:
            table.add_row(seed, f"round {round_}", component.value, self._last.get(seed, ""))
        return Group(Text(f"{self._clock()}  {'  '.join(counts) or 'starting'}"), table)


def _summary(version: ComponentVersion) -> str:
    body = version.body
    match body.kind:
        case "environment":
            return f"built, {len(body.e0.files)} paths observed, {body.build_repairs} repair(s)"
        case "instruction":
            return f"{len(body.text.split())} words"
        case "solution":
            return f"ran, {len(body.execution.diff.files)} paths changed"
        case "verifier":
            return f"{len(body.tests)} tests"
        case "validation":
            gate = body.failed_gate()
            return f"{gate.gate.value} not passed" if gate else "all gates passed"
        case _:
            return "done"
