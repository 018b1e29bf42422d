"""Near copies of trajectories: overlapping runs of words, MinHash to find candidates, Jaccard similarity to decide.

Which copy is kept is decided in selection.py.
"""

import re
from collections.abc import Iterator

from rensa import RMinHash, RMinHashLSH

SHINGLE = 5
"""Words per shingle."""
SLOTS, BANDS, SEED = 120, 60, 1
"""Slots of a sketch, and bands of the index: of pairs with a similarity of 0.5 it misses one in ten million."""

_WORD = re.compile(r"\w+")


def normalised(text: str) -> str:
    """The words of a text, lower-case: layout and punctuation do not make a new one."""
    return " ".join(_WORD.findall(text.lower()))


class Sketch:
    """A text made ready for comparison."""

    def __init__(self, text: str) -> None:
        self.words = normalised(text)
        self.shingles = _shingles(self.words)
        self.hashes = RMinHash(SLOTS, SEED)
        self.hashes.update(sorted(self.shingles))


class NearIndex:
    """Texts by name, and which of them are near a given one: Jaccard similarity of shingles >= `threshold`."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._index = RMinHashLSH(threshold, SLOTS, BANDS)
        self._names: list[str] = []
        self._words: dict[str, str] = {}  # not their shingles: those of a large set do not fit into memory

    def near(self, sketch: Sketch) -> Iterator[tuple[float, str]]:
        """(similarity, name) of each kept text that is near, by name."""
        for name in sorted(self._names[number] for number in self._index.query(sketch.hashes)):
            other = _shingles(self._words[name])
            similarity = len(sketch.shingles & other) / len(sketch.shingles | other)
            if similarity >= self._threshold:
                yield similarity, name

    def keep(self, name: str, sketch: Sketch) -> None:
        """Add a text under a name of its own."""
        self._words[name] = sketch.words
        self._index.insert(len(self._names), sketch.hashes)
        self._names.append(name)


def _shingles(words: str) -> frozenset[str]:
    parts = words.split()
    return frozenset(" ".join(parts[at : at + SHINGLE]) for at in range(max(1, len(parts) - SHINGLE + 1)))
