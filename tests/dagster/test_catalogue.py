"""What the catalogue shows: rows and columns on the page of every asset that was made, types that people can read."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.catalogue import RECORDS, catalogued
from assets.showing import columns
from facet_dagster.definitions import (
    CONSTRUCTION,
    DATASETS,
    EVALUATION,
    REPORTS,
    ROLLOUTS,
    SEEDING,
    SKILLS,
    build_defs,
    materialise,
)
from facet_dagster.evaluation.scores import evaluation_of
from facet_dagster.records.evaluation import Evaluation
from facet_dagster.records.rollout import Trial

ROWS = {"dagster/row_count", "dagster/partition_row_count"}


class NoTasks:
    """An examiner without a task."""

    def evaluate_folder(self, *args: Any, **kwargs: Any) -> Evaluation:
        return evaluation_of("some/tasks", (), 1, [])


def test_every_asset_shows_rows_and_columns_once_it_is_made(
    instance: dg.DagsterInstance, overrides: dict[str, object], doors: Any, make_trial: Any
) -> None:
    overrides["examiner"] = NoTasks()
    doors.trials = {"alpha": [make_trial("alpha", 1.0)]}
    for names in (SKILLS, SEEDING, CONSTRUCTION, ROLLOUTS, DATASETS, EVALUATION, REPORTS):
        assert materialise(names, instance=instance, seeds=None, overrides=overrides).trouble is None
    lacking: Mapping[str, str] = {
        node.key.to_user_string(): "rows" if not ROWS & set(shown) else "columns"
        for node in build_defs().resolve_asset_graph().asset_nodes
        if not ROWS & set(shown := {**node.metadata, **_page(instance, node.key)})
        or "dagster/column_schema" not in shown
    }
    assert lacking == {}


def _page(instance: dg.DagsterInstance, key: dg.AssetKey) -> Mapping[str, Any]:
    (record,) = instance.fetch_materializations(key, limit=1).records
    assert record.asset_materialization is not None
    return record.asset_materialization.metadata


def test_types_of_columns_are_readable() -> None:
    for kind in RECORDS.values():
        types = {column.name: column.type for column in columns(kind).columns}
        assert all("." not in type_.replace("...", "") and "<" not in type_ for type_ in types.values()), types
    shown = {column.name: column.type for column in columns(Trial).columns}
    assert (shown["seed"], shown["turns"], shown["reward"]) == ("str", "tuple[Turn, ...]", "float | None")


def test_what_an_asset_says_itself_is_kept() -> None:
    own = dg.AssetSpec("task", group_name="construction", owners=["team:mine"], code_version="9", kinds={"docker"})
    spec = catalogued(own)
    assert (list(spec.owners), spec.code_version, spec.kinds) == (["team:mine"], "9", {"docker"})
    assert spec.tags["facet/cost"] == "containers" and spec.metadata["dagster/table_name"] == "components"
