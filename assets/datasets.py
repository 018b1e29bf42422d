"""Datasets: what is given away, written from the store by the domain's front doors."""

import dagster as dg

from assets.markdown import table
from assets.pages import flat
from facet_dagster.records.base import Record
from resources.doors import Card, Results
from resources.workshop import Session

# A set is made from the seeds that are there: a missing partition is no obstacle.
_ALL_SEEDS = dg.AllPartitionMapping()
FUNNEL = ("rule", "asked", "removed", "left")


@dg.asset(
    deps=[dg.AssetDep("task", partition_mapping=_ALL_SEEDS)],
    group_name="datasets",
    kinds={"harbor"},
    description="The accepted tasks as one Harbor dataset.",
)
def task_dataset(workshop: dg.ResourceParam[Session], results: dg.ResourceParam[Results]) -> dg.MaterializeResult[None]:
    """Written whole each time, from the accepted tasks of the store."""
    return _result(results.build_task_dataset(workshop.workshop), "tasks")


@dg.asset(
    deps=[dg.AssetDep("trajectories", partition_mapping=_ALL_SEEDS), "task_dataset"],
    group_name="datasets",
    kinds={"parquet"},
    description="Selected trajectories as messages for supervised fine-tuning, with a dataset card and training files.",
)
def sft_dataset(workshop: dg.ResourceParam[Session], results: dg.ResourceParam[Results]) -> dg.MaterializeResult[None]:
    """Written whole each time, from the trials of the store; the funnel shows what each rule removed."""
    return _result(results.build_sft_dataset(workshop.workshop), "rows")


def _result(card: Card, counted: str) -> dg.MaterializeResult[None]:
    values = dict(card.model_dump(mode="json") if isinstance(card, Record) else card)
    steps = values.pop("funnel", None)
    funnel = {} if steps is None else {"funnel": table(FUNNEL, ([step[name] for name in FUNNEL] for step in steps))}
    return dg.MaterializeResult(metadata={"dagster/row_count": int(values[counted]), **flat(values), **funnel})
