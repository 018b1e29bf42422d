"""Housekeeping jobs that schedules request: sweep what dead runs left in Docker, merge the store's small files."""

import dagster as dg

from assets.priorities import HOUSEKEEPING, priority
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.settings import Settings
from resources.workshop import Session

_LOW = priority(HOUSEKEEPING)


@dg.op(description="Remove containers and images of dead processes.")
async def sweep(context: dg.OpExecutionContext, workshop: dg.ResourceParam[Session]) -> None:
    """Nothing that a living run holds is touched."""
    context.log.info(f"{await workshop.workshop.sandbox.sweep()} leftovers removed")


@dg.op(description="Merge the single-row files of every table.")
def compact(context: dg.OpExecutionContext, settings: dg.ResourceParam[Settings]) -> None:
    """Readers and writers go on meanwhile; nothing is lost when this is killed."""
    context.log.info(f"{ParquetStore(settings.store).compact()} files merged")


@dg.job(
    description="Remove what dead runs left in the container engine.", tags=_LOW, executor_def=dg.in_process_executor
)
def sweep_leftovers() -> None:
    """One step."""
    sweep()


@dg.job(
    description="Merge the small files of the store into larger ones.", tags=_LOW, executor_def=dg.in_process_executor
)
def compact_store() -> None:
    """One step."""
    compact()
