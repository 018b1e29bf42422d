"""G4: final states that are spoilt in one output must not get the reward.

Each control is one fresh container on the frozen eT: spoilt by us as root, then graded where it is.
"""

from dataclasses import replace

from facet_dagster.ports import Container
from facet_dagster.records.container import Command, CommandResult, FileEntry
from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import ControlKind, ControlResult, Gate, GateResult, SkippedGate
from facet_dagster.validation.controls import MAX_CONTENT, PAYLOAD, Control, Facts, make_controls
from facet_dagster.validation.evidence import counts, cut, no_verdict, short
from facet_dagster.validation.examination import Examination, failed, passed
from facet_dagster.validation.facts import contents_in_e0

NOT_APPLIED = "it could not be made"
UNDONE = "what runs in the task, or the tests themselves, made the output anew"
UNNAMED = "the instruction does not name it"


async def controls(exam: Examination) -> GateResult | SkippedGate:
    """Make and run them all: a repair is to see every survivor."""
    solved, image = exam.solved, exam.solved_image
    if not exam.controls_max:
        return SkippedGate(gate=Gate.CONTROLS, why="no controls are asked for")
    if solved is None or image is None:
        unknown = ": ".join(filter(None, ("what the solution changes is not known", exam.unobserved)))
        why = unknown if exam.candidate.solution else "the task has no solution"
        return SkippedGate(gate=Gate.CONTROLS, why=cut(why))
    facts = replace(solved.facts, before=await contents_in_e0(exam, solved.subjects))
    made = make_controls(solved.subjects, facts, exam.controls_max)
    if not made:
        return SkippedGate(gate=Gate.CONTROLS, why="the instruction names no output that could be spoilt")
    for control in made:
        exam.controls.append(await _decide(exam, image, control, facts))
    if not solved.named and any(result.killed for result in exam.controls):
        exam.controls[:] = map(_where_nothing_is_named, exam.controls)
    return _judged(exam)


def _where_nothing_is_named(result: ControlResult) -> ControlResult:
    """What the tests are content with may be scratch work: only that they refuse something is known to be demanded."""
    return result if result.killed is not False else result.model_copy(update={"killed": None, "note": UNNAMED})


def _judged(exam: Examination) -> GateResult | SkippedGate:
    results = exam.controls
    survivors = [result for result in results if result.killed is False]
    killed = sum(result.killed is True for result in results)
    decided = f"{killed} of {killed + len(survivors)} spoilt final states were refused"
    if survivors:
        lines = "\n".join(_told(result) for result in survivors)
        evidence = f"{decided}; with these the tests are content, although the instruction demands otherwise:\n{lines}"
        return failed(Gate.CONTROLS, len(results), evidence, Reason.CONTROL_SURVIVED, Component.VERIFIER)
    undecided = [result for result in results if result.killed is None and not result.note]
    broken = [r for r in undecided if r.report is not None and r.report.limit is None]
    if broken:
        lines = "\n".join(map(_without_verdict, broken))
        evidence = f"{decided}; spoilt outputs keep the tests from a verdict:\n{lines}"
        return failed(Gate.CONTROLS, len(results), evidence, Reason.NOTHING_EXECUTED, Component.VERIFIER)
    if undecided:
        evidence = cut(f"{decided}; no verdict, twice, on:\n" + "\n".join(map(_without_verdict, undecided)))
        return GateResult(gate=Gate.CONTROLS, passed=None, runs=len(results), evidence=evidence)
    void = "\n".join(f"- {result.path} {result.what}: {result.note}" for result in results if result.note)
    if killed:
        return passed(Gate.CONTROLS, len(results), f"{decided}\n{void}".strip())
    nothing = f"no spoilt final state came to a verdict:\n{void}"
    if exam.candidate.contract is not None and any(result.note == UNDONE for result in results):
        return failed(Gate.CONTROLS, len(results), nothing, Reason.CONTROL_SURVIVED, Component.VERIFIER)
    return SkippedGate(gate=Gate.CONTROLS, why=cut(nothing))


def _told(result: ControlResult) -> str:
    """A survivor in words that an author can act on."""
    said = counts(result.report) if result.report and result.report.per_test else "reward 1"
    return f"- {result.path} ({result.kind.value}): {result.what}; {said}"


def _without_verdict(result: ControlResult) -> str:
    said = no_verdict(result.report) if result.report else "it was cut short while it was made"
    return f"- {result.path} {result.what}: {said}"


async def _decide(exam: Examination, image: str, control: Control, facts: Facts) -> ControlResult:
    """One control; a run without verdict is made once more, with all tests. Where that is cut short, the tests did not
    get content - if at that time they still come to their reward on what the solution left."""
    result = await _run(exam, image, control, facts, one_is_enough=True)
    if result.killed is not None or result.note:
        return result
    result = await _run(exam, image, control, facts)
    limited = result.killed is None and result.report is not None and result.report.limit is not None
    if limited and (await exam.grade(image)).reward == 1.0:
        return result.model_copy(update={"killed": True})
    return result


async def _run(
    exam: Examination, image: str, control: Control, facts: Facts, *, one_is_enough: bool = False
) -> ControlResult:
    result = ControlResult(path=control.path, kind=control.kind, what=control.what, killed=None)
    async with exam.sandbox.open(exam.spec("control", image)) as container:
        await exam.wait_until_served(container, image)
        spoilt = await _spoil(container, control)
        if not spoilt.ok:
            return result if spoilt.limit else result.model_copy(update={"note": NOT_APPLIED})
        report = await exam.grade_in(container, one_is_enough=one_is_enough)
        if report.reward == 1.0 and await _undone(container, control, facts):
            return result.model_copy(update={"note": UNDONE, "report": short(report)})
    killed = None if report.reward is None else report.reward < 1.0
    return result.model_copy(update={"killed": killed, "report": short(report)})


async def _spoil(container: Container, control: Control) -> CommandResult:
    if control.payload is not None:
        await container.put([FileEntry.of(PAYLOAD, control.payload, 0o600)], owner="root")
    done = await container.run(Command(script=control.script, user="root", workdir="/"))
    if control.payload is not None:
        await container.run(Command(script=f"rm -f {PAYLOAD}", user="root", workdir="/"))
    return done


async def _undone(container: Container, control: Control, facts: Facts) -> bool:
    """Whether the output is again what the solution made: then the tests were shown nothing wrong."""
    if control.kind is ControlKind.PUT_BACK and control.payload is None:
        return False  # only its mode was changed
    made = facts.after.get(control.path)
    return made is not None and await container.read(control.path, max_bytes=MAX_CONTENT + 1) == made
