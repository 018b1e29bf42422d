"""Discovers seeds that the store holds and Dagster does not know, and asks for their partitions.

Needed where seeds were made without this instance: by another machine, or before the instance was made anew.
"""

import dagster as dg

from assets.partitions import scenario_seed
from facet_dagster.ports import Store
from facet_dagster.records.seed import ScenarioSeed

PER_TICK = 1_000  # seeds; the rest comes with the next ticks, so that none takes long


@dg.sensor(
    description="Registers scenario seeds of the store that are not yet partitions.",
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.STOPPED,
)
def unregistered_seeds(
    context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]
) -> dg.SensorResult | dg.SkipReason:
    """Asks for partitions only; running them is a person's or a schedule's decision."""
    known = set(context.instance.get_dynamic_partitions(scenario_seed.name or ""))
    new = [seed_id for seed_id in store.keys(ScenarioSeed) if seed_id not in known]
    if not new:
        return dg.SkipReason(f"all {len(known)} seeds are registered")
    return dg.SensorResult(dynamic_partitions_requests=[scenario_seed.build_add_request(new[:PER_TICK])])
