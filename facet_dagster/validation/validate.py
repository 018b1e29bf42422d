"""The gates that a bundle must pass, run from clean: G1 build, G2 no-op x N, G3 oracle x N (quality page).

Verdicts are three-valued: infrastructure trouble leaves a gate open and gives no verdict. Which component is
rewritten after a failure is decided in repair/.
"""

from dataclasses import dataclass, field

from facet_dagster.errors import InfrastructureError
from facet_dagster.ports import Sandbox
from facet_dagster.records.authoring import Solution, Verifier
from facet_dagster.records.container import Command, CommandResult, ContainerSpec, FileEntry, Limits
from facet_dagster.records.environment import Environment, wait_for_services
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, GateResult, GradeReport, ValidationReport
from facet_dagster.validation.evidence import counts, cut, disagreement, no_verdict, not_passed
from facet_dagster.validation.grade import grade
from facet_dagster.validation.static import fault_in

SOLVE = "/solution/solve.sh"
OUTPUT = 10_000  # characters kept of what a solution printed


async def validate(
    seed_id: str,
    environment: Environment,
    solution: Solution,
    verifier: Verifier,
    *,
    bundle: str,
    sandbox: Sandbox,
    limits: Limits,
    repeats: int,
    solve_timeout_s: float,
    grade_timeout_s: float,
) -> ValidationReport:
    """Run the gates in order up to the first that does not pass; the report is bound to `bundle`.

    `repeats` is N. Does not raise InfrastructureError: the gate under work stays open and the verdict is None.
    """
    run = _Run(seed_id, environment, solution, verifier, sandbox, limits, repeats, solve_timeout_s, grade_timeout_s)
    gates: list[GateResult] = []
    for gate, check in ((Gate.BUILD, run.build), (Gate.NOOP, run.noop), (Gate.ORACLE, run.oracle)):
        try:
            result = await check()
        except InfrastructureError as trouble:
            runs = len(run.noop_runs) if gate is Gate.NOOP else len(run.oracle_runs)
            result = GateResult(gate=gate, passed=None, runs=runs, evidence=cut(f"infrastructure: {trouble}"))
        gates.append(result)
        if result.passed is not True:
            break
    return ValidationReport(
        bundle=bundle,
        verdict=gates[-1].passed,
        gates=tuple(gates),
        noop_runs=tuple(run.noop_runs),
        oracle_runs=tuple(run.oracle_runs),
        oracle_outputs=tuple(run.outputs),
    )


@dataclass
class _Run:
    """One validation: its terms, and the runs made so far."""

    seed_id: str
    environment: Environment
    solution: Solution
    verifier: Verifier
    sandbox: Sandbox
    limits: Limits
    repeats: int
    solve_timeout_s: float
    grade_timeout_s: float
    noop_runs: list[GradeReport] = field(default_factory=list)
    oracle_runs: list[GradeReport] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    async def build(self) -> GateResult:
        """G1: the image was built, and what was expected of it held when it was probed."""
        broken = [probe for probe in self.environment.probes if not probe.ok]
        if not broken:
            evidence = f"built in {self.environment.build_seconds:.0f} s, {len(self.environment.probes)} probes hold"
            return GateResult(gate=Gate.BUILD, passed=True, runs=1, evidence=evidence)
        lines = "\n".join(f"- {probe.id} {probe.description}: {probe.output.strip()[:500]}" for probe in broken)
        evidence = cut(f"expected properties do not hold:\n{lines}")
        return _failed(Gate.BUILD, 1, evidence, Reason.PROBE_FAILED, Component.ENVIRONMENT)

    async def noop(self) -> GateResult:
        """G2: on the untouched e0 the tests run, and do not pass."""
        fault = fault_in(self.verifier)
        if fault is not None:
            return _failed(Gate.NOOP, 0, fault, Reason.NOTHING_EXECUTED, Component.VERIFIER)
        for number in range(1, self.repeats + 1):
            report = await self._grade(self.environment.image)
            self.noop_runs.append(report)
            failure = _noop_failure(report, number)
            if failure is not None:
                return failure
        evidence = f"reward 0 in {self.repeats} runs on e0; {counts(self.noop_runs[0])}"
        return GateResult(gate=Gate.NOOP, passed=True, runs=self.repeats, evidence=evidence)

    async def oracle(self) -> GateResult:
        """G3: after the solution the tests pass, each time with the same results."""
        for number in range(1, self.repeats + 1):
            solved, report = await self._solve_and_grade()
            self.outputs.append(solved.output[-OUTPUT:])
            if report is None:
                return _solution_failure(solved, number)
            self.oracle_runs.append(report)
            failure = _oracle_failure(self.oracle_runs)
            if failure is not None:
                return failure
        evidence = f"reward 1 in {self.repeats} runs after the solution; {counts(self.oracle_runs[0])}"
        return GateResult(gate=Gate.ORACLE, passed=True, runs=self.repeats, evidence=evidence)

    async def _solve_and_grade(self) -> tuple[CommandResult, GradeReport | None]:
        """The solution in a fresh container, its file system graded in another; no report where it failed."""
        spec = ContainerSpec(
            image=self.environment.image, seed=self.seed_id, purpose="oracle", network=False, limits=self.limits
        )
        async with self.sandbox.open(spec) as container:
            await container.run(wait_for_services())
            await container.put([FileEntry(path=SOLVE, content=self.solution.script, mode=0o755)], owner="root")
            solved = await container.run(Command(script=f"bash {SOLVE}", timeout_s=self.solve_timeout_s))
            if not solved.ok:
                return solved, None
            # The tests must not be able to lean on the solution's text.
            await container.run(Command(script="rm -rf /solution", user="root", workdir="/"))
            frozen = await container.freeze()
        try:
            return solved, await self._grade(frozen)
        finally:
            await self.sandbox.discard(frozen)

    async def _grade(self, image: str) -> GradeReport:
        return await grade(
            image,
            self.seed_id,
            self.verifier,
            sandbox=self.sandbox,
            limits=self.limits,
            timeout_s=self.grade_timeout_s,
        )


