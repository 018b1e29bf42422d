"""Sensors and schedules discover and request; they do not work."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.partitions import scenario_seed
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.settings import Settings
from sensors.compaction import daily_compaction
from sensors.inbox import skill_inbox
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


def look(settings: Settings, cursor: str | None, instance: dg.DagsterInstance) -> tuple[Any, str | None]:
    context = dg.build_sensor_context(instance=instance, cursor=cursor, resources={"settings": settings})
    result = skill_inbox(context)
    return result, getattr(result, "cursor", None) or context.cursor


def test_the_inbox_is_read_once_it_has_come_to_rest(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    settings = Settings(inbox=tmp_path)
    (tmp_path / "corpus.jsonl").write_text("{}")
    first, cursor = look(settings, None, instance)
    assert "come to rest" in first.skip_message
    second, cursor = look(settings, cursor, instance)
    assert len(second.run_requests) == 1
    third, cursor = look(settings, cursor, instance)
    assert "nothing has changed" in third.skip_message
    (tmp_path / "corpus.jsonl").write_text("{}\n{}")
    changed, cursor = look(settings, cursor, instance)
    assert "come to rest" in changed.skip_message
    again, _ = look(settings, cursor, instance)
    assert again.run_requests[0].run_key != second.run_requests[0].run_key


def test_without_an_inbox_there_is_nothing_to_watch(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    for settings, said in ((Settings(), "FACET_INBOX"), (Settings(inbox=tmp_path / "gone"), "not a folder")):
        result, _ = look(settings, None, instance)
        assert said in result.skip_message
    assert skill_inbox.job_name == "read_skills"
