"""Which skills the stations after this one work with: valid, there at the last ingest, and not refused by a model."""

from facet_dagster.ports import Store
from facet_dagster.records.skill import Skill, SkillClass
from facet_dagster.skills.history import read_history


def usable_skills(store: Store) -> list[Skill]:
    """The usable skills in the order of their ids."""
    kept = [entry for entry in read_history(store).latest.values() if entry.state == "kept"]
    refused = {each.content_hash for each in store.rows(SkillClass, "model") if each.actionable is False}
    keys = {entry.skill_key for entry in kept if entry.content_hash not in refused}
    found = [skill for skill in store.rows(Skill) if skill.key in keys]
    return sorted(found, key=lambda skill: skill.skill_id)
