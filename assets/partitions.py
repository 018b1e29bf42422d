"""The one partition set of the graph: scenario seeds, registered as they are judged."""

import dagster as dg

scenario_seed = dg.DynamicPartitionsDefinition(name="scenario_seed")
# Runs of a backfill hold this many seeds at most; one run per seed costs 25 times the overhead.
BATCHES = dg.BackfillPolicy.multi_run(max_partitions_per_run=25)
