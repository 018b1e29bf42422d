"""The assets on the real front doors, as far as one gets without a model: trouble is pending, never a verdict."""

from collections.abc import Mapping
from dataclasses import replace

import dagster as dg

from facet_dagster import pipeline
from facet_dagster.definitions import CONSTRUCTION, Session, materialise
from facet_dagster.records.bundle import SeedOutcome, Status
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.testing.memory_store import MemoryStore
from facet_dagster.testing.scripted_model import ScriptedModel


def test_a_model_that_does_not_answer_leaves_the_seed_pending(
    instance: dg.DagsterInstance, overrides: Mapping[str, object], store: MemoryStore
) -> None:
    session = overrides["workshop"]
    assert isinstance(session, Session)
    skill = Skill(
        skill_id="csv-1", source="s", path="csv", content_hash="0", name="csv", description="Clean", body="1. Clean"
    )
    store.put(skill)
    store.put(
        ScenarioSeed(seed_id="alpha", title="t", skill_ids=(skill.skill_id,), hypothesis_ids=(), rationale="fits")
    )
    silent = replace(session, workshop=replace(session.workshop, model=ScriptedModel({})))
    real = {**overrides, "workshop": silent, "doors": pipeline}
    result = materialise(CONSTRUCTION, instance=instance, seeds=["alpha"], overrides=real)
    assert not result.success and result.trouble is None
    assert "1 to be tried again" in result.failures[0].message
    (outcome,) = store.rows(SeedOutcome, "alpha")
    assert outcome.status is Status.PENDING and "NoRecording" in outcome.evidence
    records = instance.fetch_observations(dg.AssetKey("task"), limit=5).records
    said = [record.asset_observation for record in records if record.asset_observation]
    assert [observation.metadata["status"].value for observation in said] == ["pending"]
    assert instance.get_materialized_partitions(dg.AssetKey("scenario")) == set()
