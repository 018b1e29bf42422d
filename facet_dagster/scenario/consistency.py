"""Consistency of C, R_S, R_I and the requirements (FACET 1.3): a check, one revision at most, a second check.

Belongs here: whether the texts agree and how they are made to. How they are written stands in references.py.
"""

from collections.abc import Sequence
from dataclasses import replace

from facet_dagster.prompts.views import show_requirements
from facet_dagster.records.base import Record
from facet_dagster.records.outcome import Component, Reason, Rejected
from facet_dagster.records.scenario import Consistency, Requirement
from facet_dagster.scenario.author import Author, empty_fields
from facet_dagster.scenario.references import References, requirement_problems


class Revision(Record):
    """Answer: both references and the requirements, corrected."""

    solution_reference: str
    instruction_reference: str
    requirements: list[Requirement]


async def align(author: Author, references: References) -> tuple[References, Consistency] | Rejected:
    """References that agree and what the last check said; Rejected (INCONSISTENT) where one revision is not enough."""
    first = await _check(author, references, attempt=0)
    if isinstance(first, Rejected):
        return first
    if first.consistent:
        return references, first
    revised = await _revise(author, references, first.problems)
    if isinstance(revised, Rejected):
        return revised
    second = await _check(author, revised, attempt=1)
    if isinstance(second, Rejected):
        return second
    if not second.consistent:
        return Rejected(
            component=Component.SCENARIO, reason=Reason.INCONSISTENT, evidence=_listed(second.problems)[:4_000]
        )
    return revised, second


async def _check(author: Author, references: References, *, attempt: int) -> Consistency | Rejected:
    return await author.have_judged("consistency", Consistency, _decided, attempt=attempt, **_shown(references))


async def _revise(author: Author, references: References, problems: Sequence[str]) -> References | Rejected:
    answer = await author.ask("revision", Revision, _sound, problems=_listed(problems), **_shown(references))
    if isinstance(answer, Rejected):
        return answer
    return replace(
        references,
        solution_reference=answer.solution_reference,
        instruction_reference=answer.instruction_reference,
        requirements=tuple(answer.requirements),
    )


def _shown(references: References) -> dict[str, str]:
    return {
        "description": references.description,
        "solution_reference": references.solution_reference,
        "instruction_reference": references.instruction_reference,
        "requirements": show_requirements(references.requirements),
    }


def _listed(problems: Sequence[str]) -> str:
    return "\n".join(f"- {problem}" for problem in problems)


def _decided(answer: Consistency) -> Sequence[str]:
    if answer.consistent == bool(answer.problems):
        return ["consistent must be true exactly when problems is empty"]
    return []


def _sound(answer: Revision) -> Sequence[str]:
    texts = empty_fields(answer, "solution_reference", "instruction_reference")
    return texts + requirement_problems(answer.requirements)
