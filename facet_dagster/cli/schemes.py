"""`facet schemes`: the reverse and the joint scheme on the seeds that were walked forward, and the report over all."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.recordings import export_recordings
from facet_dagster.adapters.wiring import open_workshop
from facet_dagster.cli.common import new_run_id
from facet_dagster.cli.progress import LiveProgress
from facet_dagster.cli.run import RunFailed, raise_for_pending
from facet_dagster.cli.tables import shown_frame
from facet_dagster.comparison import OTHERS, left_out, settings_of, take_over
from facet_dagster.errors import SettingsError
from facet_dagster.pipeline import construct_seeds, seeds_in
from facet_dagster.records.terms import Scheme
from facet_dagster.settings import Settings
from facet_dagster.yields.schemes import endings, faults, reasons, sign_tests, yields


def compare_schemes(settings: Settings, console: Console, seeds: Sequence[str] | None, record: Path | None) -> None:
    """Walk the seeds under the other schemes, then print the comparison; trouble of either is raised at the end."""
    if settings.construction.scheme is not Scheme.FORWARD:
        raise SettingsError("the comparison starts from forward walks: unset FACET_SCHEME, then `facet run`")
    source = ParquetStore(settings.store)
    chosen = seeds_in(source, seeds)
    walked, troubles = 0, []
    for scheme in OTHERS:
        other = settings_of(settings, scheme)
        run_id = new_run_id()
        with (
            LiveProgress(console) as progress,
            open_workshop(other, run_id=run_id, progress=progress.note) as workshop,
        ):
            progress.heading(f"{scheme.value} scheme")
            taken = take_over(source, workshop.store, chosen, scheme)
            walked += len(taken)
            try:
                asyncio.run(construct_seeds(taken, workshop, progress))
            finally:
                if record is not None:
                    export_recordings(workshop.store, record)
            try:
                raise_for_pending(workshop, run_id)
            except RunFailed as trouble:
                troubles.append(trouble)
    if not walked:
        raise SettingsError("no seed with an environment yet: `facet run` first")
    report(settings, console)
    if troubles:
        raise troubles[0]


def report(settings: Settings, console: Console) -> None:
    """Print what the stores of the schemes hold."""
    stores = {scheme: settings_of(settings, scheme).store for scheme in Scheme}
    ended = endings(stores)
    missing = left_out({scheme: ParquetStore(root) for scheme, root in stores.items()})
    console.print(f"{len(ended)} of {len(ended) + len(missing)} seeds compared", highlight=False)
    for title, frame in (
        ("left out", reasons(missing)),
        ("yields on the same seeds", yields(ended)),
        ("exact sign tests", sign_tests(ended)),
        ("what repairs answered", faults(stores)),
    ):
        console.print(f"[bold]{title}[/]")
        console.print(shown_frame(frame))
