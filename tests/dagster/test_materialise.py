"""The graph run headless over fakes: colours tell the truth, by hand makes one thing, twice costs nothing."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest
from dagster._core.storage.partition_status_cache import AssetPartitionStatus

from assets.partitions import scenario_seed
from facet_dagster.definitions import (
    CONSTRUCTION,
    DATASETS,
    REPORTS,
    ROLLOUTS,
    SEEDING,
    SKILLS,
    build_defs,
    materialise,
    open_instance,
)
from facet_dagster.errors import BudgetSpent, EngineUnavailable, InfrastructureError, SettingsError
from facet_dagster.records.bundle import ComponentVersion
from facet_dagster.records.outcome import Component
from resources.event_log import KeptEngines
from resources.workshop import WorkshopResource

MADE, FAILED = AssetPartitionStatus.MATERIALIZED, AssetPartitionStatus.FAILED
SEEDS, REFUSED = ("alpha", "beta", "delta", "gamma"), "delta"
BEFORE_SOLUTION = ("scenario", "environment", "instruction")


def statuses(instance: dg.DagsterInstance, asset: str) -> dict[str, AssetPartitionStatus | None]:
    return dict(instance.get_status_by_partition(dg.AssetKey(asset), SEEDS, scenario_seed) or {})


def expected() -> dict[str, dict[str, AssetPartitionStatus | None]]:
    lost = {**dict.fromkeys(SEEDS, MADE), REFUSED: FAILED}
    return {name: dict.fromkeys(SEEDS, MADE) if name in BEFORE_SOLUTION else lost for name in CONSTRUCTION}


def events(instance: dg.DagsterInstance, asset: str) -> list[dg.AssetMaterialization]:
    records = instance.fetch_materializations(dg.AssetKey(asset), limit=100, ascending=True).records
    return [record.asset_materialization for record in records if record.asset_materialization]


def test_a_rejected_seed_is_red_exactly_where_something_is_missing(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], notebook: Any
) -> None:
    result = materialise(CONSTRUCTION, instance=instance, overrides=overrides)
    assert {name: statuses(instance, name) for name in CONSTRUCTION} == expected()
    assert len(result.run_ids) == 1
    assert not result.success and result.trouble is None
    assert "1 of 4 seeds" in result.failures[0].message and "1 rejected" in result.failures[0].message
    assert sorted(notebook.ended_seeds) == list(SEEDS)


def test_many_seeds_become_runs_that_fit_in_memory(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster holds all events of a run in memory until it ends."""
    monkeypatch.setattr("facet_dagster.definitions.SEEDS_PER_RUN", 3)
    result = materialise(CONSTRUCTION, instance=instance, overrides=overrides)
    assert {name: statuses(instance, name) for name in CONSTRUCTION} == expected()
    runs = [instance.get_run_by_id(run_id) for run_id in result.run_ids]
    told = [
        (run.tags.get("dagster/partition"), run.tags.get("dagster/asset_partition_range_end")) for run in runs if run
    ]
    assert told == [(None, "delta"), ("gamma", None)]
    assert ["1 of 3 seeds" in failure.message for failure in result.failures] == [True]


def test_the_event_log_of_a_home_is_read_alike_by_dagsters_own_class(
    tmp_path: Path, overrides: Mapping[str, object]
) -> None:
    """The web server opens the same files with the class that Dagster brings."""
    with open_instance(tmp_path) as ours:
        assert isinstance(ours.event_log_storage, KeptEngines)
        ours.add_dynamic_partitions(scenario_seed.name or "", list(SEEDS))
        materialise(CONSTRUCTION, instance=ours, overrides=overrides)
        # While ours is still open, as the web server reads beside a run.
        with dg.DagsterInstance.from_config(str(tmp_path)) as dagsters:
            assert not isinstance(dagsters.event_log_storage, KeptEngines)
            assert {name: statuses(dagsters, name) for name in CONSTRUCTION} == expected()
            dagsters.add_dynamic_partitions(scenario_seed.name or "", ["later"])
        assert "later" in ours.get_dynamic_partitions(scenario_seed.name or "")


