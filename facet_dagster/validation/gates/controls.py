"""G4: final states that are spoilt in one output must not get the reward.

Each control is one fresh container on the frozen eT: spoilt by us as root, then graded where it is.
"""

from dataclasses import replace

from facet_dagster.ports import Container
from facet_dagster.records.container import Command, FileEntry
from facet_dagster.records.environment import wait_for_services
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import ControlKind, ControlResult, Gate, GateResult, GradeReport, SkippedGate
from facet_dagster.validation.controls import MAX_CONTENT, PAYLOAD, Control, Facts, make_controls
from facet_dagster.validation.evidence import counts, cut
from facet_dagster.validation.examination import Examination, failed, passed
from facet_dagster.validation.facts import contents_in_e0

OUTPUT = 2_000  # characters kept of what each run printed
NOT_APPLIED = "it could not be made"
UNDONE = "what runs in the task, or the tests themselves, made the output anew"


async def controls(exam: Examination) -> GateResult | SkippedGate:
    """Make and run them all: a repair is to see every survivor."""
    solved, image = exam.solved, exam.solved_image
    if solved is None or image is None:
        why = "what the solution changes is not known" if exam.candidate.solution else "the task has no solution"
        return SkippedGate(gate=Gate.CONTROLS, why=why if exam.controls_max else "no controls are asked for")
    facts = replace(solved.facts, before=await contents_in_e0(exam, solved.subjects))
    made = make_controls(solved.subjects, facts, exam.controls_max)
    if not made:
        return SkippedGate(gate=Gate.CONTROLS, why="the instruction names no output that could be spoilt")
    for control in made:
        result = await _decide(exam, image, control, facts)
        exam.controls.append(result)
    return _judged(exam.controls)


def _judged(results: list[ControlResult]) -> GateResult:
    survivors = [result for result in results if result.killed is False]
    killed = sum(result.killed is True for result in results)
    decided = f"{killed} of {killed + len(survivors)} spoilt final states were refused"
    if survivors:
        lines = "\n".join(_told(result) for result in survivors)
        evidence = f"{decided}; with these the tests are content, although the instruction demands otherwise:\n{lines}"
        return failed(Gate.CONTROLS, len(results), evidence, Reason.CONTROL_SURVIVED, Component.VERIFIER)
    undecided = [result for result in results if result.killed is None and not result.note]
    if undecided:
        lines = "\n".join(f"- {r.path} {r.what}: {r.report.trouble if r.report else ''}" for r in undecided)
        evidence = cut(f"{decided}; no verdict, twice, on:\n{lines}")
        return GateResult(gate=Gate.CONTROLS, passed=None, runs=len(results), evidence=evidence)
    void = [f"- {result.path} {result.what}: {result.note}" for result in results if result.note]
    return passed(Gate.CONTROLS, len(results), "\n".join([decided, *void]))


def _told(result: ControlResult) -> str:
    """A survivor in words that an author can act on."""
    said = counts(result.report) if result.report and result.report.per_test else "reward 1"
    return f"- {result.path} ({result.kind.value}): {result.what}; {said}"


async def _decide(exam: Examination, image: str, control: Control, facts: Facts) -> ControlResult:
    """One control; a run without verdict is made once more. Tests that then ran into a limit did not get content."""
    result = await _run(exam, image, control, facts)
    if result.killed is None and not result.note:
        result = await _run(exam, image, control, facts)
        if result.killed is None and result.report is not None and result.report.limit is not None:
            result = result.model_copy(update={"killed": True})
    return result


async def _run(exam: Examination, image: str, control: Control, facts: Facts) -> ControlResult:
    result = ControlResult(path=control.path, kind=control.kind, what=control.what, killed=None)
    async with exam.sandbox.open(exam.spec("control", image)) as container:
        await container.run(wait_for_services())
        if not await _spoil(container, control):
            return result.model_copy(update={"note": NOT_APPLIED})
        report = await exam.grade_in(container, one_is_enough=True)
        if report.reward == 1.0 and await _undone(container, control, facts):
            return result.model_copy(update={"note": UNDONE, "report": _short(report)})
    killed = None if report.reward is None else report.reward < 1.0
    return result.model_copy(update={"killed": killed, "report": _short(report)})


async def _spoil(container: Container, control: Control) -> bool:
    if control.payload is not None:
        await container.put([FileEntry.of(PAYLOAD, control.payload, 0o600)], owner="root")
    done = await container.run(Command(script=control.script, user="root", workdir="/"))
    if control.payload is not None:
        await container.run(Command(script=f"rm -f {PAYLOAD}", user="root", workdir="/"))
    return done.ok


async def _undone(container: Container, control: Control, facts: Facts) -> bool:
    """Whether the output is again what the solution made: then the tests were shown nothing wrong."""
    if control.kind is ControlKind.PUT_BACK and control.payload is None:
        return False  # only its mode was changed
    made = facts.after.get(control.path)
    return made is not None and await container.read(control.path, max_bytes=MAX_CONTENT + 1) == made


def _short(report: GradeReport) -> GradeReport:
    return report.model_copy(update={"output": report.output[-OUTPUT:]})
