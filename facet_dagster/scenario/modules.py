"""The five modules of scenario reconstruction, in order (FACET 1.3): each one prompt and one record.

Belongs here: what each module is shown and when its answer holds. What is made of them stands in references.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from facet_dagster.prompts.views import as_json
from facet_dagster.records.base import Record
from facet_dagster.records.outcome import Rejected
from facet_dagster.records.scenario import Association, Evolution, Expansion, Exploration, SkillAnalysis
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.scenario.author import Author, empty_fields


class Analyses(Record):
    """Answer of module 1: one analysis per skill."""

    analyses: list[SkillAnalysis]


@dataclass(frozen=True)
class Modules:
    """What the five modules found."""

    analyses: tuple[SkillAnalysis, ...]
    exploration: Exploration
    association: Association
    evolution: Evolution
    expansion: Expansion


async def run_modules(author: Author, seed: ScenarioSeed, skills: Sequence[Skill]) -> Modules | Rejected:
    """The five modules in order; the first that cannot be answered ends it."""
    analyses = await _analyse(author, seed, skills)
    if isinstance(analyses, Rejected):
        return analyses
    exploration = await _explore(author, seed, analyses)
    if isinstance(exploration, Rejected):
        return exploration
    association = await _associate(author, seed, analyses, exploration)
    if isinstance(association, Rejected):
        return association
    evolution = await _evolve(author, association)
    if isinstance(evolution, Rejected):
        return evolution
    expansion = await _expand(author, association, evolution)
    if isinstance(expansion, Rejected):
        return expansion
    return Modules(analyses, exploration, association, evolution, expansion)


async def _analyse(author: Author, seed: ScenarioSeed, skills: Sequence[Skill]) -> tuple[SkillAnalysis, ...] | Rejected:
    shown = [{"skill_id": s.skill_id, "text": f"{s.name}\n{s.description}\n\n{s.body}"} for s in skills]
    answer = await author.ask(
        "analysis",
        Analyses,
        _analyses_of([s.skill_id for s in skills]),
        title=seed.title,
        rationale=seed.rationale,
        skills=shown,
    )
    if isinstance(answer, Rejected):
        return answer
    by_skill = {analysis.skill_id: analysis for analysis in answer.analyses}
    return tuple(by_skill[s.skill_id] for s in skills)


async def _explore(author: Author, seed: ScenarioSeed, analyses: Sequence[SkillAnalysis]) -> Exploration | Rejected:
    return await author.ask(
        "exploration",
        Exploration,
        lambda answer: empty_fields(answer, "settings"),
        title=seed.title,
        rationale=seed.rationale,
        analyses=_lines(analyses),
    )


async def _associate(
    author: Author, seed: ScenarioSeed, analyses: Sequence[SkillAnalysis], exploration: Exploration
) -> Association | Rejected:
    return await author.ask(
        "association",
        Association,
        _association_over(seed.skill_ids),
        title=seed.title,
        analyses=_lines(analyses),
        settings="\n\n".join(exploration.settings),
    )


async def _evolve(author: Author, association: Association) -> Evolution | Rejected:
    return await author.ask(
        "evolution",
        Evolution,
        lambda answer: empty_fields(answer, "initial_state", "transitions", "final_state"),
        association=as_json(association, "dropped_skills"),
    )


async def _expand(author: Author, association: Association, evolution: Evolution) -> Expansion | Rejected:
    return await author.ask(
        "expansion",
        Expansion,
        lambda answer: empty_fields(answer, "resources", "formats", "constraints", "success_conditions"),
        association=as_json(association, "dropped_skills"),
        evolution=as_json(evolution),
    )


def _lines(analyses: Sequence[SkillAnalysis]) -> str:
    return "\n".join(as_json(analysis) for analysis in analyses)


def _analyses_of(skill_ids: Sequence[str]) -> Callable[[Analyses], Sequence[str]]:
    def problems(answer: Analyses) -> Sequence[str]:
        found = [analysis.skill_id for analysis in answer.analyses]
        if sorted(found) != sorted(skill_ids):
            return [
                f"one analysis is wanted for each of {', '.join(skill_ids)}; there are: {', '.join(found) or 'none'}"
            ]
        return [
            f"{analysis.skill_id}: {problem}"
            for analysis in answer.analyses
            for problem in empty_fields(analysis, "capabilities", "observable_effects")
        ]

    return problems


def _association_over(skill_ids: Sequence[str]) -> Callable[[Association], Sequence[str]]:
    def problems(answer: Association) -> Sequence[str]:
        found = empty_fields(answer, "setting")
        if not answer.kept_skills:
            found.append("kept_skills is empty: keep at least one")
        if sorted([*answer.kept_skills, *answer.dropped_skills]) != sorted(skill_ids):
            found.append(f"each of {', '.join(skill_ids)} must be either in kept_skills or in dropped_skills, once")
        if set(answer.use_of_each) != set(answer.kept_skills):
            found.append("use_of_each must have exactly the kept skills as keys")
        return found

    return problems
