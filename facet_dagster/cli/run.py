"""`facet run`: the whole line through the same assets that the Dagster UI shows, with live progress.

Belongs here: the order of the groups and what is said at the end. The work stands behind the assets.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from facet_dagster import definitions as line
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.recordings import export_recordings
from facet_dagster.adapters.wiring import open_workshop
from facet_dagster.cli.common import new_run_id
from facet_dagster.cli.progress import LiveProgress
from facet_dagster.cli.tables import frame_table
from facet_dagster.errors import FacetError, InfrastructureError, SettingsError, trouble_named
from facet_dagster.pipeline import find_seeds, seeds_in
from facet_dagster.records.bundle import SeedOutcome, Status
from facet_dagster.settings import Settings
from facet_dagster.under_way import line_under_way
from facet_dagster.workshop import Workshop


class RunFailed(FacetError):
    """A stage of the run met trouble; carries the exit code of what it was."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def run_line(settings: Settings, console: Console, *, seeds: Sequence[str] | None, record: Path | None) -> None:
    """Run all groups (or only the seeds given), show progress, end with the funnel and the paths.

    Raises FacetError when trouble, not rejections, kept work from being done.
    """
    if not seeds and not settings.skills.exists():
        raise SettingsError(f"no skills at {settings.skills}: set FACET_SKILLS or --skills")
    if seeds:
        seeds_in(ParquetStore(settings.store), seeds)  # a name that nobody knows needs no engine to be told so
    began = time.monotonic()
    run_id = new_run_id()
    with (
        LiveProgress(console) as progress,
        line.open_instance(settings.dagster_home) as instance,
        line_under_way(settings.dagster_home),
        open_workshop(settings, run_id=run_id, progress=progress.note) as workshop,
    ):
        if seeds:
            line.register(seeds, instance)
        open_rollouts = ""
        try:
            for title, names in _stages(seeds):
                progress.heading(title)
                # Only this store's seeds: the instance may know partitions of another store, too.
                chosen = seeds or [seed.seed_id for seed in find_seeds(workshop)]
                unfinished = materialise(names, instance, settings, workshop, progress, chosen)
                if names == line.ROLLOUTS:
                    open_rollouts = unfinished
        finally:
            if record is not None:
                count = export_recordings(workshop.store, record)
                progress.note(f"{count} completions recorded in {record}")
    _summary(settings, console, workshop, time.monotonic() - began)
    raise_for_pending(workshop, run_id)
    if open_rollouts:
        raise InfrastructureError(f"rollouts met trouble; the same command goes on with them: {open_rollouts}")


def raise_for_pending(workshop: Workshop, run_id: str) -> None:
    """Raise RunFailed with the first trouble, if a seed of this run ended without a verdict."""
    rows = workshop.store.rows(SeedOutcome)
    pending = [row for row in rows if row.run_id == run_id and row.status is Status.PENDING]
    if pending:
        first = pending[0]
        kind = first.evidence.partition(":")[0]
        raise RunFailed(
            f"{len(pending)} seed(s) met trouble and are pending; the same command goes on with them. "
            f"{first.seed}: {(first.evidence.splitlines() or ['no evidence'])[0]}",
            trouble_named(kind, InfrastructureError).exit_code,
        )


def _stages(seeds: Sequence[str] | None) -> list[tuple[str, tuple[str, ...]]]:
    planning = [] if seeds else [("skills", line.SKILLS), ("scenario seeds", line.SEEDING)]
    return [
        *planning,
        ("construction", line.CONSTRUCTION),
        ("rollouts", line.ROLLOUTS),
        ("datasets", line.DATASETS),
        ("reports", line.REPORTS),
    ]


def materialise(
    names: tuple[str, ...],
    instance: line.Instance,
    settings: Settings,
    workshop: Workshop,
    progress: LiveProgress,
    seeds: Sequence[str],
) -> str:
    """Make a group of assets; what is said of seeds that were not finished (rejected or pending), or nothing."""
    overrides = {
        "workshop": line.Session(settings, workshop),
        "settings": settings,
        "store": workshop.store,
        "onlooker": progress,
    }
    result = line.materialise(names, instance=instance, seeds=seeds, overrides=overrides)
    if result.trouble is not None:
        raise RunFailed(result.trouble.message, result.trouble.exit_code)
    return "; ".join(failure.message for failure in result.failures)


def _summary(settings: Settings, console: Console, workshop: Workshop, seconds: float) -> None:
    console.print(frame_table(settings.store, "funnel"))
    tokens, usd = workshop.ledger.spent()
    if workshop.changed_prompts:
        count = len(workshop.changed_prompts)
        console.print(f"[yellow]{count} recorded answer(s) belong to prompts that have changed since[/]")
    console.print(
        f"tasks         {workshop.tasks}\n"
        f"trajectories  {workshop.out / 'trajectories'}\n"
        f"SFT set       {workshop.out / 'sft'}\n"
        f"store         {settings.store}\n"
        f"spent         {tokens} tokens, {usd:.4f} USD (replayed answers cost nothing), {seconds:.0f} s\n"
        f"next          facet seeds | facet show SEED | facet yields | make ui",
        highlight=False,
        markup=False,
    )
