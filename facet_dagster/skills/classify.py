"""Asks a model about the skills that the rules leave open: in batches, and never twice about the same content.

An answer is stored by the content of its skill as soon as it is there, so an interrupted run goes on where it was. An
entry that is missing or does not fit leaves its own skill open and no other; so does a skill that the endpoint refuses
to be asked about. Does not belong here: the rules.
"""

from bisect import bisect
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import (
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)

from facet_dagster.errors import ModelRefused, ModelUnavailable
from facet_dagster.ports import Store
from facet_dagster.prompts.ask import Asker, Question
from facet_dagster.prompts.pool import Forbearance, each
from facet_dagster.records.base import Record, digest_of
from facet_dagster.records.call import CallId, Role
from facet_dagster.records.outcome import Component, Rejected
from facet_dagster.records.skill import Skill, SkillClass
from facet_dagster.skills.taxonomy import CATEGORIES

TEXT_LIMIT = 3_000
"""Characters of a skill that the model is shown, name and description included."""


class Opinion(Record):
    """What the model says of one skill of the batch."""

    number: int
    actionable: bool
    category: str = Field(json_schema_extra={"enum": sorted(CATEGORIES)})
    reason: str

    @field_validator("category")
    @classmethod
    def _known(cls, category: str) -> str:
        if category not in CATEGORIES:
            raise ValueError("no category of the taxonomy")
        return category


def _or_none(value: Any, fit: ValidatorFunctionWrapHandler, _: ValidationInfo) -> Any:
    """One entry that does not fit must not spoil the batch."""
    try:
        return fit(value)
    except ValidationError:
        return None


class Opinions(Record):
    """The model's answer on a batch; entries that do not fit are None."""

    skills: tuple[Annotated[Opinion | None, WrapValidator(_or_none)], ...]


async def classify(
    skills: Sequence[Skill], asker: Asker, store: Store, *, batch: int, in_flight: int
) -> list[SkillClass]:
    """The classes of the skills, one for each content, in the order of the skills.

    Asked is only about what the store holds no decision of a model on. A skill that stays open has `actionable` None
    and says why in `evidence`; that is not stored: the next run asks again, about what is open then and so usually in
    other batches. Members of a batch that the endpoint refuses are asked about one by one; those of a batch that it
    never answers stay open. Raises what the store raises, and of the model what is more than single trouble, after the
    calls in flight have ended.
    """
    decided = {known.content_hash: known for known in store.rows(SkillClass, "model") if known.actionable is not None}
    contents = {skill.content_hash: skill for skill in skills}
    # Sorted, so that the same skills make the same batches whatever order they come in.
    unknown = [contents[key] for key in sorted(contents.keys() - decided.keys())]
    batches = [unknown[at : at + batch] for at in range(0, len(unknown), batch)]

    by_model = sorted(decided)
    forbearance = Forbearance(in_flight, known=len(by_model))
    refused: list[Skill] = []

    async def decide(members: Sequence[Skill]) -> list[SkillClass]:
        known_before = bisect(by_model, members[0].content_hash)
        classes = await forbearance.answer(_ask(members, asker), known_before)
        if isinstance(classes, ModelRefused) and len(members) > 1:
            refused.extend(members)
        if isinstance(classes, ModelRefused | ModelUnavailable):
            return [_open(skill, str(classes)) for skill in members]
        store.put_all([each_class for each_class in classes if each_class.actionable is not None])
        return classes

    answered = await each(batches, decide, in_flight)
    # The same batch would be refused again in every run, for the sake of one of its members.
    alone = [[skill] for skill in sorted(refused, key=lambda skill: skill.content_hash)]
    answered += await each(alone, decide, in_flight)
    forbearance.conclude()
    found = {**decided, **{one.content_hash: one for classes in answered for one in classes}}
    return [found[key] for key in contents]


async def _ask(members: Sequence[Skill], asker: Asker) -> list[SkillClass]:
    answer = await asker.ask(
        Question(
            prompt="skills/classify",
            variables={
                "taxonomy": _taxonomy(),
                "skills": [f"{skill.name}\n{skill.description}\n\n{skill.body}" for skill in members],
                "text_limit": TEXT_LIMIT,
            },
            answer=Opinions,
            call=CallId(station="skills.classify", subject=_subject(members)),
            component=Component.SCENARIO,
            role=Role.JUDGE,
            temperature=0.0,
        )
    )
    if isinstance(answer, Rejected):
        return [_open(skill, answer.evidence) for skill in members]
    opinions: dict[int, list[Opinion]] = {}
    for opinion in answer.skills:
        if opinion is not None:
            opinions.setdefault(opinion.number, []).append(opinion)
    return [_class_of(skill, opinions.get(number, [])) for number, skill in enumerate(members, 1)]


def _class_of(skill: Skill, opinions: Sequence[Opinion]) -> SkillClass:
    if len(opinions) != 1:
        return _open(skill, "the answer has no usable entry" if not opinions else "the answer has several entries")
    opinion = opinions[0]
    return SkillClass(
        content_hash=skill.content_hash,
        actionable=opinion.actionable,
        family=CATEGORIES[opinion.category],
        category=opinion.category,
        decided_by="model",
        evidence=opinion.reason.strip()[:500] or "no reason given",
    )


def _open(skill: Skill, why: str) -> SkillClass:
    evidence = f"{skill.skill_id}: {why[:500]}"
    return SkillClass(content_hash=skill.content_hash, actionable=None, decided_by="model", evidence=evidence)


def _subject(members: Sequence[Skill]) -> str:
    """The identity of a batch: the same members are the same question."""
    return f"batch-{digest_of(' '.join(skill.content_hash for skill in members))[:12]}"


def _taxonomy() -> dict[str, list[str]]:
    families: dict[str, list[str]] = {}
    for category, family in CATEGORIES.items():
        families.setdefault(family.value, []).append(category)
    return families
