"""G2: on the untouched e0 the tests are collected and executed, and do not pass."""

from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, GateResult, GradeReport
from facet_dagster.validation.evidence import counts, not_passed
from facet_dagster.validation.examination import Examination, failed, no_reward, passed


async def noop(exam: Examination) -> GateResult:
    """N runs; the first that is not as it must be decides."""
    for number in range(1, exam.repeats + 1):
        report = await exam.grade(exam.candidate.image)
        exam.noop_runs.append(report)
        failure = _failure(report, number)
        if failure is not None:
            return failure
    evidence = f"reward 0 in {exam.repeats} runs on e0; {counts(exam.noop_runs[0])}"
    return passed(Gate.NOOP, exam.repeats, evidence)


def _failure(report: GradeReport, number: int) -> GateResult | None:
    where = f"run {number} on the untouched initial state"
    if report.reward is None:
        return no_reward(Gate.NOOP, report, number, where)
    if report.reward != 0.0:
        said = "every test passes" if report.reward == 1.0 else f"reward {report.reward:g}"
        names = "\n".join(f"- {test.name} ({test.outcome})" for test in report.tests)
        evidence = f"{where}: {said} although nothing was done\n{names}"
        return failed(Gate.NOOP, number, evidence, Reason.NOOP_PASSED, Component.VERIFIER)
    if any(test.outcome == "error" for test in report.tests):
        evidence = f"{where}: tests break before or after their body; {counts(report)}\n{not_passed(report)}"
        return failed(Gate.NOOP, number, evidence, Reason.NOTHING_EXECUTED, Component.VERIFIER)
    if report.per_test and not report.executed:
        evidence = f"{where}: no test was executed; {counts(report)}\n{not_passed(report)}"
        return failed(Gate.NOOP, number, evidence, Reason.NOTHING_EXECUTED, Component.VERIFIER)
    return None
