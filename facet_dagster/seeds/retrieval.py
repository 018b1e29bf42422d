"""Retrieval: hypotheses of different skills that sound alike become proposals for the judge (FACET 1.2, item 4).

Belongs here: similarity, de-duplication and order of proposals. Whether a proposal is any good stands in judge.py.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from facet_dagster.ports import Embedder
from facet_dagster.records.base import digest_of
from facet_dagster.records.seed import Hypothesis

ROWS_AT_ONCE = 1_024  # bounds memory: similarities are computed for this many hypotheses at a time
DECIMALS = 4  # similarities closer than this count as equal, so that float noise does not change the order


@dataclass(frozen=True)
class Proposal:
    """A hypothesis with its nearest of one or two other skills. `similarity` is the cosine of the weakest of them."""

    anchor: Hypothesis
    partners: tuple[Hypothesis, ...]
    similarity: float

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        return (self.anchor, *self.partners)

    @property
    def hypothesis_ids(self) -> tuple[str, ...]:
        return tuple(h.hypothesis_id for h in self.hypotheses)

    @property
    def skill_ids(self) -> tuple[str, ...]:
        return tuple(h.skill_id for h in self.hypotheses)

    @property
    def candidate_id(self) -> str:
        """12 hex digits over the hypothesis ids."""
        return digest_of("\n".join(self.hypothesis_ids))[:12]


def retrieve(
    hypotheses: Sequence[Hypothesis],
    embedder: Embedder,
    *,
    neighbours: int = 3,
    max_skills: int = 2,
    max_per_skill: int = 3,
) -> list[Proposal]:
    """Proposals of 2 to `max_skills` skills, most alike first, spread over the skills.

    One proposal per skill set. No skill is in more than `max_per_skill` proposals before all others had
    their turn. The order of `hypotheses` does not matter.
    """
    ordered = sorted(hypotheses, key=lambda h: h.hypothesis_id)
    if len({h.skill_id for h in ordered}) < 2:
        return []
    best: dict[frozenset[str], Proposal] = {}
    for proposal in _proposals(ordered, embedder.embed([h.text() for h in ordered]), neighbours, max_skills):
        skills = frozenset(proposal.skill_ids)
        if skills not in best or _rank(proposal) < _rank(best[skills]):
            best[skills] = proposal
    return _spread(sorted(best.values(), key=_rank), max_per_skill)


def _rank(proposal: Proposal) -> tuple[float, tuple[str, ...]]:
    return (-proposal.similarity, proposal.hypothesis_ids)


def _proposals(
    hypotheses: Sequence[Hypothesis], vectors: NDArray[np.float32], neighbours: int, max_skills: int
) -> Iterator[Proposal]:
    for anchor, near in _nearest(hypotheses, vectors, neighbours):
        for size in range(1, max_skills):
            for chosen in combinations(near, size):
                yield Proposal(anchor, tuple(h for h, _ in chosen), min(similarity for _, similarity in chosen))


def _nearest(
    hypotheses: Sequence[Hypothesis], vectors: NDArray[np.float32], neighbours: int
) -> Iterator[tuple[Hypothesis, list[tuple[Hypothesis, float]]]]:
    """For each hypothesis the nearest one of each of the `neighbours` nearest other skills, with its cosine."""
    _, skill = np.unique([h.skill_id for h in hypotheses], return_inverse=True)
    # So many of the nearest are sure to hold `neighbours` skills, however many hypotheses a skill has.
    enough = min(len(hypotheses), neighbours * int(np.bincount(skill).max()))
    for start in range(0, len(hypotheses), ROWS_AT_ONCE):
        block = np.round(vectors[start : start + ROWS_AT_ONCE] @ vectors.T, DECIMALS)
        for anchor, similarities in enumerate(block, start=start):
            similarities[skill == skill[anchor]] = -np.inf
            threshold = np.partition(similarities, -enough)[-enough]
            found = np.flatnonzero((similarities >= threshold) & np.isfinite(similarities))
            first_of_skill: dict[int, int] = {}
            for i in found[np.lexsort((found, -similarities[found]))].tolist():
                first_of_skill.setdefault(int(skill[i]), i)
            near = list(first_of_skill.values())[:neighbours]
            yield hypotheses[anchor], [(hypotheses[i], round(float(similarities[i]), DECIMALS)) for i in near]


def _spread(proposals: Sequence[Proposal], max_per_skill: int) -> list[Proposal]:
    """In laps: each lap allows every skill `max_per_skill` more proposals; what must wait keeps its order."""
    ordered: list[Proposal] = []
    used: Counter[str] = Counter()
    waiting, allowed = list(proposals), max_per_skill
    while waiting:
        later = []
        for proposal in waiting:
            if any(used[skill] >= allowed for skill in proposal.skill_ids):
                later.append(proposal)
            else:
                ordered.append(proposal)
                used.update(proposal.skill_ids)
        waiting, allowed = later, allowed + max_per_skill
    return ordered
