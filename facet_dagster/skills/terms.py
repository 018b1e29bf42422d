"""Words of a text and pairs of words side by side, counted: what the tables of signs are read with.

Made for speed: one pass, and only words of the table are counted. Does not belong here: what a sign means.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

_TO_WORDS = bytes(
    ord(chr(code).lower()) if code < 128 and (chr(code).isalnum() or code == 43) else 32 for code in range(256)
)
"""Lower-case letters, digits and + stay; all else parts words."""


class Terms:
    """The terms that a table knows: one word, or two side by side, each with and without the s of a plural."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._known: dict[str, str] = {}
        self._first: set[str] = set()
        for term in terms:
            words = words_of(term)
            known = " ".join(words)
            self._known.update({known: known, f"{known}s": known})
            if len(words) > 1:
                self._first.add(words[0])

    def count(self, text: str) -> Counter[str]:
        """How often each known term stands in a text (any case); terms that do not are left out."""
        words, known, first = words_of(text), self._known, self._first
        found = Counter([known[word] for word in words if word in known])
        pairs = [f"{word} {after}" for word, after in pairwise(words) if word in first]
        found.update([known[pair] for pair in pairs if pair in known])
        return found


def words_of(text: str) -> list[str]:
    """Lower-case ASCII words of letters, digits and +."""
    return text.encode("ascii", "replace").translate(_TO_WORDS).decode("ascii").split()
