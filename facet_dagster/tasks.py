"""Accepted bundles: their export as Harbor tasks, and taking one up again from the store."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from facet_dagster.datasets.harbor import TaskTerms, export_task
from facet_dagster.environment.dockerfile import build_context, render_dockerfile
from facet_dagster.makers import Bench, bundle_of, stands
from facet_dagster.ports import Store
from facet_dagster.records.authoring import Verifier
from facet_dagster.records.base import Record
from facet_dagster.records.bundle import ComponentVersion, Task
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.validation import ValidationReport
from facet_dagster.skills.usable import skills_by_id
from facet_dagster.workshop import Workshop


def export_accepted(bench: Bench, rounds: Mapping[str, int], versions: Sequence[ComponentVersion]) -> Task:
    """Write the Harbor task of an accepted bundle; the record of it."""
    workshop, seed, materials = bench.workshop, bench.seed, bench.environment.materials
    verifier = bench.body(Verifier, Component.VERIFIER)
    directory = export_task(
        workshop.tasks,
        org=workshop.organisation,
        seed=seed,
        skills=bench.skills,
        scenario=bench.scenario,
        environment=bench.environment,
        instruction=bench.instruction,
        solution=bench.solution,
        verifier=verifier,
        report=bench.body(ValidationReport, Component.VALIDATION),
        provenance=_provenance(bench, rounds, versions),
        dockerfile=render_dockerfile(materials, standalone=True),
        context=build_context(materials),
        terms=TaskTerms(
            limits=workshop.construction.limits,
            build_timeout_s=workshop.construction.build_timeout_s,
            agent_timeout_s=workshop.rollouts.seconds,
            grade_timeout_s=workshop.construction.grade_timeout_s,
        ),
    )
    return Task(
        name=f"{workshop.organisation}/{seed.seed_id}",
        bundle=bench.bundle(),
        rounds=dict(rounds),
        tests=len(verifier.tests),
        directory=directory.name,
    )


def _provenance(bench: Bench, rounds: Mapping[str, int], versions: Sequence[ComponentVersion]) -> dict[str, Any]:
    """Which prompts and models by hash and name, which rounds, what it cost (quality page, last line)."""
    rows = bench.workshop.store.rows(LedgerRow, bench.seed.seed_id)
    calls = [row for row in rows if not row.station.startswith("rollout.")]  # a rollout does not change the task
    return {
        "bundle": bench.bundle(),
        "rounds": dict(rounds),
        # The task's own versions apart: the same bundle exported again must be the same files.
        "versions": sum(version.component is not Component.TASK for version in versions),
        "models": sorted({row.model for row in calls}),
        "prompts": {row.station: row.prompt_hash for row in calls},
        "tokens": sum(row.prompt_tokens + row.completion_tokens for row in calls),
        "cost_usd": round(sum(row.cost_usd for row in calls), 6),
        "recorded": any(row.recorded for row in calls),
    }


def load_bench(seed: ScenarioSeed, workshop: Workshop) -> Bench:
    """The current usable version of each component of a seed, as the store has it."""
    skills = skills_by_id(workshop.store, seed.skill_ids)
    return Bench(seed, list(skills.values()), workshop, current_bodies(seed.seed_id, workshop.store))


def current_bodies(seed_id: str, store: Store) -> dict[Component, Record]:
    """The newest usable body of each component of a seed."""
    versions = store.rows(ComponentVersion, seed_id)
    return {version.component: version.body for version in versions if not isinstance(version.body, Rejected)}


def standing_bundles(store: Store) -> set[tuple[str, str]]:
    """(seed, bundle) of every task that was accepted and is still made of the current versions."""
    of_seed = ((seed.seed_id, current_bodies(seed.seed_id, store)) for seed in store.rows(ScenarioSeed))
    return {(seed_id, bundle_of(bodies)) for seed_id, bodies in of_seed if stands(bodies)}


def accepted_benches(workshop: Workshop) -> Iterator[Bench]:
    """Every seed with a task that still stands, in the order of the seeds' ids; one after the other in memory."""
    benches = (accepted_bench(seed.seed_id, workshop) for seed in workshop.store.rows(ScenarioSeed))
    return (bench for bench in benches if bench is not None)


def accepted_bench(seed_id: str, workshop: Workshop) -> Bench | None:
    """The bench of a seed whose task was accepted and is still made of the current versions; else None."""
    seed = workshop.store.get(ScenarioSeed, "all", seed_id)
    if seed is None:
        return None
    bench = load_bench(seed, workshop)
    return bench if bench.task_stands() else None
