"""Diagnosis: one component, from evidence. The table decides what it can, a model the rest, citing what it was shown.

The table itself stands in rules.py, what the model sees in material.py, its task in prompts/repair/diagnose.md.j2.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel

from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.quoting import SHORTEST, squeezed, stands_in
from facet_dagster.records.base import Record
from facet_dagster.records.bundle import ComponentVersion
from facet_dagster.records.call import CallId, Role
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.validation import Diagnosis, ValidationReport
from facet_dagster.repair.feedback import earlier_rounds
from facet_dagster.repair.material import sections
from facet_dagster.repair.rules import Case, case_of, decide

OPEN_TO_MODEL = (Component.ENVIRONMENT, Component.INSTRUCTION, Component.SOLUTION, Component.VERIFIER)
EVIDENCE = 4_000  # characters of a diagnosis
QUOTE = 1_000


class Finding(BaseModel):
    """What the model answers."""

    component: Literal["environment", "instruction", "solution", "verifier"]
    evidence: str
    advice: str


async def route(
    seed_id: str,
    failure: ValidationReport | Rejected,
    bodies: Mapping[Component, Record],
    history: Sequence[ComponentVersion],
    *,
    asker: Asker,
    round: int,
) -> Diagnosis:
    """Which component to rewrite in `round`. `bodies` is the bundle as it stands, `history` all its versions.

    Raises what ChatModel raises, and ValueError for a report in which no gate failed.
    """
    case = case_of(failure, history)
    component = decide(case)
    if component is None:
        finding = await _ask(seed_id, case, bodies, history, asker=asker, round=round)
        if isinstance(finding, Finding):
            return Diagnosis(
                component=Component(finding.component),
                reason=case.reason,
                evidence=f"{case.evidence[:EVIDENCE]}\nShown by: {_bare(finding.evidence)[:QUOTE]}",
                advice=finding.advice,
                decided_by="model",
            )
        component = case.component or Component.VERIFIER
    return Diagnosis(component=component, reason=case.reason, evidence=case.evidence[:EVIDENCE], decided_by="table")


async def _ask(
    seed_id: str,
    case: Case,
    bodies: Mapping[Component, Record],
    history: Sequence[ComponentVersion],
    *,
    asker: Asker,
    round: int,
) -> Finding | Rejected:
    parts = sections(bodies, case.failing)
    earlier = "\n".join(earlier_rounds(history)) or "none"
    choices = [c.value for c in OPEN_TO_MODEL if c in bodies or c is case.component]
    shown = [case.evidence, earlier, *(part.text for part in parts)]
    return await asker.ask(
        Question(
            prompt="repair/diagnose",
            variables={
                "reason": case.reason.value,
                "failure": case.evidence,
                "parts": parts,
                "earlier": earlier,
                "choices": ", ".join(choices),
            },
            answer=Finding,
            call=CallId(station="repair.diagnose", subject=seed_id, round=round),
            component=Component.VALIDATION,
            role=Role.JUDGE,
            check=lambda finding: faults_in(finding, choices, shown),
            temperature=0.0,
        )
    )


def faults_in(finding: Finding, choices: Sequence[str], shown: Sequence[str]) -> list[str]:
    """What makes a finding unusable: a component that does not exist yet, or evidence that was not shown."""
    faults = []
    if finding.component not in choices:
        faults.append(f"component: choose among {', '.join(choices)}")
    quote = squeezed(_bare(finding.evidence))
    if len(quote) < SHORTEST:
        faults.append(f"evidence: quote at least {SHORTEST} characters")
    elif not any(stands_in(quote, text) for text in shown):
        faults.append("evidence: this passage does not occur in any section; copy one word for word, without ellipsis")
    if not finding.advice.strip():
        faults.append("advice: say what must hold after the rewrite")
    return faults


def _bare(quote: str) -> str:
    """A quotation without the marks around it."""
    stripped = quote.strip()
    for opening, closing in (("```", "```"), ('"', '"'), ("“", "”"), ("`", "`")):
        if len(stripped) > len(opening) and stripped.startswith(opening) and stripped.endswith(closing):
            return stripped[len(opening) : -len(closing)].strip()
    return stripped
