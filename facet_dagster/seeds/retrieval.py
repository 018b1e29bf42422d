"""Retrieval: hypotheses of different skills that sound alike become proposals for the judge (FACET 1.2, item 4).

Belongs here: which hypotheses make a proposal, and the order of proposals. Whether one is any good stands in judge.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from facet_dagster.records.base import digest_of
from facet_dagster.records.seed import Hypothesis
from facet_dagster.records.terms import SeedingTerms
from facet_dagster.seeds.laps import in_laps
from facet_dagster.seeds.nearest import DECIMALS, nearest

UNCLASSIFIED = "unclassified"

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Hypotheses of 2 or 3 skills, in the order of their ids, and how alike they are (a cosine, see `_Space.best`)."""

    hypotheses: tuple[Hypothesis, ...]
    similarity: float

    @property
    def hypothesis_ids(self) -> tuple[str, ...]:
        return tuple(h.hypothesis_id for h in self.hypotheses)

    @property
    def skill_ids(self) -> tuple[str, ...]:
        return tuple(h.skill_id for h in self.hypotheses)

    @property
    def candidate_id(self) -> str:
        """12 hex digits over the hypothesis ids: nothing that is added elsewhere changes it."""
        return digest_of("\n".join(self.hypothesis_ids))[:12]


def retrieve(
    hypotheses: Sequence[Hypothesis],
    vectors: Floats,
    terms: SeedingTerms,
    categories: Mapping[str, str] | None = None,
) -> list[Proposal]:
    """Proposals of 2 to `terms.max_skills` skills, most alike first, spread over skills and categories.

    `vectors` holds one unit vector per hypothesis, `categories` the category by skill id. One proposal per set of
    skills; which hypotheses stand for the set depends on those of its own skills alone. No skill is in more than
    `terms.skill_share` proposals, and then no category in more than `terms.category_share`, before all others had
    their turn. The order of `hypotheses` does not matter.
    """
    if len({h.skill_id for h in hypotheses}) < 2:
        return []
    order = sorted(range(len(hypotheses)), key=lambda i: hypotheses[i].hypothesis_id)
    ordered = [hypotheses[i] for i in order]
    space = _Space(ordered, np.ascontiguousarray(vectors[order]))
    best = [space.best(chosen) for chosen in space.skill_sets(terms.neighbours, terms.max_skills)]
    best.sort(key=lambda found: (-found[0], found[1]))  # rows stand in the order of their ids
    proposals = [Proposal(tuple(ordered[row] for row in rows), similarity) for similarity, rows in best]
    spread = in_laps(proposals, lambda p: p.skill_ids, terms.skill_share)
    known = categories or {}
    return in_laps(spread, lambda p: [known.get(s, UNCLASSIFIED) for s in p.skill_ids], terms.category_share)


class _Space:
    """Hypotheses in the order of their ids, their vectors, and the numbers of their skills."""

    def __init__(self, hypotheses: Sequence[Hypothesis], vectors: Floats) -> None:
        self._vectors = vectors
        _, self._skills = np.unique([h.skill_id for h in hypotheses], return_inverse=True)
        self._rows: dict[int, list[int]] = {}
        for row, skill in enumerate(self._skills.tolist()):
            self._rows.setdefault(skill, []).append(row)

    def skill_sets(self, neighbours: int, max_skills: int) -> list[tuple[int, ...]]:
        """Each hypothesis' skill with one or more of the skills nearest to it, each set once."""
        found: set[tuple[int, ...]] = set()
        for row, near in nearest(self._vectors, self._skills, neighbours):
            own, others = int(self._skills[row]), self._skills[near].tolist()
            for size in range(1, max_skills):
                found.update(tuple(sorted((own, *chosen))) for chosen in combinations(others, size))
        return sorted(found)

    def best(self, skills: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        """The hypotheses, one of each skill, that are most alike, and how much: by the cosine of the one at the centre
        with the farthest of the others. Of equals the first."""
        rows = sorted(row for skill in skills for row in self._rows[skill])
        vectors = self._vectors[rows]
        alike = np.round(vectors @ vectors.T, DECIMALS).tolist()
        place = {row: number for number, row in enumerate(rows)}
        ways = product(*([place[row] for row in self._rows[skill]] for skill in skills))
        similarity, chosen = max((_closeness(alike, way), tuple(-n for n in sorted(way))) for way in ways)
        return round(similarity, DECIMALS), tuple(rows[-n] for n in chosen)


def _closeness(alike: Sequence[Sequence[float]], chosen: Sequence[int]) -> float:
    return max(min(alike[centre][other] for other in chosen if other != centre) for centre in chosen)
