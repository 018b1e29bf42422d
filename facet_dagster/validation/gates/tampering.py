"""G5: an agent that cheats instead of working does not get the reward, and does not keep the tests from a verdict."""

from facet_dagster.records.environment import wait_for_services
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, GateResult, GradeReport, TamperingResult
from facet_dagster.validation.evidence import counts, no_verdict
from facet_dagster.validation.examination import Examination, failed, passed
from facet_dagster.validation.tampering import PLANTING, ROOT, Cheats, all_cheats, stand_in

OUTPUT = 2_000  # characters kept of what each run printed
_AS_ROOT = "; the task's agent is root and could also replace the system's own files, against which no test.sh is safe"


async def tampering(exam: Examination) -> GateResult:
    """Each set of cheats in a fresh container on e0, what it leaves graded in another."""
    runs = all_cheats()
    for cheats in runs:
        exam.tampering.append(await _cheat(exam, cheats))
    broken = [(run, result) for run, result in zip(runs, exam.tampering, strict=True) if _got_through(result.report)]
    if not broken:
        tried = sum(len(run.cheats) for run in runs)
        evidence = f"no reward after {tried} cheats in {len(runs)} containers"
        return passed(Gate.TAMPERING, len(runs), f"{evidence}{_AS_ROOT if exam.candidate.user in ROOT else ''}")
    evidence = "\n".join(_told(run, result) for run, result in broken)
    return failed(Gate.TAMPERING, len(runs), evidence, Reason.TAMPERED, Component.VERIFIER)


async def _cheat(exam: Examination, cheats: Cheats) -> TamperingResult:
    async with exam.sandbox.open(exam.spec("cheat")) as container:
        await container.run(wait_for_services())
        if exam.candidate.user in ROOT:
            await container.run(stand_in(exam.candidate))
        await container.run(cheats.command(exam.candidate))  # how it ends does not matter
        frozen = await container.freeze()
    try:
        report = await exam.grade(frozen, planted=cheats.name == PLANTING, one_is_enough=True)
    finally:
        await exam.sandbox.discard(frozen)
    short = report.model_copy(update={"output": report.output[-OUTPUT:]})
    return TamperingResult(name=cheats.name, report=short)


def _got_through(report: GradeReport) -> bool:
    """A reward, or tests that were kept from a verdict. Tests that ran into a limit gave none, and say so: that may be
    the host's doing as well, and is no gain for anybody."""
    return report.reward != 0.0 and report.limit is None


def _told(cheats: Cheats, result: TamperingResult) -> str:
    report = result.report
    tried = "\n".join(f"  - {cheat.name}: {cheat.what}" for cheat in cheats.cheats)
    if report.reward is None:
        return f"no verdict after the cheats of {cheats.name}: {no_verdict(report)}\n{tried}"
    said = f"; {counts(report)}" if report.per_test else ""
    return f"reward {report.reward:g}{said}, although nothing was done but one of these ({cheats.name}):\n{tried}"
