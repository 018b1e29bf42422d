"""`facet rerun SEED COMPONENT`: one component is written again, what stands downstream is executed again and validated.

The same cells as in the Dagster UI, selected by hand; no other component is rewritten.
"""

from rich.console import Console

from facet_dagster import definitions as line
from facet_dagster.adapters.wiring import open_workshop
from facet_dagster.cli.progress import LiveProgress
from facet_dagster.cli.run import materialise, new_run_id, raise_for_pending
from facet_dagster.cli.show import history_table
from facet_dagster.pipeline import find_seeds
from facet_dagster.records.bundle import ComponentVersion
from facet_dagster.records.outcome import Component
from facet_dagster.settings import Settings


def rerun(settings: Settings, console: Console, seed: str, component: Component) -> None:
    """Make the component, the validation and, where it passes, the task. Raises FacetError on trouble."""
    wanted = {component, Component.VALIDATION, Component.TASK}
    names = tuple(c.value for c in Component if c in wanted)
    run_id = new_run_id()
    with (
        LiveProgress(console) as progress,
        line.open_instance(settings.dagster_home) as instance,
        open_workshop(settings, run_id=run_id, progress=progress.note) as workshop,
    ):
        line.register([found.seed_id for found in find_seeds(workshop, [seed])], instance)
        progress.heading(f"{seed}: {component.value}")
        unfinished = materialise(names, instance, settings, workshop, progress, [seed])
        made = [v for v in workshop.store.rows(ComponentVersion, seed) if v.run_id == run_id]
    console.print(history_table(made))
    if unfinished:
        raise_for_pending(workshop, run_id)
    console.print(f"accepted: {workshop.tasks / seed}", highlight=False, markup=False)
