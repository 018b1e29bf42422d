"""G3: after the solution the tests pass, from clean, each time with the same results.

The file system of the first run is kept as an image: the controls spoil copies of it.
"""

from collections.abc import Sequence
from functools import partial

from facet_dagster.ports import Container
from facet_dagster.records.container import CommandResult
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, GateResult, GradeReport, SkippedGate
from facet_dagster.validation.evidence import at_limit, counts, disagreement, not_passed
from facet_dagster.validation.examination import Examination, failed, no_reward, passed
from facet_dagster.validation.facts import look_at_e0, look_at_solved
from facet_dagster.validation.lookup import look_up_in_e0, look_up_in_solved
from facet_dagster.validation.solving import solve_and_freeze

Run = tuple[CommandResult, GradeReport | None]
OUTPUT = 10_000  # characters kept of what a solution printed


async def oracle(exam: Examination) -> GateResult | SkippedGate:
    """N runs; the first that is not as it must be decides."""
    if not exam.candidate.solution:
        return SkippedGate(gate=Gate.ORACLE, why="the task has no solution")
    works = [partial(_solve_and_grade, exam, number) for number in range(1, exam.repeats + 1)]
    ran: list[Run] = []
    try:
        await exam.as_room_allows(works, ran, lambda run: _failure([run]) is not None)
        for number in range(1, len(ran) + 1):
            failure = _failure(ran[:number])
            if failure is not None:
                del ran[number:]
                return failure
    finally:
        exam.oracle_outputs += [solved.output[-OUTPUT:] for solved, _ in ran]
        exam.oracle_runs += [report for _, report in ran if report is not None]
    evidence = f"reward 1 in {exam.repeats} runs after the solution; {counts(exam.oracle_runs[0])}"
    return passed(Gate.ORACLE, exam.repeats, evidence)


async def _look_before(exam: Examination, container: Container) -> None:
    await look_at_e0(exam, container)
    await look_up_in_e0(exam, container)


async def _look_after(exam: Examination, container: Container) -> None:
    await look_at_solved(exam, container)
    await look_up_in_solved(exam, container)


async def _solve_and_grade(exam: Examination, number: int) -> Run:
    """The solution in a fresh container, its file system graded in another; no report where it failed."""
    first = number == 1
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


def _failure(ran: Sequence[Run]) -> GateResult | None:
    """What the newest run shows, alone and beside the first (which passed if there is another)."""
    number = len(ran)
    (_, first), (solved, report) = ran[0], ran[-1]
    if first is None or report is None:
        return _solution_failure(solved, number)
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
