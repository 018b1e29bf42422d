"""The gates that a task must pass, run from clean and in order up to the first that does not (quality page).

Verdicts are three-valued: infrastructure trouble leaves a gate open and gives no verdict. Which component is
rewritten after a failure is decided in repair/.
"""

import contextlib
from collections.abc import Callable, Sequence

from facet_dagster.errors import InfrastructureError
from facet_dagster.ports import Sandbox
from facet_dagster.records.validation import Gate, GateResult, SkippedGate, ValidationReport
from facet_dagster.validation.candidate import Candidate
from facet_dagster.validation.evidence import cut
from facet_dagster.validation.examination import Check, Difference, Examination, Observe, SecondOpinion
from facet_dagster.validation.gates.alternative import alternative
from facet_dagster.validation.gates.build import build
from facet_dagster.validation.gates.contract import contract
from facet_dagster.validation.gates.controls import controls
from facet_dagster.validation.gates.noop import noop
from facet_dagster.validation.gates.oracle import oracle
from facet_dagster.validation.gates.static_gate import static
from facet_dagster.validation.gates.tampering import tampering

GATES_VERSION = 3  # of the set of gates and what they demand; a report made under another is out of date
CHECKS: dict[Gate, Check] = {
    Gate.STATIC: static,
    Gate.BUILD: build,
    Gate.NOOP: noop,
    Gate.ORACLE: oracle,
    Gate.CONTROLS: controls,
    Gate.TAMPERING: tampering,
    Gate.CONTRACT: contract,
    Gate.ALTERNATIVE: alternative,
}


async def validate(
    candidate: Candidate,
    *,
    bundle: str,
    sandbox: Sandbox,
    repeats: int,
    controls_max: int,
    observe: Observe,
    difference: Difference,
    second: SecondOpinion | None = None,
    gates: Sequence[Gate] = tuple(CHECKS),
    told: Callable[[GateResult], None] = lambda _: None,
) -> ValidationReport:
    """Run `gates` in order up to the first that does not pass; the report is bound to `bundle`.

    `told` hears of each result as soon as it is there.

    `repeats` is N; at most `controls_max` negative controls are run; G7 is run where there is a `second` opinion.
    Does not raise InfrastructureError: the gate under work stays open and the verdict is None. A gate that lacks what
    it needs is listed as skipped; where that is the oracle there is no verdict either, since nothing shows that the
    task can be solved.
    """
    exam = Examination(candidate, sandbox, repeats, controls_max, observe, difference, second)
    results: list[GateResult] = []
    skipped: list[SkippedGate] = []
    try:
        for gate in gates:
            result = await _run(gate, exam)
            if isinstance(result, SkippedGate):
                skipped.append(result)
                continue
            results.append(result)
            told(result)
            if result.passed is not True:
                break
    finally:
        if exam.solved_image is not None:
            with contextlib.suppress(InfrastructureError):  # what cannot be discarded now is swept later
                await sandbox.discard(exam.solved_image)
    return ValidationReport(
        bundle=bundle,
        gates_version=GATES_VERSION,
        verdict=_verdict(results, skipped),
        gates=tuple(results),
        skipped=tuple(skipped),
        noop_runs=tuple(exam.noop_runs),
        oracle_runs=tuple(exam.oracle_runs),
        oracle_outputs=tuple(exam.oracle_outputs),
        controls=tuple(exam.controls),
        tampering=tuple(exam.tampering),
        contract=exam.contract,
        alternative=exam.alternative,
    )


async def _run(gate: Gate, exam: Examination) -> GateResult | SkippedGate:
    try:
        return await CHECKS[gate](exam)
    except InfrastructureError as trouble:
        return GateResult(gate=gate, passed=None, runs=exam.runs_of(gate), evidence=cut(f"infrastructure: {trouble}"))


def _verdict(results: list[GateResult], skipped: list[SkippedGate]) -> bool | None:
    if results and results[-1].passed is not True:
        return results[-1].passed
    unproven = not results or any(gate.gate is Gate.ORACLE for gate in skipped)
    return None if unproven else True
