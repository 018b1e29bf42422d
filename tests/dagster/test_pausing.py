"""Sensors ask for nothing while their last runs all failed of one trouble; one run tells whether it is over."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from assets import trouble as told
from facet_dagster.definitions import ROLLOUTS, materialise
from facet_dagster.errors import EngineUnavailable, ModelRefused
from facet_dagster.records.bundle import SeedOutcome, Status
from facet_dagster.records.outcome import Component
from facet_dagster.settings import Settings
from resources.workshop import WorkshopResource
from sensors import pausing
from sensors.asking import ASKED_BY
from sensors.work import new_seeds

Overrides = Mapping[str, object]


def run(instance: dg.DagsterInstance, overrides: Overrides, names: Any = ("scenario",), **more: Any) -> str:
    (run_id,) = materialise(names, instance=instance, overrides=overrides, tags={ASKED_BY: "new_seeds"}, **more).run_ids
    return told.trouble_of(run_id, instance)


def tick(instance: dg.DagsterInstance, overrides: Overrides) -> Any:
    settings = overrides["settings"]
    assert isinstance(settings, Settings)
    return new_seeds(
        dg.build_sensor_context(instance=instance, resources={"settings": settings}, sensor_name="new_seeds")
    )


@pytest.fixture
def refused(doors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoint refuses every walk."""

    async def construct(seeds: Any, workshop: Any, watcher: Any, **_: Any) -> None:
        for seed in seeds:
            watcher.ended(pending(seed.seed_id, "ModelRefused: a wrong key"))

    monkeypatch.setattr(doors, "construct_seeds", construct)


def pending(seed: str, evidence: str) -> SeedOutcome:
    return SeedOutcome.model_validate({
        "seed": seed, "sequence": 0, "status": Status.PENDING, "first_pass": False, "rounds": 0,
        "evidence": evidence, "run_id": "r", "at": "2026-01-01T00:00:00Z",
    })  # fmt: skip


def test_a_pause_ends_with_one_run_that_tells_otherwise(
    instance: dg.DagsterInstance, overrides: Overrides, refused: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensors.asking.MOST_TIMES", 10)
    assert [run(instance, overrides) for _ in range(pausing.ALIKE - 1)] == ["ModelRefused"] * 2
    assert tick(instance, overrides).run_requests
    run(instance, overrides)
    said = tick(instance, overrides).skip_message
    assert "the last 3 runs all failed of ModelRefused" in said and "one is tried at" in said
    monkeypatch.setattr(pausing, "PAUSE", timedelta(0))
    monkeypatch.setattr("sensors.asking.BATCH", 2)
    assert len(tick(instance, overrides).run_requests) == 1  # of two
    trial = instance.add_run(dg.DagsterRun("job", tags={ASKED_BY: "new_seeds"}, status=dg.DagsterRunStatus.STARTED))
    assert "one run is tried after trouble (ModelRefused)" in tick(instance, overrides).skip_message
    instance.delete_run(trial.run_id)
    monkeypatch.undo()
    monkeypatch.setattr("sensors.asking.MOST_TIMES", 10)
    run(instance, overrides)
    assert tick(instance, overrides).run_requests


def test_single_seeds_in_trouble_are_no_trouble_of_the_run(instance: dg.DagsterInstance, overrides: Overrides) -> None:
    assert run(instance, overrides, [Component.SOLUTION.value], seeds=["beta", "delta"]) == ""


def test_rollouts_and_runs_that_cannot_begin_tell_their_trouble_too(
    instance: dg.DagsterInstance, overrides: Overrides, doors: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    doors.trials = dict.fromkeys(("alpha", "beta"), ModelRefused("a wrong key"))
    assert run(instance, overrides, ROLLOUTS, seeds=["alpha", "beta"]) == "ModelRefused"
    assert run(instance, overrides, ROLLOUTS, seeds=["alpha", "beta", "delta"]) == ""

    def refuse(settings: object, **_: object) -> None:
        raise EngineUnavailable("no engine: start one")

    monkeypatch.setattr("resources.workshop.open_workshop", refuse)
    assert run(instance, {**overrides, "workshop": WorkshopResource()}) == "EngineUnavailable"
