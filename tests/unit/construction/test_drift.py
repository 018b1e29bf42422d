"""Accepted tasks looked at again: built anew, put to the gates, and never written over."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from facet_dagster.construction import construct
from facet_dagster.drift import check_drift
from facet_dagster.errors import EngineLost, InfrastructureError
from facet_dagster.records.bundle import ComponentVersion, SeedOutcome, Status
from facet_dagster.records.container import BuildFault, BuildRequest, BuildResult
from facet_dagster.records.drift import DriftCheck
from facet_dagster.records.terms import ConstructionTerms, DriftTerms
from facet_dagster.testing import toy_tasks
from facet_dagster.testing.sandbox import FakeImageBuilder

_spec = importlib.util.spec_from_file_location("drift_world", Path(__file__).with_name("conftest.py"))
assert _spec and _spec.loader
w = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(w)

TERMS = DriftTerms(sample=5, repeats=1)


async def accept(world: Any) -> None:
    outcome = await construct(w.SEED, [w.SKILL], world.workshop(w.good_script()), w.Seen())
    assert outcome.status is Status.ACCEPTED


async def look(world: Any, **changes: Any) -> tuple[DriftCheck, Any]:
    """One look by another run, and its builder; it must leave the task as it was."""
    before = [world.store.rows(kind) for kind in (ComponentVersion, SeedOutcome)]
    workshop = world.workshop({}, run_id="night", **changes)
    (check,) = [check async for check in check_drift(workshop, TERMS)]
    assert [world.store.rows(kind) for kind in (ComponentVersion, SeedOutcome)] == before
    assert world.store.rows(DriftCheck, w.SEED.seed_id) == [check]
    assert workshop.sandbox.images == {}, "its own image is removed"
    return check, workshop.builder


async def test_a_task_that_holds_is_built_anew_and_passes(world) -> None:
    await accept(world)
    check, builder = await look(world)
    assert (check.verdict, check.drifted, check.changes, check.evidence) == (True, False, (), "")
    assert check.gates and all(gate.passed for gate in check.gates) and check.run_id == "night"
    (request,) = builder.requests
    assert request.fresh and request.tag() != request.model_copy(update={"fresh": ""}).tag()


async def test_what_no_longer_builds_has_drifted(world) -> None:
    await accept(world)

    def fails(request: BuildRequest) -> BuildResult:
        return BuildResult(image=request.tag(), fault=BuildFault.FAILED, log="E: no such version", seconds=1.0)

    check, _ = await look(world, builds=fails)
    assert check.drifted and "no such version" in check.evidence


@pytest.mark.parametrize("trouble", [InfrastructureError("the daemon is gone"), EngineLost("the engine a is gone")])
async def test_trouble_of_the_engine_is_no_verdict(world, trouble: Exception) -> None:
    await accept(world)

    def breaks(request: BuildRequest) -> BuildResult:
        raise trouble

    check, _ = await look(world, builds=breaks)
    assert check.verdict is None and not check.drifted and str(trouble) in check.evidence


async def test_an_image_that_cannot_be_removed_takes_no_verdict_away(world, monkeypatch: pytest.MonkeyPatch) -> None:
    await accept(world)

    async def refuses(*_: object) -> None:
        raise InfrastructureError("the daemon is gone")

    monkeypatch.setattr(FakeImageBuilder, "remove", refuses)
    (check,) = [check async for check in check_drift(world.workshop({}, run_id="night"), TERMS)]
    assert (check.verdict, check.evidence) == (True, "")


async def test_another_initial_state_is_told_line_by_line(world, monkeypatch: pytest.MonkeyPatch) -> None:
    await accept(world)
    observe = toy_tasks._observe

    def aged(container: Any) -> Any:
        container.files["/app/extra.txt"] = b"of today"
        return observe(container)

    monkeypatch.setattr(toy_tasks, "_observe", aged)
    check, _ = await look(world, terms=ConstructionTerms(controls=0))
    assert check.changes == ("/app/extra.txt: added",)


async def test_those_come_first_that_were_looked_at_longest_ago(world) -> None:
    await accept(world)
    await look(world)
    assert [check async for check in check_drift(world.workshop({}), DriftTerms(sample=0))] == []
    again = [check async for check in check_drift(world.workshop({}), TERMS)]
    assert len(again) == 1 and len(world.store.rows(DriftCheck)) == 2
