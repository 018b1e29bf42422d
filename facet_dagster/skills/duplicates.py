"""Finds copies: exact ones by normalised body, near ones by MinHash with an exact check of the Jaccard similarity.

Which copy survives depends on the skills alone, never on the order in which they came: the best by rank first, and
every other one close enough to a survivor is its duplicate. Does not belong here: reading, and what is stored.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
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
_TO_SPACES = bytes(code if code > 127 or chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(256))


@dataclass(frozen=True, slots=True)
class Features:
    """Of a body: the digest of its words in order, the sketch of its shingles (the library's serialised form), and the
    hashes of the shingles (64 bits each, sorted; empty where only the sketch was kept).
    """

    words: str
    sketch: bytes
    shingles: bytes = b""


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


@cache
def features_version() -> str:
    """Names how words and features are made: those of another version are of no use."""
    return digest_of("\0".join((Path(__file__).read_text(encoding="utf-8"), version("rensa"))))[:16]


def words_of(body: str) -> list[bytes]:
    """The words of a body, lower-case, as UTF-8: layout and punctuation do not make a new skill."""
    words = body.lower().encode("utf-8", errors="surrogatepass").translate(_TO_SPACES).split()
    if not body.isascii():
        for at in [at for at, word in enumerate(words) if not word.isascii()][::-1]:
            words[at : at + 1] = _parts(words[at])
    return words


def _parts(word: bytes) -> list[bytes]:
    """Words in other letters, and those around characters that only Unicode calls punctuation."""
    text = word.decode("utf-8", errors="surrogatepass")
    return [part.encode("utf-8", errors="surrogatepass") for part in _WORD.findall(text)]


def features_of(body: str) -> Features:
    """What is needed to find the copies of a body without the body."""
    words = words_of(body)
    shingles = _shingles(words)
    sketch = RMinHash(SLOTS, SEED)
    sketch.update(shingles)
    hashes = np.sort(np.array(RMinHash.hash_token_sets([shingles])[0], np.uint64))
    once = hashes[np.append(True, hashes[1:] != hashes[:-1])]
    return Features(digest_of(b" ".join(words))[:32], bytes(sketch.__getstate__()), once.tobytes())


def similarity(one: bytes, other: bytes) -> float:
    """Jaccard similarity of two bodies by the hashes of their shingles."""
    a, b = np.frombuffer(one, np.uint64), np.frombuffer(other, np.uint64)
    both = len(np.intersect1d(a, b, assume_unique=True))
    return both / (len(a) + len(b) - both)


def _shingles(words: list[bytes]) -> list[bytes]:
    text = b" ".join(words)
    if len(words) <= SHINGLE:
        return [text]
    spaces = np.flatnonzero(np.frombuffer(text, np.uint8) == ord(" "))
    starts, ends = [0, *(spaces + 1).tolist()], [*spaces.tolist(), len(text)]
    return [text[start:end] for start, end in zip(starts, ends[SHINGLE - 1 :], strict=False)]


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