def _failed(gate: Gate, runs: int, evidence: str, reason: Reason, component: Component | None) -> GateResult:
    return GateResult(gate=gate, passed=False, runs=runs, evidence=cut(evidence), reason=reason, component=component)


def _no_reward(gate: Gate, report: GradeReport, number: int, where: str) -> GateResult:
    """The tests could not run to a verdict: never a 0."""
    reason = Reason.VERIFIER_LIMIT if report.limit is not None else Reason.NOTHING_EXECUTED
    return _failed(gate, number, f"{where}: {no_verdict(report)}", reason, Component.VERIFIER)


def _noop_failure(report: GradeReport, number: int) -> GateResult | None:
    where = f"run {number} on the untouched initial state"
    if report.reward is None:
        return _no_reward(Gate.NOOP, report, number, where)
    if report.reward != 0.0:
        names = "\n".join(f"- {test.name}" for test in report.tests)
        evidence = f"{where}: every test passes although nothing was done\n{names}"
        return _failed(Gate.NOOP, number, evidence, Reason.NOOP_PASSED, Component.VERIFIER)
    if any(test.outcome == "error" for test in report.tests):
        evidence = f"{where}: tests break before or after their body; {counts(report)}\n{not_passed(report)}"
        return _failed(Gate.NOOP, number, evidence, Reason.NOTHING_EXECUTED, Component.VERIFIER)
    return None


def _oracle_failure(reports: list[GradeReport]) -> GateResult | None:
    """What the newest run shows, alone and beside the first (which passed if there is another)."""
    first, report, number = reports[0], reports[-1], len(reports)
    where = f"run {number} after the solution"
    if report.reward is None:
        return _no_reward(Gate.ORACLE, report, number, where)
    if report.outcomes() != first.outcomes():
        evidence = f"{where}: other results than in run 1\n{disagreement(first, report)}"
        return _failed(Gate.ORACLE, number, evidence, Reason.UNSTABLE, None)
    if report.reward != 1.0:
        evidence = f"{where}: {counts(report)}\n{not_passed(report)}"
        return _failed(Gate.ORACLE, number, evidence, Reason.ORACLE_FAILED, None)
    return None


def _solution_failure(solved: CommandResult, number: int) -> GateResult:
    reason = Reason.SOLUTION_LIMIT if solved.limit is not None else Reason.SOLUTION_FAILED
    how = f"was cut short: {solved.limit}" if solved.limit else f"ended with exit code {solved.exit_code}"
    evidence = f"run {number}: solve.sh {how}\n{solved.output.strip()[-2_500:]}"
    return _failed(Gate.ORACLE, number, evidence, reason, Component.SOLUTION)
