"""`facet rerun SEED COMPONENT`: one component is written again, what stands downstream is executed again and validated.

The same cells as in the Dagster UI, selected by hand; no other component is rewritten.
"""

from rich.console import Console

from facet_dagster import definitions as line
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.adapters.wiring import open_workshop
from facet_dagster.cli.common import new_run_id
from facet_dagster.cli.plain import plain
from facet_dagster.cli.progress import LiveProgress
from facet_dagster.cli.run import materialise, raise_for_pending
from facet_dagster.cli.show import history_table
from facet_dagster.pipeline import seeds_in
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome
from facet_dagster.records.outcome import Component
from facet_dagster.records.validation import ValidationReport
from facet_dagster.settings import Settings


def rerun(settings: Settings, console: Console, seed: str, component: Component) -> bool:
    """Make the component, the validation and, where it passes, the task; whether it passed.

    Raises FacetError on trouble.
    """
    wanted = {component, Component.VALIDATION, Component.TASK}
    names = tuple(c.value for c in Component if c in wanted)
    run_id = new_run_id()
    seeds_in(ParquetStore(settings.store), [seed])  # a name that nobody knows needs no engine to be told so
    with (
        LiveProgress(console) as progress,
        line.open_instance(settings.dagster_home) as instance,
        open_workshop(settings, run_id=run_id, progress=progress.note) as workshop,
    ):
        line.register([seed], instance)
        progress.heading(f"{seed}: {component.value}")
        unfinished = materialise(names, instance, settings, workshop, progress, [seed])
        made = [v for v in workshop.store.rows(ComponentVersion, seed) if v.run_id == run_id]
        ended = [outcome for outcome in workshop.store.rows(SeedOutcome, seed) if outcome.run_id == run_id]
    console.print(history_table(made))
    refusal = next((outcome for outcome in ended if outcome.component is not None), None)
    if refusal is not None:
        console.print(f"not accepted: {_who_refused(refusal, made)}: {plain(_first_line(refusal))}", highlight=False)
        return False
    if unfinished:
        raise_for_pending(workshop, run_id)
    console.print(f"accepted: {workshop.tasks / seed}", highlight=False, markup=False)
    return True


def _who_refused(refusal: SeedOutcome, made: list[ComponentVersion]) -> str:
    """The gate that did not pass, or the component that could not be made."""
    reports = [version.body for version in made if isinstance(version.body, ValidationReport)]
    gate = reports[-1].failed_gate() if reports else None
    if gate is not None:
        return gate.gate.value
    return refusal.component.value if refusal.component else "validation"


def _first_line(refusal: SeedOutcome) -> str:
    return next(iter(refusal.evidence.splitlines()), "no evidence")
