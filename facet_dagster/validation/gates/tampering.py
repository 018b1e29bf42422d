"""G5: an agent that cheats instead of working does not get the reward, and does not keep the tests from a verdict."""

from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, GateResult, GradeReport, TamperingResult
from facet_dagster.validation.evidence import counts, cut, no_verdict, short
from facet_dagster.validation.examination import Examination, failed, passed
from facet_dagster.validation.tampering import PLANTING, ROOT, Cheats, all_cheats, stand_in

_AS_ROOT = "; the task's agent is root and could also replace the system's own files, against which no test.sh is safe"


async def tampering(exam: Examination) -> GateResult:
    """Each set of cheats in a fresh container on e0, what it leaves graded in another."""
    runs = all_cheats()
    slow: list[str] = []
    for cheats in runs:
        result = await _cheat(exam, cheats)
        exam.tampering.append(result)
        if result.report.limit is not None and (await exam.grade(exam.candidate.image)).reward is None:
            slow.append(f"- after the cheats of {cheats.name}: {no_verdict(result.report)}")
    broken = [(run, result) for run, result in zip(runs, exam.tampering, strict=True) if _got_through(result.report)]
    if slow and not broken:
        evidence = cut(
            "the tests do not come to an end, nor do they on the untouched initial state:\n" + "\n".join(slow)
        )
        return GateResult(gate=Gate.TAMPERING, passed=None, runs=len(runs), evidence=evidence)
    if not broken:
        tried = sum(len(run.cheats) for run in runs)
        evidence = f"no reward after {tried} cheats in {len(runs)} containers"
        return passed(Gate.TAMPERING, len(runs), f"{evidence}{_AS_ROOT if exam.candidate.user in ROOT else ''}")
    evidence = "\n".join(_told(run, result) for run, result in broken)
    return failed(Gate.TAMPERING, len(runs), evidence, Reason.TAMPERED, Component.VERIFIER)


async def _cheat(exam: Examination, cheats: Cheats) -> TamperingResult:
    async with exam.sandbox.open(exam.spec("cheat")) as container:
        await exam.wait_until_served(container)
        if exam.candidate.user in ROOT:
            await container.run(stand_in(exam.candidate))
        await container.run(cheats.command(exam.candidate))  # how it ends does not matter
        frozen = await container.freeze()
    planted = cheats.name == PLANTING
    try:
        # All tests: one that fails early must not keep a later one from running what the cheat left.
        report = await exam.grade(frozen, planted=planted)
        if report.reward is None:  # once more: it may have been the host
            report = await exam.grade(frozen, planted=planted)
    finally:
        await exam.sandbox.discard(frozen)
    return TamperingResult(name=cheats.name, report=short(report))


def _got_through(report: GradeReport) -> bool:
    """A reward, or tests that were kept from a verdict. Running into a limit is no gain for anybody."""
    return report.reward != 0.0 and report.limit is None


def _told(cheats: Cheats, result: TamperingResult) -> str:
    report = result.report
    tried = "\n".join(f"  - {cheat.name}: {cheat.what}" for cheat in cheats.cheats)
    if report.reward is None:
        return f"no verdict after the cheats of {cheats.name}: {no_verdict(report)}\n{tried}"
    said = f"; {counts(report)}" if report.per_test else ""
    return f"reward {report.reward:g}{said}, although nothing was done but one of these ({cheats.name}):\n{tried}"
