"""Which skills the stations after this one work with: valid, there at the last ingest, and not refused by a model."""

from facet_dagster.ports import Store
from facet_dagster.records.skill import Skill, SkillClass
from facet_dagster.skills.history import read_history


def usable_skills(store: Store) -> list[Skill]:
    """The usable skills in the order of their ids."""
    refused = {each.content_hash for each in store.rows(SkillClass, "model") if each.actionable is False}
    return _kept(store, refused)


def open_skills(store: Store) -> list[Skill]:
    """Those of the kept skills that neither the rules nor a model have decided on, in the order of their ids."""
    decided = {each.content_hash for each in store.rows(SkillClass) if each.actionable is not None}
    return _kept(store, decided)


def _kept(store: Store, without: set[str]) -> list[Skill]:
    kept = [entry for entry in read_history(store).latest.values() if entry.state == "kept"]
    keys = {entry.skill_key for entry in kept if entry.content_hash not in without}
    found = [skill for skill in store.rows(Skill) if skill.key in keys]
    return sorted(found, key=lambda skill: skill.skill_id)
