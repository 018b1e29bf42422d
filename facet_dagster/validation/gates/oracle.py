"""G3: after the solution the tests pass, from clean, each time with the same results.

The file system of the first run is kept as an image: the controls spoil copies of it.
"""

from facet_dagster.ports import Container
from facet_dagster.records.container import CommandResult
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, GateResult, GradeReport, SkippedGate
from facet_dagster.validation.evidence import at_limit, counts, disagreement, not_passed
from facet_dagster.validation.examination import Examination, failed, no_reward, passed
from facet_dagster.validation.facts import look_at_e0, look_at_solved
from facet_dagster.validation.lookup import look_up_in_e0, look_up_in_solved
from facet_dagster.validation.solving import solve_and_freeze

OUTPUT = 10_000  # characters kept of what a solution printed


async def oracle(exam: Examination) -> GateResult | SkippedGate:
    """N runs; the first that is not as it must be decides."""
    if not exam.candidate.solution:
        return SkippedGate(gate=Gate.ORACLE, why="the task has no solution")
    for number in range(1, exam.repeats + 1):
        solved, report = await _solve_and_grade(exam)
        exam.oracle_outputs.append(solved.output[-OUTPUT:])
        if report is None:
            return _solution_failure(solved, number)
        exam.oracle_runs.append(report)
        failure = _failure(exam.oracle_runs)
        if failure is not None:
            return failure
    evidence = f"reward 1 in {exam.repeats} runs after the solution; {counts(exam.oracle_runs[0])}"
    return passed(Gate.ORACLE, exam.repeats, evidence)


async def _look_before(exam: Examination, container: Container) -> None:
    await look_at_e0(exam, container)
    await look_up_in_e0(exam, container)


async def _look_after(exam: Examination, container: Container) -> None:
    await look_at_solved(exam, container)
    await look_up_in_solved(exam, container)


async def _solve_and_grade(exam: Examination) -> tuple[CommandResult, GradeReport | None]:
    """The solution in a fresh container, its file system graded in another; no report where it failed."""
    first = exam.solved_image is None
    before, after = (_look_before, _look_after) if first else (None, None)
    solved, frozen = await solve_and_freeze(exam, "oracle", exam.candidate.solution, before=before, after=after)
    if frozen is None:
        return solved, None
    if first:
        exam.solved_image = frozen
        return solved, await exam.grade(frozen)
    try:
        return solved, await exam.grade(frozen)
    finally:
        await exam.sandbox.discard(frozen)


def _failure(reports: list[GradeReport]) -> GateResult | None:
    """What the newest run shows, alone and beside the first (which passed if there is another)."""
    first, report, number = reports[0], reports[-1], len(reports)
    where = f"run {number} after the solution"
    if report.reward is None:
        return no_reward(Gate.ORACLE, report, number, where)
    if report.outcomes() != first.outcomes() or report.reward != first.reward:
        evidence = f"{where}: other results than in run 1\n{disagreement(first, report)}"
        return failed(Gate.ORACLE, number, evidence, Reason.UNSTABLE, None)
    if report.reward != 1.0:
        evidence = f"{where}: {_said(report)}\n{not_passed(report)}"
        return failed(Gate.ORACLE, number, evidence, Reason.ORACLE_FAILED, None)
    return None


def _said(report: GradeReport) -> str:
    """Without results per test, the end of what was printed is all there is."""
    return counts(report) if report.per_test else f"reward {report.reward:g}\n{report.output.strip()[-1_500:]}"


def _solution_failure(solved: CommandResult, number: int) -> GateResult:
    reason = Reason.SOLUTION_LIMIT if solved.limit is not None else Reason.SOLUTION_FAILED
    how = (
        f"was cut short: {at_limit(solved.limit, solved.seconds)}"
        if solved.limit
        else f"ended with exit code {solved.exit_code}"
    )
    evidence = f"run {number}: solve.sh {how}\n{solved.output.strip()[-2_500:]}"
    return failed(Gate.ORACLE, number, evidence, reason, Component.SOLUTION)
