"""Removes copies: exact ones by normalised body, near ones by MinHash with an exact check of the Jaccard similarity.

Which copy survives depends on the skills alone, never on the order of the folder: a real file before a link, with
siblings before without, with a licence before without, then the smaller path. Does not belong here: reading.
"""

from collections.abc import Iterable, Iterator

from facet_dagster.records.base import digest_of
from facet_dagster.records.skill import Skill, SkillFault
from facet_dagster.shingles import NearIndex, Sketch
from facet_dagster.skills.refusal import Refusal

NEAR = 0.8
"""Jaccard similarity of 5-word shingles from which two bodies are near duplicates (MinHash, as in the FACET paper)."""


def split_duplicates(
    skills: Iterable[Skill], linked: frozenset[str] = frozenset()
) -> Iterator[tuple[Skill, Refusal | None]]:
    """Each skill with None when it survives, or with the refusal that names the survivor.

    `linked` holds the ids of skills whose SKILL.md is a link to another one.
    """
    index = NearIndex(NEAR)
    exact: dict[str, Skill] = {}
    paths: dict[str, str] = {}
    for skill in sorted(skills, key=lambda each: _rank(each, linked)):
        sketch = Sketch(skill.body)
        twin = exact.setdefault(digest_of(sketch.words), skill)
        if twin is not skill:
            yield skill, Refusal(SkillFault.DUPLICATE, f"same body as {twin.path}")
            continue
        near = sorted(((-similarity, paths[name]) for similarity, name in index.near(sketch)))
        if near:
            similarity, path = -near[0][0], near[0][1]
            yield skill, Refusal(SkillFault.NEAR_DUPLICATE, f"Jaccard similarity {similarity:.2f} with {path}")
            continue
        paths[skill.skill_id] = skill.path
        index.keep(skill.skill_id, sketch)
        yield skill, None


def _rank(skill: Skill, linked: frozenset[str]) -> tuple[bool, bool, bool, str, str]:
    unknown = skill.licence == "unknown"
    return skill.skill_id in linked, not skill.siblings, unknown, skill.path, skill.content_hash
