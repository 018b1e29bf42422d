"""Near copies of texts: overlapping runs of words, MinHash to find candidates, Jaccard similarity to decide.

Shared by those who remove copies (of skills, of trajectories); which copy is kept is decided there.
"""

import re
from collections.abc import Iterator

from datasketch import MinHash, MinHashLSH

SHINGLE = 5
"""Words per shingle."""
PERMUTATIONS = 128
_SLACK = 0.15
"""How far the threshold of the index lies below the one asked for: its recall there is then near one."""

_WORD = re.compile(r"\w+")


def normalised(text: str) -> str:
    """The words of a text, lower-case: layout and punctuation do not make a new one."""
    return " ".join(_WORD.findall(text.lower()))


class Sketch:
    """A text made ready for comparison."""

    def __init__(self, text: str) -> None:
        self.words = normalised(text)
        self.shingles = _shingles(self.words)
        self.hashes = MinHash(num_perm=PERMUTATIONS, seed=1)
        self.hashes.update_batch([shingle.encode() for shingle in sorted(self.shingles)])


class NearIndex:
    """Texts by name, and which of them are near a given one: Jaccard similarity of shingles >= `threshold`."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._index = MinHashLSH(threshold=max(0.05, threshold - _SLACK), num_perm=PERMUTATIONS)
        self._words: dict[str, str] = {}  # not their shingles: those of a large corpus do not fit into memory

    def near(self, sketch: Sketch) -> Iterator[tuple[float, str]]:
        """(similarity, name) of each kept text that is near, by name."""
        for name in sorted(self._index.query(sketch.hashes)):
            other = _shingles(self._words[name])
            similarity = len(sketch.shingles & other) / len(sketch.shingles | other)
            if similarity >= self._threshold:
                yield similarity, name

    def keep(self, name: str, sketch: Sketch) -> None:
        """Add a text under a name of its own."""
        self._words[name] = sketch.words
        self._index.insert(name, sketch.hashes)


def _shingles(words: str) -> frozenset[str]:
    parts = words.split()
    return frozenset(" ".join(parts[at : at + SHINGLE]) for at in range(max(1, len(parts) - SHINGLE + 1)))
