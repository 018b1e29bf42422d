"""Near copies of trajectories: overlapping runs of words, MinHash to find candidates, Jaccard similarity to decide.

Which copy is kept is decided in selection.py.
"""

import math
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash, RMinHashLSH

SHINGLE = 5
"""Words per shingle."""
MISSED = 1e-4
"""Of pairs exactly as similar as the threshold, the share that the index may miss; of more similar ones it is less."""
MOST_SLOTS = 1_024
SEED = 1
_LONGEST = 32  # slots in a band, where a pair must be equal anyway
_DOUBT = 4.0  # standard deviations that the estimate of a pair may be too low

_WORD = re.compile(r"\w+")


def bands_of(threshold: float) -> tuple[int, int]:
    """(bands, slots per band) of an index for pairs at a threshold.

    As many slots per band as go with few misses: the more, the fewer pairs below the threshold are candidates. A pair
    of similarity s is one with a probability of 1 - (1 - s**slots)**bands.
    """
    found = (1, 1)
    for slots in range(1, _LONGEST + 1):
        share = threshold**slots
        bands = 1 if share == 1 else math.ceil(math.log(MISSED) / math.log1p(-share))
        if slots * bands > MOST_SLOTS:
            # Below 0.01 even single slots are too many: what the index then misses is no copy of anything.
            return (MOST_SLOTS, 1) if slots == 1 else found
        found = bands, slots
    return found


class NearIndex:
    """Texts by name, and which of them are near a given one: Jaccard similarity of shingles >= `threshold`."""

    def __init__(self, threshold: float) -> None:
        bands, rows = bands_of(threshold)
        self._slots = bands * rows
        self._threshold = threshold
        self._doubtful = threshold - _DOUBT * math.sqrt(threshold * (1 - threshold) / self._slots)
        self._index = RMinHashLSH(threshold, self._slots, bands)
        self._digests = np.empty((0, self._slots), dtype=np.uint32)
        self._shingles: list[NDArray[np.uint64]] = []
        self._names: list[str] = []

    def sketch(self, text: str) -> "Sketch":
        """A text made ready for this index."""
        return Sketch(text, self._slots)

    def near(self, sketch: "Sketch") -> Iterator[tuple[float, str]]:
        """(similarity, name) of each kept text that is near, in the order in which they were kept."""
        candidates = np.sort(np.array(self._index.query(sketch.hashes), dtype=np.int64))
        estimates = (self._digests[candidates] == sketch.digest).mean(axis=1)
        for number in candidates[estimates >= self._doubtful].tolist():
            similarity = _jaccard(sketch.shingles, self._shingles[number])
            if similarity >= self._threshold:
                yield similarity, self._names[number]

    def keep(self, name: str, sketch: "Sketch") -> None:
        """Add a text under a name of its own."""
        number = len(self._names)
        if number == len(self._digests):
            self._digests.resize((max(64, 2 * number), self._slots), refcheck=False)
        self._digests[number] = sketch.digest
        self._index.insert(number, sketch.hashes)
        self._shingles.append(sketch.shingles)
        self._names.append(name)


class Sketch:
    """What is compared of a text: its shingles as hashes of 64 bits, sorted, each once, and their MinHash."""

    def __init__(self, text: str, slots: int) -> None:
        tokens = _shingles(text)
        self.shingles: NDArray[np.uint64] = np.unique(np.array(RMinHash.hash_token_sets([tokens])[0], dtype=np.uint64))
        self.hashes = RMinHash(slots, SEED)
        self.hashes.update(tokens)
        self.digest: NDArray[np.uint32] = np.array(self.hashes.digest(), dtype=np.uint32)


def _shingles(text: str) -> list[str]:
    """Runs of words, lower-case: layout and punctuation do not make a new text."""
    words = _WORD.findall(text.lower())
    return [" ".join(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1))]


def _jaccard(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / (len(one) + len(other) - both)
