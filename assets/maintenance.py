"""Housekeeping jobs that schedules and sensors request: sweep what dead runs left in Docker, merge the store's small
files, look at accepted tasks again, hold the queue.
"""

from collections.abc import Iterator

import dagster as dg

from assets.catalogue import PAID
from assets.markdown import table
from assets.pages import drift_page
from assets.priorities import HOLD, LOOKING_AGAIN, UPKEEP, priority
from assets.streaming import Event, Put, stream
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.drift import check_drift
from facet_dagster.records.drift import DriftCheck
from facet_dagster.settings import Settings
from resources.owners import own
from resources.workshop import Session


def holdable(instance: dg.DagsterInstance) -> list[str]:
    """Waiting runs that would cost money, by id: those that `hold` cancels."""
    waiting = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED]))
    return [run.run_id for run in waiting if run.tags.get("facet/cost") == "model" or _makes_what_is_paid(run)]


def _makes_what_is_paid(run: dg.DagsterRun) -> bool:
    return bool({key.path[-1] for key in run.asset_selection or ()} & PAID)


@dg.op(description="Remove containers and images of dead processes.")
async def sweep(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Session]) -> None:
    """Nothing that a living run holds is touched."""
    context.log.info(f"{await workshop.workshop.sandbox.sweep()} leftovers removed")


@dg.op(description="Merge the single-row files of every table.")
def compact(context: dg.OpExecutionContext, settings: dg.ResourceParam[Settings]) -> None:
    """Readers and writers go on meanwhile; nothing is lost when this is killed."""
    context.log.info(f"{ParquetStore(settings.store).compact()} files merged")


@dg.op(out={}, description="Build a sample of accepted tasks anew and put them to the gates.")
def look_again(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Session]) -> Iterator[Event]:
    """What is found is shown on the page of `task` and kept in the table `drift`; the tasks stay as they are.

    Raises dg.Failure where a task would not be accepted today: somebody should look.
    """
    checks: list[DriftCheck] = []

    async def look(put: Put) -> None:
        async for check in check_drift(workshop.workshop, workshop.settings.drift):
            checks.append(check)
            put(dg.AssetObservation("task", partition=check.seed, metadata=drift_page(check)))

    yield from stream(look)
    drifted = [check for check in checks if check.drifted]
    trouble = sum(check.verdict is None for check in checks)
    context.log.info(f"{len(checks)} tasks looked at: {len(drifted)} drifted, {trouble} met trouble")
    if drifted:
        rows = ((check.seed, check.evidence, "; ".join(check.changes)) for check in drifted)
        raise dg.Failure(
            description=f"{len(drifted)} of {len(checks)} accepted tasks would not be accepted today",
            metadata={"drifted": table(("seed", "evidence", "changes"), rows)},
            allow_retries=False,
        )


@dg.op(description="Cancel the waiting runs that would cost money.")
def hold(context: dg.OpExecutionContext) -> None:
    """Runs that have begun are left to their own ledger. What was cancelled is asked for again by sensors."""
    own(context.instance, context.run_id)
    held = sum(context.instance.run_coordinator.cancel_run(run_id) for run_id in holdable(context.instance))
    context.log.info(f"{held} waiting runs cancelled")


@dg.job(
    description="Remove what dead runs left in the container engine.",
    tags=priority(UPKEEP),
    executor_def=dg.in_process_executor,
)
def sweep_leftovers() -> None:
    """One step."""
    sweep()


@dg.job(
    description="Merge the small files of the store into larger ones.",
    tags=priority(UPKEEP),
    executor_def=dg.in_process_executor,
)
def compact_store() -> None:
    """One step."""
    compact()


@dg.job(
    description="Look at a sample of accepted tasks again: built anew, all gates.",
    tags=priority(LOOKING_AGAIN),
    executor_def=dg.in_process_executor,
)
def revalidate_tasks() -> None:
    """One step."""
    look_again()


@dg.job(
    description="Cancel waiting runs that would cost money: the day's budget is spent.",
    tags=priority(HOLD),
    executor_def=dg.in_process_executor,
)
def hold_queue() -> None:
    """One step."""
    hold()
