"""The one partition set of the graph: scenario seeds, registered as they are judged."""

import dagster as dg

scenario_seed = dg.DynamicPartitionsDefinition(name="scenario_seed")
BATCH = 25  # seeds of one run, at most; one run per seed costs 25 times the overhead
BATCHES = dg.BackfillPolicy.multi_run(max_partitions_per_run=BATCH)
