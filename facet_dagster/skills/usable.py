"""Which skills the stations after this one work with: valid, there at the last ingest, and not refused by a model."""

from collections.abc import Iterable
from dataclasses import dataclass

from facet_dagster.ports import Store
from facet_dagster.records.skill import Skill, SkillClass, SkillEntry, one_class
from facet_dagster.skills.history import History, read_history

_STANDING = ("removed", "refused", "kept")


@dataclass(frozen=True)
class Kept:
    """A folder that is kept, and its class: by the rules that read it last, and by a model where one was asked."""

    entry: SkillEntry
    view: SkillClass | None

    @property
    def usable(self) -> bool:
        """Whether it is not refused by a model."""
        return self.view is None or self.view.actionable is not False

    @property
    def open(self) -> bool:
        """Whether nobody has decided yet if a terminal can act on it."""
        return self.view is None or self.view.actionable is None


def kept_in(history: History, store: Store) -> list[Kept]:
    """All kept folders."""
    by_model = {each.content_hash: each for each in store.rows(SkillClass, "model")}
    kept = [entry for entry in history.latest.values() if entry.state == "kept"]
    return [Kept(entry, one_class(entry.by_rule, by_model.get(entry.content_hash))) for entry in kept]


def usable_skills(store: Store) -> list[Skill]:
    """The usable skills in the order of their ids."""
    return _skills(store, (each.entry for each in kept_in(read_history(store), store) if each.usable))


def open_skills(store: Store) -> list[Skill]:
    """Those of the kept skills that neither the rules nor a model have decided on, in the order of their ids."""
    return _skills(store, (each.entry for each in kept_in(read_history(store), store) if each.open))


def categories_of(store: Store) -> dict[str, str]:
    """The category of each kept skill by its id, or its family where only that is known."""
    kept = kept_in(read_history(store), store)
    named = {each.entry.skill_id: each.view and (each.view.category or each.view.family) for each in kept}
    return {skill_id: name for skill_id, name in named.items() if name}


def skills_by_id(store: Store, skill_ids: Iterable[str]) -> dict[str, Skill]:
    """Some skills, each in the revision that counts: what the log names, else the highest. Unknown ids are left out.

    Neither the table of skills nor, where every skill has one revision, the log is read as a whole.
    """
    revisions = _revisions(store, list(dict.fromkeys(skill_ids)))
    found = {skill_id: of_one[-1] for skill_id, of_one in revisions.items() if of_one}
    several = {skill_id for skill_id, of_one in revisions.items() if len(of_one) > 1}
    entries = [each for each in read_history(store).latest.values() if each.skill_id in several] if several else []
    # The best named last: a kept folder before a copy, a copy before one that is gone; the later before the earlier.
    for entry in sorted(entries, key=lambda each: (_STANDING.index(each.state), each.ingest)):
        named = next((each for each in revisions[entry.skill_id] if each.key == entry.skill_key), None)
        found[entry.skill_id] = named or found[entry.skill_id]
    return found


def _revisions(store: Store, skill_ids: list[str]) -> dict[str, list[Skill]]:
    """All revisions of each, in order; the same revision of all is fetched together."""
    revisions: dict[str, list[Skill]] = {skill_id: [] for skill_id in skill_ids}
    keys = skill_ids
    while skills := store.get_all(Skill, "all", keys).values():
        for skill in skills:
            revisions[skill.skill_id].append(skill)
        keys = [skill.model_copy(update={"revision": skill.revision + 1}).key for skill in skills]
    return revisions


def _skills(store: Store, entries: Iterable[SkillEntry]) -> list[Skill]:
    found = store.get_all(Skill, "all", (entry.skill_key for entry in entries))
    return sorted(found.values(), key=lambda skill: skill.skill_id)
