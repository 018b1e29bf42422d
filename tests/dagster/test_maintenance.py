"""Housekeeping: logs go and cells stay, accepted tasks are looked at again, a spent budget holds what waits."""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.partition_status_cache import AssetPartitionStatus

from assets.partitions import scenario_seed
from assets.pruning import prune_runs
from facet_dagster.definitions import build_defs, materialise, open_instance
from facet_dagster.records.base import now
from facet_dagster.records.drift import DriftCheck
from sensors.drift import nightly_drift
from sensors.pruning import daily_pruning

SEEDS = ("alpha", "beta", "delta", "gamma")


def shown(instance: dg.DagsterInstance) -> dict[str, Any]:
    """What the catalogue shows of a component."""
    key = dg.AssetKey("solution")
    made = [record.asset_materialization for record in instance.fetch_materializations(key, limit=100).records]
    seen = [record.asset_observation for record in instance.fetch_observations(key, limit=100).records]
    return {"cells": instance.get_status_by_partition(key, SEEDS, scenario_seed), "made": made, "seen": seen}


def run_job(name: str, instance: dg.DagsterInstance, overrides: Mapping[str, object]) -> dg.ExecuteInProcessResult:
    return build_defs(overrides).resolve_job_def(name).execute_in_process(instance=instance, raise_on_error=False)


@pytest.mark.parametrize("kept", ["in a file per run", "in one database"])
def test_old_logs_go_and_cells_keep_their_colours(
    kept: str, overrides: Mapping[str, object], tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    with open_instance(tmp_path / "home") as on_disk:
        on_disk.add_dynamic_partitions(scenario_seed.name or "", list(SEEDS))
        own = on_disk if kept == "in a file per run" else instance
        (made,) = materialise(["solution"], instance=own, overrides=overrides).run_ids
        housekeeping = run_job("compact_store", own, overrides).run_id
        before = shown(own)
        assert AssetPartitionStatus.FAILED in before["cells"].values()
        assert prune_runs(own, now() - timedelta(days=1)) == (0, 0)
        assert own.all_logs(made)
        assert prune_runs(own, now() + timedelta(days=1)) == (1, 1)
        assert shown(own) == before
        assert own.get_run_by_id(housekeeping) is None and own.get_run_by_id(made) is not None
        assert not [
            entry for entry in own.all_logs(made) if not entry.dagster_event or not entry.dagster_event.asset_key
        ]
        assert prune_runs(own, now() + timedelta(days=1)) == (0, 0)
        assert shown(own) == before


def a_check(seed: str, verdict: bool | None) -> DriftCheck:
    return DriftCheck(
        seed=seed,
        task=f"org/{seed}",
        bundle="b",
        verdict=verdict,
        gates_version=1,
        gates=(),
        changes=("package jq: 1.6 -> 1.7",),
        evidence="" if verdict else "jq: unknown option",
        seconds=1.0,
        run_id="night",
        at=now(),
    )


@pytest.mark.parametrize(("verdicts", "success"), [((True, None), True), ((True, False), False)])
def test_a_drifted_task_is_shown_on_its_page_and_fails_the_run(
    verdicts: tuple[bool | None, ...],
    success: bool,
    instance: dg.DagsterInstance,
    overrides: Mapping[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def look(*args: Any) -> AsyncIterator[DriftCheck]:
        for seed, verdict in zip(SEEDS, verdicts, strict=False):
            yield a_check(seed, verdict)

    monkeypatch.setattr("assets.maintenance.check_drift", look)
    assert run_job("revalidate_tasks", instance, overrides).success is success
    records = instance.fetch_observations(dg.AssetKey("task"), limit=10).records
    said = {r.partition_key: r.asset_observation.metadata["drift"].value for r in records if r.asset_observation}
    assert said == {"alpha": "holds", "beta": "open" if success else "drifted"}
    assert instance.get_materialized_partitions(dg.AssetKey("task")) == set(), "nothing is made, nothing written over"


def test_schedules_ask_for_jobs_that_there_are() -> None:
    assert (nightly_drift.job_name, daily_pruning.job_name) == ("revalidate_tasks", "prune_run_logs")
