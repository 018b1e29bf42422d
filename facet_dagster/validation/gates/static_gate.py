"""G0: what can be told by reading the task. Costs no container, so it comes first."""

from facet_dagster.records.outcome import Component, Reason
from facet_dagster.records.validation import Gate, GateResult
from facet_dagster.validation.examination import Examination, failed, passed
from facet_dagster.validation.static.finding import Finding
from facet_dagster.validation.static.image import image_findings
from facet_dagster.validation.static.instruction import instruction_findings
from facet_dagster.validation.static.tests import test_findings

# One component is mended at a time, the one first that others are made from.
_ORDER = (Component.ENVIRONMENT, Component.INSTRUCTION, Component.VERIFIER)


async def static(exam: Examination) -> GateResult:
    """All findings; the component that is to be mended first is named, and its findings come first."""
    task = exam.candidate
    found = [*image_findings(task), *instruction_findings(task), *test_findings(task)]
    if not found:
        return passed(Gate.STATIC, 0, f"nothing found in {len(task.context) + len(task.tests) + 2} files")
    ordered = sorted(dict.fromkeys(found), key=_rank)
    evidence = "\n".join(map(str, ordered))
    return failed(Gate.STATIC, 0, evidence, Reason.STATIC_FAULT, ordered[0].component)


def _rank(finding: Finding) -> int:
    return _ORDER.index(finding.component)
