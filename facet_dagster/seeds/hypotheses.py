"""Scenario hypotheses: settings in which one skill could be used (FACET 1.2, item 4).

Belongs here: asking for the hypotheses of a single skill. Which skills are asked stands in pipeline.py.
"""

from collections.abc import Callable, Sequence

from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.records.base import Record
from facet_dagster.records.call import CallId
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.seed import Hypothesis
from facet_dagster.records.skill import Skill


class Draft(Record):
    """A hypothesis as the model answers it."""

    context: str
    goal: str
    initial_state: str
    final_state: str


class Drafts(Record):
    """The model's answer."""

    hypotheses: list[Draft]


async def propose(skill: Skill, asker: Asker, *, count: int = 2) -> list[Hypothesis] | Rejected:
    """`count` hypotheses of a skill, numbered from 1. Raises what the model raises."""
    answer = await asker.ask(
        Question(
            prompt="seeds/hypotheses",
            variables={"count": count, "skill_text": f"{skill.name}\n{skill.description}\n\n{skill.body}"},
            answer=Drafts,
            call=CallId(station="seeds.hypotheses", subject=skill.skill_id),
            component=Component.SCENARIO,
            check=_problems_for(count),
        )
    )
    if isinstance(answer, Rejected):
        return answer
    return [
        Hypothesis(
            hypothesis_id=f"{skill.skill_id}-{ordinal}",
            skill_id=skill.skill_id,
            **draft.model_dump(exclude={"schema_version"}),
        )
        for ordinal, draft in enumerate(answer.hypotheses, start=1)
    ]


def _problems_for(count: int) -> Callable[[Drafts], Sequence[str]]:
    def problems(answer: Drafts) -> Sequence[str]:
        found = []
        if len(answer.hypotheses) != count:
            found.append(f"{count} hypotheses are wanted, not {len(answer.hypotheses)}")
        for ordinal, draft in enumerate(answer.hypotheses, start=1):
            values = draft.model_dump(exclude={"schema_version"})
            found += [f"hypothesis {ordinal}: {name} is empty" for name, value in values.items() if not value.strip()]
        if len({draft.goal.strip().lower() for draft in answer.hypotheses}) < len(answer.hypotheses):
            found.append("two hypotheses have the same goal")
        return found

    return problems
