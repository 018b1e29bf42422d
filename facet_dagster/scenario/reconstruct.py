"""Scenario reconstruction: a seed and its skills in, the scenario Z = (C, R_S, R_I) out (FACET 1.3).

The front door of the station: five modules, integration and references, consistency, in this order.
"""

from collections.abc import Sequence

from facet_dagster.errors import SettingsError
from facet_dagster.prompts.ask import Asker
from facet_dagster.records.outcome import Rejected
from facet_dagster.records.scenario import Consistency, Scenario
from facet_dagster.records.seed import ScenarioSeed
from facet_dagster.records.skill import Skill
from facet_dagster.records.validation import Feedback
from facet_dagster.scenario.author import Author
from facet_dagster.scenario.consistency import align
from facet_dagster.scenario.modules import Modules, run_modules
from facet_dagster.scenario.references import References, write_references


async def reconstruct(
    seed: ScenarioSeed,
    skills: Sequence[Skill],
    asker: Asker,
    *,
    round: int = 0,
    feedback: Feedback | None = None,
) -> Scenario | Rejected:
    """The scenario of a seed; `skills` must hold the seed's, and may hold more.

    With `feedback` the integration answers what was found wrong with the earlier version.
    Raises SettingsError when a skill of the seed is missing, and what the model raises.
    """
    author = Author(asker, seed.seed_id, round)
    modules = await run_modules(author, seed, _skills_of(seed, skills))
    if isinstance(modules, Rejected):
        return modules
    references = await write_references(author, modules, feedback)
    if isinstance(references, Rejected):
        return references
    aligned = await align(author, references)
    if isinstance(aligned, Rejected):
        return aligned
    return _scenario(seed, modules, *aligned)


def _skills_of(seed: ScenarioSeed, skills: Sequence[Skill]) -> list[Skill]:
    by_id = {skill.skill_id: skill for skill in skills}
    missing = [skill_id for skill_id in seed.skill_ids if skill_id not in by_id]
    if missing:
        raise SettingsError(f"seed {seed.seed_id} needs skill {', '.join(missing)}: read the skills that it came from")
    return [by_id[skill_id] for skill_id in seed.skill_ids]


def _scenario(seed: ScenarioSeed, modules: Modules, references: References, consistency: Consistency) -> Scenario:
    kept = set(modules.association.kept_skills)
    return Scenario(
        title=references.integration.title,
        description=references.integration.description,
        dimensions=references.integration.dimensions,
        skill_ids=tuple(skill_id for skill_id in seed.skill_ids if skill_id in kept),
        dropped_skills=modules.association.dropped_skills,
        analyses=modules.analyses,
        exploration=modules.exploration,
        association=modules.association,
        evolution=modules.evolution,
        expansion=modules.expansion,
        solution_reference=references.solution_reference,
        instruction_reference=references.instruction_reference,
        requirements=references.requirements,
        consistency=consistency,
    )
