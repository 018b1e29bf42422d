"""Sensors and schedules discover and request; they do not work."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest

from assets.partitions import scenario_seed
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.settings import Settings
from sensors.compaction import hourly_compaction
from sensors.drift import nightly_drift
from sensors.inbox import skill_inbox
from sensors.leftovers import hourly_sweep
from sensors.pruning import daily_pruning
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
    assert (hourly_sweep.job_name, hourly_compaction.job_name) == ("sweep_leftovers", "compact_store")


@pytest.mark.parametrize("schedule", [hourly_sweep, hourly_compaction, nightly_drift, daily_pruning])
def test_housekeeping_does_not_pile_up(
    schedule: dg.ScheduleDefinition, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dg.ScheduleEvaluationContext, "instance", instance)  # else only one on disk is taken

    def asked() -> list[Any]:
        return list(schedule.evaluate_tick(dg.build_schedule_context()).run_requests or ())

    assert len(asked()) == 1
    waiting = instance.add_run(dg.DagsterRun(job_name=schedule.job_name))
    assert asked() == []
    instance.report_run_failed(waiting)
    assert len(asked()) == 1


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
    again, cursor = look(settings, cursor, instance)
    assert len(again.run_requests) == 1
    (tmp_path / "corpus.jsonl").unlink()
    emptied, cursor = look(settings, cursor, instance)
    assert "come to rest" in emptied.skip_message


def asked(settings: Settings, cursor: str | None, instance: dg.DagsterInstance) -> tuple[dict[str, str], str | None]:
    """The tags of the one run that is asked for, after the look at which the folder is found at rest."""
    _, cursor = look(settings, cursor, instance)
    result, cursor = look(settings, cursor, instance)
    (request,) = result.run_requests
    assert request.run_key is None  # Dagster would start no second run of one key, ever
    return dict(request.tags), cursor


def test_a_state_that_comes_back_is_read_again(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    settings = Settings(inbox=tmp_path / "inbox")
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "corpus.jsonl").write_text("{}")
    first, cursor = asked(settings, None, instance)
    (tmp_path / "inbox" / "corpus.jsonl").rename(tmp_path / "corpus.jsonl")
    _, cursor = asked(settings, cursor, instance)
    (tmp_path / "corpus.jsonl").rename(tmp_path / "inbox" / "corpus.jsonl")
    again, _ = asked(settings, cursor, instance)
    assert first == again


def test_a_reading_that_failed_is_asked_for_again_a_few_times(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    settings = Settings(inbox=tmp_path)
    (tmp_path / "corpus.jsonl").write_text("{}")
    tags, cursor = asked(settings, None, instance)

    def fail() -> None:
        run = dg.DagsterRun(job_name="read_skills", run_id=str(uuid4()), tags=tags)
        instance.add_run(run.with_status(dg.DagsterRunStatus.FAILURE))

    for _ in range(2):
        fail()
        again, cursor = look(settings, cursor, instance)
        assert len(again.run_requests) == 1
    fail()
    last, cursor = look(settings, cursor, instance)
    assert "failed 3 times" in last.skip_message
    (tmp_path / "corpus.jsonl").write_text("{}\n{}")
    asked(settings, cursor, instance)


def test_without_an_inbox_there_is_nothing_to_watch(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    for settings, said in ((Settings(), "FACET_INBOX"), (Settings(inbox=tmp_path / "gone"), "not a folder")):
        result, _ = look(settings, None, instance)
        assert said in result.skip_message
    assert skill_inbox.job_name == "read_skills"
