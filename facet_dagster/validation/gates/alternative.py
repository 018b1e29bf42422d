"""G7: an independent solution is accepted, or a requirement explains why it is not.

Costs model calls, so it is run only where it is asked for. A second solution that does not run says nothing.
"""

from facet_dagster.records.authoring import solve_file
from facet_dagster.records.outcome import Reason, Rejected
from facet_dagster.records.validation import AlternativeResult, Explanation, Gate, GateResult, GradeReport, SkippedGate
from facet_dagster.validation.evidence import at_limit, counts, not_passed
from facet_dagster.validation.examination import Examination, SecondOpinion, failed, no_reward, passed
from facet_dagster.validation.solving import solve_and_freeze

TEST_FILE = "test_outputs.py"


async def alternative(exam: Examination) -> GateResult | SkippedGate:
    """One independent solution, executed and graded like the oracle."""
    if exam.second is None:
        return SkippedGate(gate=Gate.ALTERNATIVE, why="no independent solution was asked for")
    script = await exam.second.solve()
    if isinstance(script, Rejected):
        return SkippedGate(gate=Gate.ALTERNATIVE, why=f"the second engineer has no solution: {script.evidence[:300]}")
    report = await _solve_and_grade(exam, script)
    if isinstance(report, SkippedGate):
        return report
    exam.alternative = AlternativeResult(script=script, report=report)
    if report.reward is None:
        return no_reward(Gate.ALTERNATIVE, report, 1, "after an independent solution")
    if report.reward == 1.0:
        return passed(Gate.ALTERNATIVE, 1, f"an independent solution is accepted; {counts(report)}")
    return await _refused(exam, exam.second, script, report)


async def _refused(exam: Examination, second: SecondOpinion, script: str, report: GradeReport) -> GateResult:
    said = not_passed(report)
    explanation = await second.explain(script, said, _tests(exam))
    if isinstance(explanation, Explanation):
        exam.alternative = AlternativeResult(script=script, report=report, explanation=explanation)
        if explanation.explained:
            why = f"an independent solution is refused, as {explanation.requirement} demands: {explanation.evidence}"
            return passed(Gate.ALTERNATIVE, 1, f"{why}\n{said}")
        said = f"{explanation.advice}\nShown by: {explanation.evidence}\n{said}"
    evidence = f"an independent solution is refused, and no requirement explains it\n{said}"
    return failed(Gate.ALTERNATIVE, 1, evidence, Reason.ALTERNATIVE_REFUSED, None)


async def _solve_and_grade(exam: Examination, script: str) -> GradeReport | SkippedGate:
    files = [solve_file(script)]
    solved, frozen = await solve_and_freeze(exam, "alternative", files)
    if frozen is None:
        how = at_limit(solved.limit, solved.seconds) if solved.limit else f"exit code {solved.exit_code}"
        return SkippedGate(gate=Gate.ALTERNATIVE, why=f"the independent solution did not run through: {how}")
    try:
        return await exam.grade(frozen)
    finally:
        await exam.sandbox.discard(frozen)


def _tests(exam: Examination) -> str:
    return "\n".join(f.content for f in exam.candidate.tests if f.path.endswith(TEST_FILE) and f.encoding == "utf-8")
