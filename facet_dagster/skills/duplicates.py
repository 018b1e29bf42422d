"""Finds copies: exact ones by normalised body, near ones by MinHash with an exact check of the Jaccard similarity.

Which copy survives depends on the skills alone, never on the order in which they came: the best by rank first, and
every other one close enough to a survivor is its duplicate. Does not belong here: reading, and what is stored.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate

from rensa import RMinHash, RMinHashLSH

from facet_dagster.records.base import digest_of
from facet_dagster.records.skill import SkillFault
from facet_dagster.skills.refusal import Refusal

NEAR = 0.8
"""Jaccard similarity of 5-word shingles from which two bodies are near duplicates (MinHash, as in the FACET paper)."""
SHINGLE = 5
SLOTS, BANDS, SEED = 120, 24, 1
"""Slots of a sketch, and bands of the index: of pairs at NEAR it misses one in ten thousand."""
_DOUBT = 0.13
"""How far an estimate may fall below NEAR and still be checked: 3.5 standard deviations of 120 slots."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Features:
    """Of a body: the digest of its words in order, and the sketch of its shingles (the library's serialised form)."""

    words: str
    sketch: bytes


@dataclass(frozen=True, slots=True)
class Copy:
    """One valid skill among those that may be duplicates. The smaller rank survives; ranks are unique."""

    rank: tuple[object, ...]
    skill_id: str
    place: str  # readable
    features: Features


@dataclass(frozen=True, slots=True)
class Verdict:
    """The cluster is named by the id of its survivor; a survivor has no refusal."""

    cluster: str
    refusal: Refusal | None = None


def words_of(body: str) -> list[str]:
    """The words of a body, lower-case: layout and punctuation do not make a new skill."""
    return _WORD.findall(body.lower())


def features_of(body: str) -> Features:
    """What is needed to find the copies of a body without the body."""
    words = words_of(body)
    sketch = RMinHash(SLOTS, SEED)
    sketch.update(_shingles(words))
    return Features(digest_of(" ".join(words))[:32], bytes(sketch.__getstate__()))


def similarity(one: str, other: str) -> float:
    """Jaccard similarity of the shingles of two bodies, exactly."""
    a, b = set(_shingles(words_of(one))), set(_shingles(words_of(other)))
    return len(a & b) / len(a | b)


def _shingles(words: list[str]) -> list[str]:
    if len(words) <= SHINGLE:
        return [" ".join(words)]
    text = " ".join(words)
    ends = list(accumulate((len(word) + 1 for word in words), initial=-1))  # positions of the spaces around words
    return [text[start + 1 : end] for start, end in zip(ends, ends[SHINGLE:], strict=False)]


def find_duplicates(
    copies: Iterable[Copy], known: Mapping[tuple[str, str], float], measure: Callable[[str, str], float]
) -> tuple[dict[tuple[object, ...], Verdict], dict[tuple[str, str], float]]:
    """The verdict on each copy by its rank, and similarities that had to be measured.

    `known` holds similarities of pairs of word digests, `measure` finds those that are missing.
    """
    index = RMinHashLSH(NEAR, SLOTS, BANDS)
    first: dict[str, Copy] = {}  # by words: the best of equal bodies
    verdicts: dict[tuple[object, ...], Verdict] = {}
    kept: list[tuple[Copy, RMinHash]] = []
    measured: dict[tuple[str, str], float] = {}
    for copy in sorted(copies, key=lambda each: each.rank):
        twin = first.setdefault(copy.features.words, copy)
        if twin is not copy:
            refusal = Refusal(SkillFault.DUPLICATE, f"same body as {twin.place}")
            verdicts[copy.rank] = Verdict(verdicts[twin.rank].cluster, refusal)
            continue
        sketch = RMinHash(SLOTS, SEED)
        sketch.__setstate__(copy.features.sketch)
        best: tuple[float, Copy] | None = None
        for candidate, other in (kept[number] for number in sorted(index.query(sketch))):
            if sketch.jaccard(other) < NEAR - _DOUBT:
                continue
            low, high = sorted((copy.features.words, candidate.features.words))
            value = known.get((low, high), measured.get((low, high)))
            if value is None:
                value = measured[low, high] = measure(low, high)
            if value >= NEAR and (best is None or value > best[0]):
                best = value, candidate
        if best:
            evidence = f"Jaccard similarity {best[0]:.2f} with {best[1].place}"
            verdicts[copy.rank] = Verdict(best[1].skill_id, Refusal(SkillFault.NEAR_DUPLICATE, evidence))
            continue
        index.insert(len(kept), sketch)
        kept.append((copy, sketch))
        verdicts[copy.rank] = Verdict(copy.skill_id)
    return verdicts, measured
