"""Runs whose process was killed are ended by whoever looks next; those of living processes and other hosts are not."""

import os
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from facet_dagster.adapters.docker_labels import host, owner_of
from facet_dagster.definitions import build_defs, materialise, open_instance
from facet_dagster.settings import Settings
from resources.owners import OWNER, end_lost_runs
from sensors.work import new_seeds

STARTED, FAILURE = dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.FAILURE


def dead_owner() -> str:
    """Of a process that has been and is gone."""
    child = subprocess.Popen(["sleep", "60"])
    owner = owner_of(child.pid)
    child.kill()
    child.wait()
    return owner


def a_run(
    instance: dg.DagsterInstance, owner: str | None, status: dg.DagsterRunStatus = STARTED, **tags: str
) -> dg.DagsterRun:
    tags |= {OWNER: owner} if owner else {}
    return instance.add_run(dg.DagsterRun(job_name="job", status=status, tags=tags))


def status(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dg.DagsterRunStatus:
    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    return found.status


def test_the_seeds_of_a_killed_run_are_asked_for_again(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    run = a_run(instance, dead_owner(), **{"dagster/partition": "alpha"})
    resources = {"settings": Settings(store=str(tmp_path / "store"))}
    context = dg.build_sensor_context(instance=instance, resources=resources, sensor_name="new_seeds")
    result: Any = new_seeds(context)
    (request,) = result.run_requests
    assert (request.partition_key_range.start, request.partition_key_range.end) == ("alpha", "gamma")
    assert status(instance, run) is FAILURE


def test_what_lives_or_cannot_be_known_is_left_alone(instance: dg.DagsterInstance) -> None:
    elsewhere = f"{os.getpid()}:1:other/boot/space"
    rebooted = f"1:1:{host().partition('/')[0]}/boot/space"  # not on SQLite: may be another machine of that name
    runs = [a_run(instance, owner) for owner in (owner_of(os.getpid()), elsewhere, rebooted, None)]
    assert end_lost_runs(instance) == 0
    assert {status(instance, run) for run in runs} == {STARTED}


def test_a_home_that_is_opened_after_a_reboot_has_no_run_at_work(
    instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resources.owners.SqliteEventLogStorage", type(instance.event_log_storage))
    monkeypatch.setattr("facet_dagster.definitions.instance_of", lambda home: instance)
    lost = a_run(instance, f"1:1:{host().partition('/')[0]}/boot/space")
    cancelled = a_run(instance, dead_owner(), dg.DagsterRunStatus.CANCELING)
    nameless = a_run(instance, None, dg.DagsterRunStatus.STARTING)
    assert open_instance(tmp_path) is instance
    assert status(instance, lost) is FAILURE
    assert status(instance, cancelled) is dg.DagsterRunStatus.CANCELED
    assert status(instance, nameless) is dg.DagsterRunStatus.STARTING
    monkeypatch.setattr("resources.owners.SLOW_START", timedelta(0))
    assert end_lost_runs(instance) == 1 and status(instance, nameless) is FAILURE


def test_runs_are_tagged_with_their_process(
    instance: dg.DagsterInstance, overrides: dict[str, object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (headless,) = materialise(["solution"], instance=instance, overrides=overrides, seeds=["alpha"]).run_ids
    monkeypatch.setenv("FACET_STORE", str(tmp_path / "store"))
    ids = [headless]
    for job in ("compact_store", "hold_queue", "prune_run_logs"):
        own = build_defs({key: overrides[key] for key in ("workshop", "doors")})
        ids.append(own.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False).run_id)
    runs = [instance.get_run_by_id(run_id) for run_id in ids]
    assert [run.tags.get(OWNER) for run in runs if run] == [owner_of(os.getpid())] * 4
