"""The progress display: what models and builds said is shown as it is, never read as markup."""

import io

from rich.console import Console

from facet_dagster.cli.progress import LiveProgress
from facet_dagster.records.base import now
from facet_dagster.records.bundle import SeedOutcome, Status


def test_brackets_in_evidence_are_text() -> None:
    shown = io.StringIO()
    progress = LiveProgress(Console(file=shown, width=200))
    progress.note("RUN [/bin/sh -c] failed [error]")
    progress.ended(
        SeedOutcome(
            seed="s",
            sequence=0,
            status=Status.PENDING,
            first_pass=False,
            rounds=0,
            evidence="InfrastructureError: [/app/out] is gone",
            run_id="r",
            at=now(),
        )
    )
    assert "[/bin/sh -c] failed [error]" in shown.getvalue()
    assert "[/app/out] is gone" in shown.getvalue()
