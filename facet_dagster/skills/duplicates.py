"""Removes copies: exact ones by normalised body, near ones by MinHash with an exact check of the Jaccard similarity.

Which copy survives depends on the skills alone, never on the order of the folder: a real file before a link, with
siblings before without, with a licence before without, then the smaller path. Does not belong here: reading.
"""

import re
from collections.abc import Iterable, Iterator

from datasketch import MinHash, MinHashLSH

from facet_dagster.records.base import digest_of
from facet_dagster.records.skill import Skill, SkillFault
from facet_dagster.skills.refusal import Refusal

NEAR = 0.8
"""Jaccard similarity of 5-word shingles from which two bodies are near duplicates (MinHash, as in the FACET paper)."""
SHINGLE = 5
PERMUTATIONS = 128
_CANDIDATE = 0.65
"""Threshold of the index: lower than NEAR, so that its recall at NEAR is near one; candidates are then checked."""

_WORD = re.compile(r"\w+")


def normalised(body: str) -> str:
    """The words of a body, lower-case: layout and punctuation do not make a new skill."""
    return " ".join(_WORD.findall(body.lower()))


def split_duplicates(
    skills: Iterable[Skill], linked: frozenset[str] = frozenset()
) -> Iterator[tuple[Skill, Refusal | None]]:
    """Each skill with None when it survives, or with the refusal that names the survivor.

    `linked` holds the ids of skills whose SKILL.md is a link to another one.
    """
    index = MinHashLSH(threshold=_CANDIDATE, num_perm=PERMUTATIONS)
    exact: dict[str, Skill] = {}
    kept: dict[str, Skill] = {}
    for skill in sorted(skills, key=lambda each: _rank(each, linked)):
        words = normalised(skill.body)
        twin = exact.setdefault(digest_of(words), skill)
        if twin is not skill:
            yield skill, Refusal(SkillFault.DUPLICATE, f"same body as {twin.path}")
            continue
        shingles = _shingles(words)
        sketch = _sketch(shingles)
        nearest = _nearest(shingles, (kept[key] for key in index.query(sketch)))
        if nearest is not None:
            yield skill, Refusal(SkillFault.NEAR_DUPLICATE, nearest)
            continue
        kept[skill.skill_id] = skill
        index.insert(skill.skill_id, sketch)
        yield skill, None


def _rank(skill: Skill, linked: frozenset[str]) -> tuple[bool, bool, bool, str, str]:
    unknown = skill.licence == "unknown"
    return skill.skill_id in linked, not skill.siblings, unknown, skill.path, skill.content_hash


def _shingles(words: str) -> frozenset[str]:
    parts = words.split()
    return frozenset(" ".join(parts[at : at + SHINGLE]) for at in range(max(1, len(parts) - SHINGLE + 1)))


def _sketch(shingles: frozenset[str]) -> MinHash:
    sketch = MinHash(num_perm=PERMUTATIONS, seed=1)
    sketch.update_batch([shingle.encode() for shingle in sorted(shingles)])
    return sketch


def _nearest(shingles: frozenset[str], candidates: Iterable[Skill]) -> str | None:
    best: tuple[float, str] | None = None
    for candidate in sorted(candidates, key=lambda each: each.path):
        other = _shingles(normalised(candidate.body))
        similarity = len(shingles & other) / len(shingles | other)
        if similarity >= NEAR and (best is None or similarity > best[0]):
            best = (similarity, candidate.path)
    return f"Jaccard similarity {best[0]:.2f} with {best[1]}" if best else None
