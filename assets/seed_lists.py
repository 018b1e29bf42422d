"""Work on seeds that lie scattered: one run takes a list of them, where a backfill would start a run per stretch.

Dagster batches contiguous partitions only: three hundred scattered failures would be three hundred runs. These jobs
hand their list to the same code as the assets and record the same cells. What differs: cells are not shown as planned
meanwhile, so one that fails here stays as red as it was.
"""

from collections.abc import Iterator

import dagster as dg

from assets.construction import walk_seeds
from assets.priorities import REPAIRS, ROLLOUTS, priority
from assets.rollouts import roll_out_seeds
from assets.streaming import Event
from facet_dagster.records.outcome import Component
from resources.doors import Doors
from resources.watching import Onlooker
from resources.workshop import Session


class SeedList(dg.Config):
    """Scenario seeds by id, in any order. Unknown ones end the run before work begins."""

    seeds: list[str]


@dg.op(out={}, description="Walk the listed seeds to their ends, repair rounds included.")
def walk_listed(
    context: dg.OpExecutionContext,
    config: SeedList,
    workshop: dg.ResourceParam[Session],
    doors: dg.ResourceParam[Doors],
    onlooker: dg.ResourceParam[Onlooker],
) -> Iterator[Event]:
    """The cells of all components, as a backfill would make them."""
    yield from walk_seeds(config.seeds, frozenset(Component), context.instance, workshop, doors, onlooker)


@dg.op(out={}, description="Let the teacher attempt the accepted tasks of the listed seeds.")
def roll_out_listed(
    context: dg.OpExecutionContext,
    config: SeedList,
    workshop: dg.ResourceParam[Session],
    doors: dg.ResourceParam[Doors],
    onlooker: dg.ResourceParam[Onlooker],
) -> Iterator[Event]:
    """The cells of `trajectories`; a seed without an accepted task is skipped."""
    yield from roll_out_seeds(config.seeds, context.instance, workshop, doors, onlooker)


@dg.job(
    description="Walk a list of seeds to their ends in one run, however scattered they are.",
    tags={**priority(REPAIRS), "facet/cost": "model"},
    executor_def=dg.in_process_executor,
)
def repair_seeds() -> None:
    """One step."""
    walk_listed()


@dg.job(
    description="Let the teacher attempt the accepted tasks of a list of seeds in one run.",
    tags={**priority(ROLLOUTS), "facet/cost": "model"},
    executor_def=dg.in_process_executor,
)
def roll_out_listed_seeds() -> None:
    """One step."""
    roll_out_listed()
