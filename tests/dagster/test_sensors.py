"""Sensors and schedules discover and request; they do not work."""

from typing import Any

import dagster as dg
import pytest

from assets.partitions import scenario_seed
from facet_dagster.records.seed import ScenarioSeed
from sensors.compaction import daily_compaction
from sensors.leftovers import hourly_sweep
from sensors.seeds import unregistered_seeds


def tick(instance: dg.DagsterInstance, store: Any) -> Any:
    return unregistered_seeds(dg.build_sensor_context(instance=instance, resources={"store": store}))


def test_seeds_of_the_store_become_partition_requests(instance: dg.DagsterInstance, store: Any) -> None:
    for seed_id in ("alpha", "omega"):
        store.put(ScenarioSeed(seed_id=seed_id, title=seed_id, skill_ids=(), hypothesis_ids=(), rationale=""))
    result = tick(instance, store)
    (request,) = result.dynamic_partitions_requests
    assert (request.partitions_def_name, list(request.partition_keys)) == (scenario_seed.name, ["omega"])
    assert result.run_requests == []


def test_many_seeds_come_in_several_ticks(
    instance: dg.DagsterInstance, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensors.seeds.PER_TICK", 2)
    for number in range(5):
        store.put(ScenarioSeed(seed_id=f"s{number}", title="t", skill_ids=(), hypothesis_ids=(), rationale=""))
    seen: list[list[str]] = []
    for _ in range(3):
        (request,) = tick(instance, store).dynamic_partitions_requests
        seen.append(list(request.partition_keys))
        instance.add_dynamic_partitions(scenario_seed.name or "", seen[-1])
    assert seen == [["s0", "s1"], ["s2", "s3"], ["s4"]]


def test_nothing_new_is_skipped_with_a_reason(instance: dg.DagsterInstance, store: Any) -> None:
    assert tick(instance, store).skip_message == "all 4 seeds are registered"


def test_schedules_ask_for_their_housekeeping_job() -> None:
    assert (hourly_sweep.job_name, daily_compaction.job_name) == ("sweep_leftovers", "compact_store")
