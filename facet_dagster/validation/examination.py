"""One validation under way: the task, the engine, the terms, and what has been seen so far.

Belongs here: what several gates share. What a gate demands stands in its own module under gates/.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from facet_dagster.errors import InfrastructureError
from facet_dagster.ports import Container, Sandbox
from facet_dagster.records.authoring import StateDiff
from facet_dagster.records.container import ContainerSpec
from facet_dagster.records.environment import ENTRYPOINT, ObservedState, wait_for_services
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.validation import (
    AlternativeResult,
    ContractRow,
    ControlResult,
    Explanation,
    Gate,
    GateResult,
    GradeReport,
    SkippedGate,
    TamperingResult,
)
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.controls import Facts
from facet_dagster.validation.evidence import cut, no_verdict
from facet_dagster.validation.grade import grade_in
from facet_dagster.validation.outputs import Subject
from facet_dagster.validation.static.names import Name

Observe = Callable[[Container, str], Awaitable[ObservedState]]  # the container, and where the task lives
Difference = Callable[[ObservedState, ObservedState], StateDiff]


@dataclass(frozen=True)
class Solved:
    """What the solution made, as far as controls need it: its outputs and their contents.

    `named` is false where the instruction names no output, so that whatever was made stands for them.
    """

    subjects: tuple[Subject, ...]
    facts: Facts
    named: bool = True


class SecondOpinion(Protocol):
    """Who solves the task once more without knowing of the first solution, and judges a refusal (G7)."""

    async def solve(self) -> str | Rejected: ...

    async def explain(self, script: str, failure: str, tests: str) -> Explanation | Rejected: ...


@dataclass
class Examination:
    """`observe` and `difference` are the environment station's; they are used where the task does not tell its own."""

    candidate: Candidate
    sandbox: Sandbox
    repeats: int
    controls_max: int
    observe: Observe
    difference: Difference
    second: SecondOpinion | None = None
    noop_runs: list[GradeReport] = field(default_factory=list)
    oracle_runs: list[GradeReport] = field(default_factory=list)
    oracle_outputs: list[str] = field(default_factory=list)
    controls: list[ControlResult] = field(default_factory=list)
    tampering: list[TamperingResult] = field(default_factory=list)
    contract: tuple[ContractRow, ...] = ()
    alternative: AlternativeResult | None = None
    may_serve: bool = True  # no longer, once e0 is known to start no services: no later container is asked
    e0: ObservedState | None = None  # the task's own, or observed
    unobserved: str = ""  # why e0 or eT could not be observed
    solved: Solved | None = None
    untold: tuple[Name, ...] = ()  # names that tests demand and neither instruction nor e0 tells
    hidden: tuple[Name, ...] = ()  # those of them that the solution's outputs hold
    solved_image: str | None = None  # holds eT as the first run of the solution left it; discarded at the end

    def __post_init__(self) -> None:
        self.e0 = self.candidate.e0

    def spec(self, purpose: str, image: str | None = None) -> ContainerSpec:
        """A container on e0, or on `image`; without network."""
        task = self.candidate
        return ContainerSpec(
            image=image or task.image, seed=task.name, purpose=purpose, network=False, limits=task.limits
        )

    async def grade(self, image: str, *, planted: bool = False) -> GradeReport:
        """One grading run of the task's tests, in a fresh container; `planted` puts a reward there first."""
        async with self.sandbox.open(self.spec("grade", image)) as container:
            await self.wait_until_served(container, image)
            return await self.grade_in(container, planted=planted)

    async def wait_until_served(self, container: Container, image: str | None = None) -> None:
        """Wait for the services of a container on e0, or on `image`, which something ran in before.

        G1 has shown that they come up on e0: raises InfrastructureError where they do not. On `image` they may have
        been broken; that is for the tests to tell, if they still come up on e0 at this time.
        """
        if not self.may_serve:
            return
        waited = await container.run(_WAIT)
        on_e0 = image in {None, self.candidate.image}
        if waited.ok:
            self.may_serve = not on_e0 or waited.output.strip() != _NOTHING
            return
        if not on_e0:
            async with self.sandbox.open(self.spec("services")) as fresh:
                if (await fresh.run(wait_for_services())).ok:
                    return
        raise InfrastructureError("the services of the container, which came up before, do not come up in time")

    async def grade_in(
        self, container: Container, *, planted: bool = False, one_is_enough: bool = False
    ) -> GradeReport:
        """One grading run in a container that was prepared for it."""
        task = self.candidate
        return await grade_in(
            container,
            task.tests,
            timeout_s=task.grade_timeout_s,
            workdir=task.workdir,
            planted=planted,
            one_is_enough=one_is_enough,
        )

    def runs_of(self, gate: Gate) -> int:
        """Grading runs made so far for a gate."""
        made = {
            Gate.NOOP: len(self.noop_runs),
            Gate.ORACLE: len(self.oracle_runs),
            Gate.CONTROLS: len(self.controls),
            Gate.TAMPERING: len(self.tampering),
        }
        return made.get(gate, 0)


_NOTHING = "no services"
_WAIT = wait_for_services().model_copy(
    update={"script": f"[ -x {ENTRYPOINT} ] || echo {_NOTHING}; {wait_for_services().script}"}
)
Check = Callable[[Examination], Awaitable[GateResult | SkippedGate]]


def passed(gate: Gate, runs: int, evidence: str) -> GateResult:
    """The gate holds."""
    return GateResult(gate=gate, passed=True, runs=runs, evidence=cut(evidence))


def failed(gate: Gate, runs: int, evidence: str, reason: Reason, component: Component | None) -> GateResult:
    """The gate does not hold; `component` is None where the gate itself cannot tell who is at fault."""
    return GateResult(gate=gate, passed=False, runs=runs, evidence=cut(evidence), reason=reason, component=component)


def no_reward(gate: Gate, report: GradeReport, runs: int, where: str) -> GateResult:
    """The tests could not run to a verdict: never a 0."""
    reason = Reason.VERIFIER_LIMIT if report.limit is not None else Reason.NOTHING_EXECUTED
    return failed(gate, runs, f"{where}: {no_verdict(report)}", reason, Component.VERIFIER)
