"""One seed's walk from scenario to accepted task, repair rounds included; durable after every step.

Forward order: environment first, then instruction, solution and verifier from the state that the container
really has. A failure is diagnosed, one component is rewritten, what stands downstream is executed again (not
rewritten), and the whole is validated from clean; at most `task_repairs` rounds (method page 5). Every version is
put in the store before the next step starts, so a killed walk goes on where it stopped.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from facet_dagster.errors import EngineLost, FacetError, InfrastructureError
from facet_dagster.makers import WRITTEN, Bench
from facet_dagster.records.base import Record, now
from facet_dagster.records.bundle import (
    ComponentVersion,
    Origin,
    SeedOutcome,
    Status,
    Task,
)
from facet_dagster.records.call import LedgerRow
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.validation import Diagnosis, ValidationReport
from facet_dagster.repair.feedback import feedback_for
from facet_dagster.repair.guard import refuse
from facet_dagster.repair.route import route
from facet_dagster.side_by_side import uninterrupted
from facet_dagster.tasks import export_accepted
from facet_dagster.validation.validate import GATES_VERSION
from facet_dagster.workshop import CODE_VERSION, Workshop

Failure = ValidationReport | Rejected
# What ends one walk as pending: ours, the host's (a full disk), and data that cannot be written or read.
TROUBLE = (FacetError, OSError, ValueError)
MOST_LOSSES = 3  # of engines under one walk
# Rejections that a repair round can answer. The rest end the seed: their own repairs are used up.
REPAIRABLE = {
    Reason.SOLUTION_FAILED,
    Reason.SOLUTION_LIMIT,
    Reason.SOLUTION_CHANGES_NOTHING,
    Reason.UNSTABLE,
}


class _Overtaken(InfrastructureError):
    """Another run put its version of the seed first."""


class Watcher(Protocol):
    """Who wants to see a walk live: a progress display, a Dagster run, a test."""

    def started(self, seed: str, component: Component, round: int) -> None: ...

    def finished(self, version: ComponentVersion) -> None: ...

    def ended(self, outcome: SeedOutcome) -> None: ...


async def construct(
    seed: ScenarioSeed,
    skills: Sequence[Skill],
    workshop: Workshop,
    watcher: Watcher,
    *,
    selection: frozenset[Component] | None = None,
    losses: int = 0,
) -> SeedOutcome:
    """Walk the seed to its end (no selection), or make just the selected components again (by hand).

    A walk whose engine is lost begins anew on another, unless that was the third (`losses` counts them): it may be the
    seed that brings engines down. Other trouble does not escape: it ends the walk as `pending`, with what it was, to be
    tried again.
    """
    walk = _Walk(Bench(seed, skills, workshop), watcher)
    try:
        await asyncio.to_thread(walk.resume)
        outcome = await (walk.to_the_end() if selection is None else walk.by_hand(selection))
    except _Overtaken as overtaken:
        ended = _end_on_record(walk.bench)
        if ended is not None:  # the other run has come to the end meanwhile: nothing is left to be done
            watcher.ended(ended)
            return ended
        outcome = walk.outcome(Status.PENDING, evidence=f"{InfrastructureError.__name__}: {overtaken}")
    except TROUBLE as trouble:
        if isinstance(trouble, EngineLost) and selection is None and losses + 1 < MOST_LOSSES:
            return await construct(seed, skills, workshop, watcher, losses=losses + 1)  # what was made is in the store
        outcome = walk.outcome(Status.PENDING, evidence=f"{type(trouble).__name__}: {trouble}")
    if selection is not None:
        outcome = outcome.model_copy(update={"by_hand": True})

    async def end() -> None:
        await asyncio.to_thread(workshop.store.put, outcome)
        watcher.ended(outcome)

    await uninterrupted(end())
    return outcome


@dataclass
class _Walk:
    bench: Bench
    watcher: Watcher
    versions: list[ComponentVersion] = field(default_factory=list)
    latest: dict[Component, ComponentVersion] = field(default_factory=dict)
    round: int = 0
    _counted: set[str] = field(default_factory=set)  # calls of the ledger

    def resume(self) -> None:
        """Take up what the store holds: the last usable version of each component, and the rounds used."""
        store, seed = self.bench.workshop.store, self.bench.seed.seed_id
        for version in store.rows(ComponentVersion, seed):
            self._take(version)
        self._set_calls_aside()

    async def to_the_end(self) -> SeedOutcome:
        """First pass, then repair rounds until the bundle is accepted or the rounds are used up."""
        ended = self._last_outcome()
        if (
            ended is not None
            and ended.status is not Status.PENDING
            and ended.sequence == len(self.versions) - 1
            and not self._judged_by_other_gates()
            and not self._has_rounds_left(ended)
        ):
            return ended
        failure = await self._advance()
        while failure is not None:
            if self._rounds_used() >= self.bench.workshop.construction.task_repairs:
                return self._rejected(failure, Reason.REPAIRS_EXHAUSTED)
            if isinstance(failure, Rejected) and failure.reason not in REPAIRABLE:
                return self._rejected(failure, failure.reason)
            failure = await self._repair(failure)
        await self._accept()
        return self.outcome(Status.ACCEPTED)

    async def by_hand(self, selection: frozenset[Component]) -> SeedOutcome:
        """Make the selected components again, in order, with the last diagnosis as feedback; nothing else."""
        failure: Failure | None = self._failure_on_record()
        diagnosis = await self._diagnose(failure) if failure and selection & set(WRITTEN) else None
        failure = None
        self.round += 1
        for component in [c for c in (*self.bench.order, Component.VALIDATION, Component.TASK) if c in selection]:
            if component is Component.VALIDATION:
                failure = await self._execute_stale() or await self._validate(Origin.BY_HAND)
            elif component is Component.TASK:
                failure = failure or self._failure_on_record()
                if failure is None:
                    await self._accept()
            else:
                failure = await self._write(component, Origin.BY_HAND, _if_about(diagnosis, component))
            if failure is not None:
                # Not the end of the seed: a walk (`facet run`) may still repair it.
                return self._rejected(failure, None).model_copy(update={"status": Status.PENDING})
        return self.outcome(Status.ACCEPTED if self.bench.task_stands() else Status.PENDING, evidence="made by hand")

    def outcome(
        self,
        status: Status,
        *,
        component: Component | None = None,
        reason: Reason | None = None,
        evidence: str = "",
    ) -> SeedOutcome:
        return SeedOutcome(
            seed=self.bench.seed.seed_id,
            sequence=len(self.versions) - 1,
            status=status,
            first_pass=status is Status.ACCEPTED and self.round == 0,
            rounds=self._rounds_used(),
            component=component,
            reason=reason,
            evidence=evidence[:4_000],
            run_id=self.bench.workshop.run_id,
            at=now(),
        )

    async def _advance(self) -> Failure | None:
        """Bring every component up to date (written once, executed again when stale), then validate."""
        for component in self.bench.order:
            version = self.latest.get(component)
            if version is None:
                failure = await self._write(component, Origin.AUTHORED)
            elif self._stale(component):
                again = partial(self.bench.execute_again, component)
                failure = await self._record(component, Origin.REEXECUTED, again)
            else:
                failure = version.rejected
            if failure is not None:
                return failure
        report = self._current_report()
        return _failed(report) if report is not None else await self._validate(Origin.AUTHORED)

    async def _execute_stale(self) -> Rejected | None:
        """Downstream of what a person changed: executed again, not rewritten."""
        for component in self.bench.order[3:]:  # solution and verifier
            if component in self.latest and self._stale(component):
                again = partial(self.bench.execute_again, component)
                failure = await self._record(component, Origin.REEXECUTED, again)
                if failure is not None:
                    return failure
        return None

    async def _repair(self, failure: Failure) -> Failure | None:
        """One round: diagnose, rewrite one component, bring the rest up to date, validate."""
        diagnosis = await self._diagnose(failure)
        self.round += 1
        refused = await self._write(diagnosis.component, Origin.REPAIRED, diagnosis)
        if refused is not None and refused.reason not in REPAIRABLE:
            # The round is spent and on record; the fault stays what it was unless nothing can be done.
            return refused if refused.reason is Reason.INFEASIBLE else failure
        return await self._advance()

    async def _diagnose(self, failure: Failure) -> Diagnosis:
        bench = self.bench
        found = await route(
            bench.seed.seed_id, failure, bench.bodies, self.versions, asker=bench.workshop.asker, round=self.round + 1
        )
        self._set_calls_aside()
        return found

    async def _write(self, component: Component, origin: Origin, diagnosis: Diagnosis | None = None) -> Rejected | None:
        before = self.bench.bodies.get(component)
        feedback = feedback_for(diagnosis, before, self.versions) if diagnosis and before else None

        async def make() -> Record:
            after = await self.bench.make(component, self.round, feedback)
            if isinstance(after, Rejected) or before is None or origin is not Origin.REPAIRED or diagnosis is None:
                return after
            return refuse(before, after, diagnosis) or after

        return await self._record(component, origin, make, diagnosis)

    async def _validate(self, origin: Origin) -> Failure | None:
        """Run the gates; raises InfrastructureError where they ended without a verdict."""
        await self._record(Component.VALIDATION, origin, partial(self.bench.validate, self.round))
        report = self._current_report()
        if report is None:
            gate = self.bench.body(ValidationReport, Component.VALIDATION).failed_gate()
            raise InfrastructureError(f"validation ended without a verdict: {gate.evidence if gate else 'no gate ran'}")
        return _failed(report)

    async def _accept(self) -> None:
        if self.bench.task_stands():
            return
        rounds = {c.value: v.round for c, v in self.latest.items() if c is not Component.TASK}

        async def export() -> Task:
            return export_accepted(self.bench, rounds, self.versions)

        await self._record(Component.TASK, Origin.AUTHORED, export)

    async def _record(
        self, component: Component, origin: Origin, make: "Maker", diagnosis: Diagnosis | None = None
    ) -> Rejected | None:
        """Make one version, put it in the store, tell the watcher; its rejection if it cannot be used."""
        self.watcher.started(self.bench.seed.seed_id, component, self.round)
        began = time.monotonic()
        body = await make()
        made: dict[str, Any] = {
            "component": component,
            "origin": origin,
            "diagnosis": diagnosis,
            "seconds": round(time.monotonic() - began, 3),
            "body": body,
        }

        async def keep() -> ComponentVersion:
            version = await asyncio.to_thread(self._kept, made)  # the store may be far away: other seeds go on
            self._take(version)
            self.watcher.finished(version)
            return version

        return (await uninterrupted(keep())).rejected  # what was made is not lost because somebody stops the walk

    def _kept(self, made: Mapping[str, Any]) -> ComponentVersion:
        """What was made as the seed's next version, in the store."""
        seed, workshop = self.bench.seed.seed_id, self.bench.workshop
        tokens, usd = self._newly_spent()
        version = ComponentVersion.model_validate(
            {
                **made,
                "seed": seed,
                "sequence": len(self.versions),
                "round": self.round,
                "inputs": self.bench.inputs(made["component"]),
                "code_version": CODE_VERSION,
                "run_id": workshop.run_id,
                "at": now(),
                "tokens": tokens,
                "cost_usd": usd,
            }
        )
        if not workshop.store.put(version):
            raise _Overtaken(f"another run is at work on {seed}: what it made stands; try again when it ended")
        return version

    def _take(self, version: ComponentVersion) -> None:
        self.versions.append(version)
        self.round = max(self.round, version.round)
        # A failed solution stays current (its repair starts from it); a mere rejection replaces nothing.
        if not isinstance(version.body, Rejected):
            self.latest[version.component] = version
            self.bench.bodies[version.component] = version.body

    def _set_calls_aside(self) -> None:
        """What was asked until now is not what the next version costs."""
        self._counted.update(self.bench.workshop.store.keys(LedgerRow, self.bench.seed.seed_id))

    def _newly_spent(self) -> tuple[int, float]:
        """Tokens and US dollars of the seed's calls since the last look."""
        store, seed = self.bench.workshop.store, self.bench.seed.seed_id
        fresh = [key for key in store.keys(LedgerRow, seed) if key not in self._counted]
        rows = store.get_all(LedgerRow, seed, fresh).values()
        self._counted.update(fresh)
        return sum(row.prompt_tokens + row.completion_tokens for row in rows), sum(row.cost_usd for row in rows)

    def _rounds_used(self) -> int:
        """Repair rounds that came to something, if only to a refusal. What a person asked for by hand is none."""
        return len({version.round for version in self.versions if version.origin is Origin.REPAIRED})

    def _stale(self, component: Component) -> bool:
        return self.latest[component].inputs != self.bench.inputs(component)

    def _has_rounds_left(self, ended: SeedOutcome) -> bool:
        """Whether repairs were used up when fewer were allowed than now."""
        allowed = self.bench.workshop.construction.task_repairs
        return ended.reason is Reason.REPAIRS_EXHAUSTED and ended.rounds < allowed

    def _judged_by_other_gates(self) -> bool:
        report = self.bench.bodies.get(Component.VALIDATION)
        return isinstance(report, ValidationReport) and report.gates_version != GATES_VERSION

    def _current_report(self) -> ValidationReport | None:
        """The report on the bundle as it stands; none where it was never validated, was validated by other gates
        than there are now, or got no verdict."""
        version = self.latest.get(Component.VALIDATION)
        if version is None or self._stale(Component.VALIDATION) or self._judged_by_other_gates():
            return None
        report = self.bench.body(ValidationReport, Component.VALIDATION)
        return report if report.verdict is not None else None

    def _failure_on_record(self) -> Failure | None:
        for component in self.bench.order:
            version = next((v for v in reversed(self.versions) if v.component is component), None)
            if version is not None and version.rejected is not None:
                return version.rejected
        return _failed(self._current_report())

    def _last_outcome(self) -> SeedOutcome | None:
        rows = self.bench.workshop.store.rows(SeedOutcome, self.bench.seed.seed_id)
        return max(rows, key=lambda row: row.at, default=None)

    def _rejected(self, failure: Failure, reason: Reason | None) -> SeedOutcome:
        if isinstance(failure, Rejected):
            return self.outcome(
                Status.REJECTED, component=failure.component, reason=reason or failure.reason, evidence=failure.evidence
            )
        gate = failure.failed_gate()
        return self.outcome(
            Status.REJECTED,
            component=(gate.component if gate else None) or Component.VALIDATION,
            reason=reason or (gate.reason if gate else None),
            evidence=gate.evidence if gate else "",
        )


class Maker(Protocol):
    """Makes one body."""

    async def __call__(self) -> Record: ...


def _end_on_record(bench: Bench) -> SeedOutcome | None:
    """The end of a walk that another run has finished, if nothing was made since."""
    store, seed = bench.workshop.store, bench.seed.seed_id
    last = max(store.rows(SeedOutcome, seed), key=lambda row: row.at, default=None)
    if last is None or last.status is Status.PENDING:
        return None
    return last if last.sequence == len(store.keys(ComponentVersion, seed)) - 1 else None


def _failed(report: ValidationReport | None) -> ValidationReport | None:
    return report if report is not None and report.verdict is not True else None


def _if_about(diagnosis: Diagnosis | None, component: Component) -> Diagnosis | None:
    return diagnosis if diagnosis is not None and diagnosis.component is component else None
