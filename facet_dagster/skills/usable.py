"""Which skills the stations after this one work with: valid, there at the last ingest, and not refused by a model."""

from collections.abc import Iterable

from facet_dagster.ports import Store
from facet_dagster.records.skill import Skill, SkillClass
from facet_dagster.skills.history import read_history

_STANDING = ("removed", "refused", "kept")


def usable_skills(store: Store) -> list[Skill]:
    """The usable skills in the order of their ids."""
    refused = {each.content_hash for each in store.rows(SkillClass, "model") if each.actionable is False}
    return _kept(store, refused)


def open_skills(store: Store) -> list[Skill]:
    """Those of the kept skills that neither the rules nor a model have decided on, in the order of their ids."""
    decided = {each.content_hash for each in store.rows(SkillClass) if each.actionable is not None}
    return _kept(store, decided)


def skills_by_id(store: Store, skill_ids: Iterable[str]) -> dict[str, Skill]:
    """Some skills, each in the revision that counts: what the log names, else the highest. Unknown ids are left out.

    Neither the table of skills nor, where every skill has one revision, the log is read as a whole.
    """
    revisions = {skill_id: _revisions(store, skill_id) for skill_id in dict.fromkeys(skill_ids)}
    found = {skill_id: of_one[-1] for skill_id, of_one in revisions.items() if of_one}
    several = {skill_id for skill_id, of_one in revisions.items() if len(of_one) > 1}
    entries = [each for each in read_history(store).latest.values() if each.skill_id in several] if several else []
    # The best named last: a kept folder before a copy, a copy before one that is gone; the later before the earlier.
    for entry in sorted(entries, key=lambda each: (_STANDING.index(each.state), each.ingest)):
        named = next((each for each in revisions[entry.skill_id] if each.key == entry.skill_key), None)
        found[entry.skill_id] = named or found[entry.skill_id]
    return found


def _revisions(store: Store, skill_id: str) -> list[Skill]:
    found: list[Skill] = []
    key = skill_id
    while (skill := store.get(Skill, "all", key)) is not None:
        found.append(skill)
        key = skill.model_copy(update={"revision": len(found)}).key
    return found


def _kept(store: Store, without: set[str]) -> list[Skill]:
    kept = [entry for entry in read_history(store).latest.values() if entry.state == "kept"]
    keys = {entry.skill_key for entry in kept if entry.content_hash not in without}
    found = [skill for skill in store.rows(Skill) if skill.key in keys]
    return sorted(found, key=lambda skill: skill.skill_id)
