"""What a repair may not do: change nothing, drop a requirement, check less without a cited contradiction.

Whether the repair works is found out by validation, not here.
"""

from facet_dagster.records.authoring import Instruction, Solution, Verifier
from facet_dagster.records.base import Record
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.scenario import Scenario
from facet_dagster.records.validation import Diagnosis
from facet_dagster.repair.feedback import as_answered
from facet_dagster.repair.strength import weakened


def refuse(before: Record, after: Record, diagnosis: Diagnosis) -> Rejected | None:
    """The rejection of a patch, or None where it may be tried. `before` and `after` are one component's bodies."""
    component = diagnosis.component
    if _same(before, after):
        evidence = "the rewritten version is the same as the one before it"
        return Rejected(component=component, reason=Reason.IDENTICAL_PATCH, evidence=evidence)
    lost = sorted(requirements_of(before) - requirements_of(after))
    if lost:
        evidence = f"requirements stated or tested before and no longer: {', '.join(lost)}"
        return Rejected(component=component, reason=Reason.REQUIREMENT_LOST, evidence=evidence)
    if isinstance(before, Verifier) and isinstance(after, Verifier) and not _contradiction_cited(diagnosis):
        less = weakened(before.test_file, after.test_file)
        if less is not None:
            evidence = f"the rewritten verifier checks less, and no contradiction was cited that would allow it: {less}"
            return Rejected(component=component, reason=Reason.TEST_WEAKENED, evidence=evidence)
    return None


def requirements_of(body: Record) -> frozenset[str]:
    """Ids of the requirements that a component states (scenario, instruction) or tests (verifier)."""
    if isinstance(body, Scenario):
        return frozenset(body.requirement_ids())
    if isinstance(body, Instruction):
        return frozenset(id for id, clause in body.clauses.items() if clause.strip())
    if isinstance(body, Verifier):
        return frozenset(id for ids in body.requirement_table().values() for id in ids)
    return frozenset()


def _same(before: Record, after: Record) -> bool:
    """Equal in what has an effect: white space at line ends and what is said about a program do not count."""
    return type(before) is type(after) and _effective(before) == _effective(after)


def _effective(body: Record) -> list[str]:
    if isinstance(body, Solution):
        text = body.script
    elif isinstance(body, Verifier):
        text = body.test_file
    else:
        text = as_answered(body)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _contradiction_cited(diagnosis: Diagnosis) -> bool:
    """Whether somebody judged that the test itself is wrong, and quoted what shows it.

    A gate that found a name in the tests which nobody was told has cited it, with its line.
    """
    judged = diagnosis.decided_by in {"model", "person"} or diagnosis.reason is Reason.HIDDEN_NAME
    return judged and diagnosis.component is Component.VERIFIER and bool(diagnosis.evidence.strip())
