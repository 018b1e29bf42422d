"""Many seeds at once, as the UI starts them: Dagster's own backfills and queue over fakes, in this process."""

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import dagster as dg
import pytest
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.storage.partition_status_cache import AssetPartitionStatus
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.backfill import execute_backfill_iteration
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import QueuedRunCoordinatorDaemon
from dagster._daemon.sensor import execute_sensor_iteration
from dagster_graphql.test.utils import execute_dagster_graphql

from assets.partitions import scenario_seed
from assets.priorities import HOLD, LOOKING_AGAIN, NEW, REPAIRS, ROLLOUTS, UPKEEP
from facet_dagster.definitions import CONSTRUCTION, build_defs, materialise
from facet_dagster.records.outcome import Component

MADE, FAILED = AssetPartitionStatus.MATERIALIZED, AssetPartitionStatus.FAILED
SEEDS, REFUSED = ("alpha", "beta", "delta", "gamma"), "delta"
LAUNCH = """mutation($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message stack } } }"""
AGAIN = """mutation($params: ReexecutionParams!) { reexecutePartitionBackfill(reexecutionParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message stack } } }"""


class Daemon:
    """What the webserver and the backfill daemon do, step by step."""

    def __init__(self, instance: dg.DagsterInstance, workspace: WorkspaceProcessContext) -> None:
        self.instance = instance
        self._workspace = workspace

    def ask(self, query: str, **params: Any) -> str:
        """Run a mutation; the id of the backfill."""
        result = execute_dagster_graphql(self._workspace.create_request_context(), query, {"params": params})
        (answer,) = result.data.values()
        assert answer["__typename"] == "LaunchBackfillSuccess", answer
        return str(answer["backfillId"])

    def backfill(self, components: Sequence[str], seeds: Sequence[str]) -> str:
        return self.ask(LAUNCH, assetSelection=[{"path": [name]} for name in components], partitionNames=list(seeds))

    def runs_of(self, backfill: str) -> list[dg.DagsterRun]:
        """Let the daemon work until the backfill has ended; its runs, the oldest first."""
        for _ in range(2):
            self.iterate()
            self.work_off_the_queue()
        runs = self.instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": backfill}), ascending=True)
        assert runs and all(run.is_finished for run in runs)
        return list(runs)

    def iterate(self) -> None:
        """Let the backfill daemon ask for the runs of what was launched."""
        list(execute_backfill_iteration(self._workspace, logging.getLogger("test")))

    def hold(self) -> None:
        """Do what `hold_queue` does, while other runs wait."""
        build_defs().resolve_job_def("hold_queue").execute_in_process(instance=self.instance)

    def tick(self, name: str) -> None:
        """Let the sensor daemon look once at a sensor that is turned on."""
        request = self._workspace.create_request_context()
        (location,) = request.code_locations
        (repository,) = location.get_repositories().values()
        self.instance.start_sensor(repository.get_sensor(name))
        list(execute_sensor_iteration(self._workspace, logging.getLogger("test"), None, None))

    def work_off_the_queue(self) -> None:
        """Start what waits, one run after the other, until nothing does."""
        with QueuedRunCoordinatorDaemon(interval_seconds=1) as queue:
            while self.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED])):
                list(queue.run_iteration(self._workspace))


# Runs are made where they are launched: nothing is left running.
_CONFIGURATION = """\
telemetry: {enabled: false}
run_launcher: {module: dagster._core.launcher.sync_in_memory_run_launcher, class: SyncInMemoryRunLauncher}
concurrency: {runs: {max_concurrent_runs: 1}}
compute_logs: {module: dagster._core.storage.noop_compute_log_manager, class: NoOpComputeLogManager}
"""


