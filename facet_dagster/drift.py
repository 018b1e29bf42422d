"""Accepted tasks validated again, a sample at a time: built from nothing, without cached layers, and put to the gates.

What is found is kept beside the task (table `drift`), never in its place: the task, its image and its verdict stay as
they are until a person decides. A front door, like pipeline.py.
"""

import dataclasses
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from uuid import uuid4

from facet_dagster.environment.observe import difference, observe
from facet_dagster.environment.rebuild import build_request
from facet_dagster.errors import ENGINE_TROUBLE
from facet_dagster.makers import Bench
from facet_dagster.records.base import now
from facet_dagster.records.bundle import Task
from facet_dagster.records.container import ContainerSpec
from facet_dagster.records.drift import DriftCheck
from facet_dagster.records.environment import ObservedState
from facet_dagster.records.outcome import Component
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.terms import DriftTerms
from facet_dagster.records.validation import GateResult
from facet_dagster.tasks import accepted_bench
from facet_dagster.validation.validate import GATES_VERSION, validate
from facet_dagster.workshop import Workshop

MOST_CHANGES = 50  # of one check that are kept
_NEVER = datetime.min.replace(tzinfo=UTC)


async def check_drift(workshop: Workshop, terms: DriftTerms) -> AsyncIterator[DriftCheck]:
    """Look at `terms.sample` accepted tasks, first at those that were looked at longest ago.

    Each check is in the store when it is yielded. Trouble with one task is a check without a verdict.
    """
    for bench in _sample(workshop, terms.sample):
        check = await _check(bench, terms)
        workshop.store.put(check)
        yield check


def _sample(workshop: Workshop, number: int) -> Iterator[Bench]:
    last: dict[str, datetime] = {}
    for check in workshop.store.rows(DriftCheck):
        last[check.seed] = max(check.at, last.get(check.seed, _NEVER))
    for seed in sorted(workshop.store.keys(ScenarioSeed), key=lambda seed: last.get(seed, _NEVER)):
        if number == 0:
            return
        bench = accepted_bench(seed, workshop)
        if bench is not None:
            number -= 1
            yield bench


async def _check(bench: Bench, terms: DriftTerms) -> DriftCheck:
    began = time.monotonic()
    verdict, gates, changes, evidence = await _found(bench, terms)
    return DriftCheck(
        seed=bench.seed.seed_id,
        task=bench.body(Task, Component.TASK).name,
        bundle=bench.bundle(),
        verdict=verdict,
        gates_version=GATES_VERSION,
        gates=gates,
        changes=changes,
        evidence=evidence[:4_000],
        seconds=round(time.monotonic() - began, 3),
        run_id=bench.workshop.run_id,
        at=now(),
    )


async def _found(bench: Bench, terms: DriftTerms) -> tuple[bool | None, tuple[GateResult, ...], tuple[str, ...], str]:
    """Verdict, gates, changes of the initial state, evidence."""
    workshop, construction = bench.workshop, bench.workshop.construction
    request = build_request(
        bench.seed.seed_id, bench.environment.materials, construction.limits, construction.build_timeout_s
    ).model_copy(update={"fresh": uuid4().hex})
    try:
        built = await workshop.builder.build(request)
        if not built.ok:
            return False, (), (), f"it does not build any more: {built.log[-2_000:]}"
        try:
            state = await _state_of(built.image, bench)
            report = await validate(
                dataclasses.replace(bench.candidate(), image=built.image, e0=state),
                bundle=bench.bundle(),
                sandbox=workshop.sandbox,
                repeats=terms.repeats,
                controls_max=construction.controls,
                observe=observe,
                difference=difference,
            )
        finally:
            with suppress(*ENGINE_TROUBLE):  # what cannot be removed now is swept later
                await workshop.builder.remove(built.image)
    except ENGINE_TROUBLE as trouble:
        return None, (), (), f"{type(trouble).__name__}: {trouble}"
    failed = report.failed_gate()
    return report.verdict, report.gates, _changes(bench.environment.e0, state), failed.evidence if failed else ""


async def _state_of(image: str, bench: Bench) -> ObservedState:
    limits = bench.workshop.construction.limits
    spec = ContainerSpec(image=image, seed=bench.seed.seed_id, purpose="observe", limits=limits)
    async with bench.workshop.sandbox.open(spec) as container:
        return await observe(container)


def _changes(before: ObservedState, after: ObservedState) -> tuple[str, ...]:
    """Packages and files that are not what they were, one line each."""
    old, new = (dict(package.partition("=")[::2] for package in state.packages) for state in (before, after))
    packages = [
        f"package {name}: {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]
    files = [f"{change.path}: {change.change}" for change in difference(before, after).files]
    return tuple([*packages, *files][:MOST_CHANGES])