def test_events_are_stored_over_the_connections_that_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`_connect` is private to Dagster: under another name there, ours would be called by nobody, without an error."""
    used: list[str] = []
    connect = KeptEngines._connect

    def counted(self: KeptEngines, shard: str) -> Any:
        used.append(shard)
        return connect(self, shard)

    monkeypatch.setattr(KeptEngines, "_connect", counted)
    with open_instance(tmp_path) as instance:
        run = instance.add_run(dg.DagsterRun(job_name="job"))
        used.clear()
        instance.report_engine_event("said", run)
        assert run.run_id in used
        assert [entry.message for entry in instance.all_logs(run.run_id)] == ["said"]


def test_the_file_is_asked_once_what_tables_it_has(tmp_path: Path) -> None:
    said: list[str] = []

    def noted(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        said.append(statement)

    with open_instance(tmp_path) as instance:
        told = dg.AssetMaterialization("task", partition="alpha", tags={"dagster/data_version": "v"})
        instance.report_runless_asset_event(told)
        sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", noted)
        try:
            instance.report_runless_asset_event(told)
        finally:
            sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", noted)
        assert [statement for statement in said if "asset_event_tags" in statement and "INSERT" in statement]
        assert [statement for statement in said if "PRAGMA" in statement or "sqlite_master" in statement] == []


def test_the_page_of_the_failed_component_says_why(
    instance: dg.DagsterInstance, overrides: Mapping[str, object]
) -> None:
    materialise(CONSTRUCTION, instance=instance, overrides=overrides)
    records = instance.fetch_observations(dg.AssetKey("solution"), limit=10).records
    said = [record.asset_observation for record in records if record.asset_observation]
    assert {observation.partition for observation in said} == {REFUSED}
    assert {observation.metadata["reason"].value for observation in said} == {"solution_failed"}
    assert "exit code 1" in str(said[0].metadata["evidence"].value)
    on_task = instance.fetch_observations(dg.AssetKey("task"), limit=10).records
    assert [record.partition_key for record in on_task] == [REFUSED]


def test_a_second_run_makes_nothing_and_colours_the_same(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], doors: Any
) -> None:
    materialise(CONSTRUCTION, instance=instance, overrides=overrides)
    made = list(doors.made)
    materialise(CONSTRUCTION, instance=instance, overrides=overrides)
    assert doors.made == made
    assert {name: statuses(instance, name) for name in CONSTRUCTION} == expected()


def test_a_fresh_instance_on_an_old_store_shows_what_the_store_holds(
    instance: dg.DagsterInstance, overrides: Mapping[str, object]
) -> None:
    materialise(CONSTRUCTION, instance=instance, overrides=overrides)
    with dg.DagsterInstance.ephemeral() as other:
        other.add_dynamic_partitions(scenario_seed.name or "", list(SEEDS))
        materialise(CONSTRUCTION, instance=other, overrides=overrides)
        assert {name: statuses(other, name) for name in CONSTRUCTION} == expected()


def test_one_component_of_one_seed_by_hand_makes_only_that(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], doors: Any
) -> None:
    materialise(CONSTRUCTION, instance=instance, overrides=overrides)
    doors.made.clear()
    before = {name: len(events(instance, name)) for name in CONSTRUCTION}
    result = materialise(["instruction"], instance=instance, seeds=["beta"], overrides=overrides)
    after = {name: len(events(instance, name)) for name in CONSTRUCTION}
    assert result.success
    assert doors.made == [("beta", Component.INSTRUCTION)]
    assert after == {**before, "instruction": before["instruction"] + 1}
    assert events(instance, "instruction")[-1].partition == "beta"


def test_by_hand_fails_where_what_was_asked_for_was_not_made(
    instance: dg.DagsterInstance, overrides: Mapping[str, object]
) -> None:
    result = materialise(["solution"], instance=instance, seeds=[REFUSED], overrides=overrides)
    assert not result.success
    assert statuses(instance, "solution")[REFUSED] is FAILED


def test_events_carry_versions_of_themselves_and_their_inputs(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], store: Any
) -> None:
    materialise(["scenario"], instance=instance, seeds=["alpha"], overrides=overrides)
    tags = events(instance, "scenario")[-1].tags or {}
    version = store.rows(ComponentVersion, "alpha")[-1]
    assert tags["dagster/data_version"] == version.body.digest()[:32]
    assert tags["dagster/code_version"] == "1"


def outdated(instance: dg.DagsterInstance, seed: str) -> set[str]:
    graph = build_defs().resolve_asset_graph()
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    return {name for name in CONSTRUCTION if resolver.get_status(dg.AssetKey(name), seed) is StaleStatus.STALE}


def test_only_what_stands_on_something_newer_is_out_of_date(
    instance: dg.DagsterInstance, overrides: Mapping[str, object]
) -> None:
    materialise(SEEDING, instance=instance, overrides=overrides)
    materialise(CONSTRUCTION, instance=instance, seeds=["alpha", "beta"], overrides=overrides)
    assert outdated(instance, "alpha") == outdated(instance, "beta") == set()
    materialise(["instruction"], instance=instance, seeds=["beta"], overrides=overrides)
    assert outdated(instance, "beta") == {"solution", "verifier", "validation", "task"}
    assert outdated(instance, "alpha") == set()


def test_a_plan_with_more_seeds_leaves_the_cells_of_the_others_as_they_are(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], doors: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    materialise(SEEDING, instance=instance, overrides=overrides)
    materialise(CONSTRUCTION, instance=instance, seeds=["alpha"], overrides=overrides)
    plan_seeds = doors.plan_seeds

    async def one_more(*args: Any, **kwargs: Any) -> Any:
        result = await plan_seeds(*args, **kwargs)
        seeds = [*result.seeds, result.seeds[0].model_copy(update={"seed_id": "omega"})]
        hypotheses = [*result.hypotheses, result.hypotheses[0].model_copy(update={"hypothesis_id": "h2"})]
        return dataclasses.replace(result, seeds=seeds, hypotheses=hypotheses)

    monkeypatch.setattr(doors, "plan_seeds", one_more)
    assert materialise(SEEDING, instance=instance, overrides=overrides).success
    assert events(instance, "scenario_seeds")[-1].metadata["dagster/row_count"].value == len(SEEDS) + 1
    assert outdated(instance, "alpha") == set()


def test_scattered_seeds_become_one_run_per_contiguous_range(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], doors: Any
) -> None:
    result = materialise(["scenario"], instance=instance, seeds=["gamma", "alpha", "beta"], overrides=overrides)
    assert result.success and len(result.run_ids) == 2
    assert sorted(doors.made) == [(seed, Component.SCENARIO) for seed in ("alpha", "beta", "gamma")]


def test_a_crash_is_trouble_and_says_which(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], doors: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(*args: object, **kwargs: object) -> None:
        raise InfrastructureError("the disk is full")

    monkeypatch.setattr(doors, "construct_seeds", crash)
    result = materialise(CONSTRUCTION, instance=instance, overrides=overrides)
    assert result.trouble is not None
    assert (result.trouble.kind, result.trouble.message) == ("InfrastructureError", "the disk is full")
    assert result.trouble.exit_code == InfrastructureError.exit_code


def test_a_workshop_that_cannot_be_opened_is_trouble_and_says_which(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(settings: object, **kwargs: object) -> None:
        raise EngineUnavailable("no engine: start one")

    monkeypatch.setattr("resources.workshop.open_workshop", refuse)
    result = materialise(CONSTRUCTION, instance=instance, overrides={**overrides, "workshop": WorkshopResource()})
    assert result.trouble is not None
    assert (result.trouble.kind, result.trouble.message) == ("EngineUnavailable", "no engine: start one")


def test_unknown_names_and_seeds_are_settings_errors(
    instance: dg.DagsterInstance, overrides: Mapping[str, object]
) -> None:
    with pytest.raises(SettingsError, match="unknown asset 'nothing'"):
        materialise(["nothing"], instance=instance, overrides=overrides)
    with pytest.raises(SettingsError, match="seed 'omega' is not a partition"):
        materialise(["scenario"], instance=instance, seeds=["omega"], overrides=overrides)
    with pytest.raises(SettingsError, match="one kind"):
        materialise(["scenario", "skills"], instance=instance, overrides=overrides)


def test_seeding_registers_the_partitions(overrides: Mapping[str, object], notebook: Any, tmp_path: Path) -> None:
    folder = tmp_path / "empty-skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text("")
    with dg.DagsterInstance.ephemeral() as instance:
        assert materialise([*SKILLS, *SEEDING], instance=instance, overrides=overrides).success
        assert instance.get_dynamic_partitions(scenario_seed.name or "") == list(SEEDS)
        rejects = events(instance, "skill_rejects")[-1].metadata
        assert rejects["dagster/row_count"].value == 1
        assert "empty-skill" in str(rejects["sample"].value)
    assert notebook.notes[-1] == "planning" and "1 found" in notebook.notes[0]


def test_the_pages_of_seeding_show_columns_pictures_and_rates_that_only_warn(
    instance: dg.DagsterInstance, overrides: Mapping[str, object]
) -> None:
    assert materialise(SEEDING, instance=instance, overrides=overrides).success
    hypotheses = events(instance, "scenario_hypotheses")[-1].metadata
    seeds = events(instance, "scenario_seeds")[-1].metadata
    assert [c.name for c in hypotheses["dagster/column_schema"].value.columns][1:3] == ["hypothesis_id", "skill_id"]
    assert hypotheses["dagster/row_count"].value == 1 and seeds["dagster/row_count"].value == len(SEEDS)
    for name in ("similarity", "categories"):
        assert "data:image/png;base64,iVBOR" in str(seeds[name].value)
    keys = [dg.AssetCheckKey(dg.AssetKey("scenario_hypotheses"), "unusable_rate")]
    keys.append(dg.AssetCheckKey(dg.AssetKey("scenario_seeds"), "kept_rate"))
    latest = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    found = {key.name: latest[key].event.dagster_event.asset_check_evaluation_data for key in keys}
    assert found["unusable_rate"].passed
    assert not found["kept_rate"].passed  # the one candidate was refused
    assert found["kept_rate"].severity is dg.AssetCheckSeverity.WARN


def test_a_plan_that_meets_trouble_still_registers_what_is_there(
    overrides: Mapping[str, object], doors: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def spent(*args: object, **kwargs: object) -> None:
        raise BudgetSpent("spent")

    monkeypatch.setattr(doors, "plan_seeds", spent)
    with dg.DagsterInstance.ephemeral() as instance:
        result = materialise(SEEDING, instance=instance, overrides=overrides)
        assert result.trouble is not None and result.trouble.exit_code == BudgetSpent.exit_code
        assert instance.get_dynamic_partitions(scenario_seed.name or "") == list(SEEDS)


def test_an_instance_on_disk_is_made_once_and_keeps_what_is_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with open_instance(home) as instance:
        instance.add_dynamic_partitions(scenario_seed.name or "", ["alpha"])
    configuration = home / "dagster.yaml"
    assert "enabled: false" in configuration.read_text()
    configuration.write_text(configuration.read_text() + "# mine\n")
    with open_instance(home) as again:
        assert again.get_dynamic_partitions(scenario_seed.name or "") == ["alpha"]
    assert configuration.read_text().endswith("# mine\n")


def test_rollouts_record_graded_trials_skip_and_retry_the_rest(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], doors: Any, make_trial: Any
) -> None:
    doors.trials = {
        "alpha": [make_trial("alpha", 1.0)],
        "beta": [make_trial("beta", None)],
        "gamma": InfrastructureError("no engine"),
    }
    result = materialise(ROLLOUTS, instance=instance, overrides=overrides)
    assert not result.success and result.trouble is None
    assert "2 of 4 seeds" in result.failures[0].message
    assert [event.partition for event in events(instance, "trajectories")] == ["alpha"]
    records = instance.fetch_observations(dg.AssetKey("trajectories"), limit=10).records
    said = {r.partition_key: r.asset_observation.metadata["status"].value for r in records if r.asset_observation}
    assert said == {"beta": "pending", "gamma": "pending", "delta": "skipped"}


def test_a_bug_that_one_seed_brings_to_light_leaves_the_other_trials_alone(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], doors: Any, make_trial: Any
) -> None:
    doors.trials = {"alpha": ZeroDivisionError("a bug"), "beta": [make_trial("beta", 1.0)]}
    result = materialise(ROLLOUTS, instance=instance, overrides=overrides)
    assert not result.success
    assert [event.partition for event in events(instance, "trajectories")] == ["beta"]


def test_datasets_show_their_card(instance: dg.DagsterInstance, overrides: Mapping[str, object]) -> None:
    assert materialise(DATASETS, instance=instance, overrides=overrides).success
    card = events(instance, "task_dataset")[-1].metadata
    assert card["tasks"].value == 3 and card["directory"].value == "out/tasks"
    card = events(instance, "sft_dataset")[-1].metadata
    assert card["rows"].value == 2 and "| failure | complete successes | 1 | 2 |" in str(card["funnel"].value)


def test_reports_draw_an_empty_store(instance: dg.DagsterInstance, overrides: Mapping[str, object]) -> None:
    assert materialise(REPORTS, instance=instance, overrides=overrides).success
    shown = events(instance, "yield_report")[-1].metadata
    assert str(shown["picture_funnel"].value).startswith(
        "![What is left after every station](data:image/png;base64,iVBOR"
    )
    assert Path(str(shown["report"].value)).read_text().startswith("<!DOCTYPE html>")
    assert str(shown["funnel"].value).startswith("| station |")
    assert events(instance, "cost_report")[-1].metadata["cost"].value