@pytest.fixture
def daemon(overrides: Mapping[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    module = ModuleType("facet_line_over_fakes")
    module.defs = build_defs(overrides)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    origin = InProcessCodeLocationOrigin(LoadableTargetOrigin(module_name=module.__name__, attribute="defs"))
    (tmp_path / "dagster.yaml").write_text(_CONFIGURATION)
    with (
        dg.DagsterInstance.from_config(str(tmp_path)) as instance,
        WorkspaceProcessContext(instance, InProcessWorkspaceLoadTarget(origin)) as workspace,
    ):
        instance.add_dynamic_partitions(scenario_seed.name or "", list(SEEDS))
        yield Daemon(instance, workspace)


def statuses(instance: dg.DagsterInstance, asset: str) -> dict[str, AssetPartitionStatus | None]:
    return dict(instance.get_status_by_partition(dg.AssetKey(asset), SEEDS, scenario_seed) or {})


def test_all_seeds_or_a_range_are_one_run_and_what_failed_is_made_again_alone(daemon: Daemon, doors: Any) -> None:
    first = daemon.backfill(["instruction", "solution", "task"], SEEDS)
    assert len(daemon.runs_of(first)) == 1
    assert statuses(daemon.instance, "task") == {**dict.fromkeys(SEEDS, MADE), REFUSED: FAILED}
    doors.refused.clear()
    doors.made.clear()
    again = daemon.ask(AGAIN, parentRunId=first, strategy="FROM_FAILURE")
    (run,) = daemon.runs_of(again)
    assert {seed for seed, _ in doors.made} == {REFUSED}
    assert run.asset_selection == {dg.AssetKey(c) for c in ("solution", "task")}
    assert statuses(daemon.instance, "task") == dict.fromkeys(SEEDS, MADE)
    doors.made.clear()
    assert len(daemon.runs_of(daemon.backfill(["scenario"], SEEDS[:3]))) == 1
    assert doors.made == [(seed, Component.SCENARIO) for seed in SEEDS[:3]]
    assert len(daemon.runs_of(daemon.backfill(["scenario"], ["alpha", "delta"]))) == 2  # why there is repair_seeds
    doors.made.clear()
    held = daemon.backfill(["scenario"], ["alpha"])
    daemon.iterate()
    daemon.hold()
    assert [run.status for run in daemon.runs_of(held)] == [dg.DagsterRunStatus.CANCELED] and doors.made == []


def test_new_seeds_are_walked_when_the_sensor_is_on(daemon: Daemon, doors: Any) -> None:
    daemon.tick("new_seeds")
    (asked,) = daemon.instance.get_runs()
    assert asked.tags["facet/asked_by"] == "new_seeds" and asked.status is dg.DagsterRunStatus.QUEUED
    daemon.work_off_the_queue()
    assert {seed for seed, _ in doors.made} == set(SEEDS)
    assert statuses(daemon.instance, "task") == {**dict.fromkeys(SEEDS, MADE), REFUSED: FAILED}


def listed(
    job: str, op: str, seeds: Sequence[str], instance: dg.DagsterInstance, overrides: Mapping[str, object]
) -> Any:
    return (
        build_defs(overrides)
        .resolve_job_def(job)
        .execute_in_process(
            instance=instance, run_config={"ops": {op: {"config": {"seeds": list(seeds)}}}}, raise_on_error=False
        )
    )


def test_scattered_repairs_are_one_run_that_records_the_same_cells(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], doors: Any
) -> None:
    doors.refused = {"alpha", "delta"}
    materialise(CONSTRUCTION, instance=instance, overrides=overrides)
    red = {**dict.fromkeys(SEEDS, MADE), "alpha": FAILED, "delta": FAILED}
    assert statuses(instance, "task") == red
    refused = listed("repair_seeds", "walk_listed", ["delta", "alpha"], instance, overrides)
    assert not refused.success and statuses(instance, "task") == red  # what fails again stays red
    doors.refused, doors.remembers = set(), False
    repaired = listed("repair_seeds", "walk_listed", ["delta", "alpha"], instance, overrides)
    assert repaired.success
    assert {name: statuses(instance, name) for name in CONSTRUCTION} == {
        name: dict.fromkeys(SEEDS, MADE) for name in CONSTRUCTION
    }


def test_scattered_tasks_are_rolled_out_in_one_run(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], doors: Any, make_trial: Any
) -> None:
    doors.trials = {seed: [make_trial(seed, 1.0)] for seed in SEEDS}
    assert listed("roll_out_listed_seeds", "roll_out_listed", ["gamma", "alpha"], instance, overrides).success
    made = {seed for seed, status in statuses(instance, "trajectories").items() if status is MADE}
    assert made == {"alpha", "gamma"}


def test_short_jobs_go_before_repairs_before_rollouts_before_new_seeds() -> None:
    """Whatever waits behind a line that works never has its turn."""
    assert HOLD > UPKEEP > REPAIRS > ROLLOUTS > NEW > LOOKING_AGAIN
    repository = build_defs().get_repository_def()
    tags = {job.name: int(job.tags.get("dagster/priority", NEW)) for job in repository.get_all_jobs()}
    assert tags["repair_seeds"] == REPAIRS and tags["roll_out_listed_seeds"] == ROLLOUTS
    assert tags["construct_all"] == NEW and tags["revalidate_tasks"] == LOOKING_AGAIN and tags["hold_queue"] == HOLD
    assert {tags[name] for name in ("sweep_leftovers", "compact_store", "prune_run_logs")} == {UPKEEP}
