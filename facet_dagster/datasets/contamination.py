"""Words that a trial shares with benchmark tasks: runs of 13 words, with the run and both places as evidence.

Words are compared decoded: a reply in JSON says `one\\ntwo` where a benchmark has two lines. So on both sides `\\n` and
its like, however often escaped, end a word, and `\\u00e9` is the letter it stands for.

Belongs here: finding an overlap. What counts as a benchmark's text stands in benchmarks.py; what becomes of a trial
that has one is decided by selection.py.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from facet_dagster.datasets.benchmarks import BenchmarkText
from facet_dagster.records.base import digest_of

GRAM = 13
"""Words in a run, as in the decontamination of GPT-3 and of the sets that followed it."""
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that products stay well spread modulo 2**64
_WORD = re.compile(r"\w+")
_BLANK = re.compile(r"\\+[nrtbf]")
_LETTERS = re.compile(r"(?:\\+u[0-9a-fA-F]{4})+")

Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Overlap:
    """The first run of a trial that a benchmark has too. `grams` different runs match in all; lines from 1."""

    words: str
    part: int  # which of the texts given, from 0
    word: int  # where the run starts in it, in words, from 0
    task: str
    file: str
    line: int
    grams: int


class Contamination:
    """An index of benchmark texts. Runs that stand in more than `common` tasks are boilerplate and do not count."""

    def __init__(self, texts: Sequence[BenchmarkText], *, common: int) -> None:
        self._texts = texts
        self._codes = _Codes()
        self.tasks = len({text.task for text in texts})
        hashes, owners = self._hashed()
        order = np.argsort(hashes, kind="stable")
        self._sorted, self._owner = hashes[order], owners[order]
        self.boilerplate = self._drop_common(common)

    def overlap(self, texts: Sequence[str]) -> Overlap | None:
        """The first shared run in texts that are read one by one, in their order; None where there is none.

        The words of the first are compared; the others are counted by their hashes of 64 bits.
        """
        found: Overlap | None = None
        shared: set[int] = set()
        for part, text in enumerate(texts):
            words = words_of(text)
            hashes = self._grams(words)
            known = np.flatnonzero(self._known(hashes))
            shared.update(hashes[known].tolist())
            for at in known if found is None else ():
                place = self._place(words[at : at + GRAM], hashes[at])
                if place is not None:
                    owner, line = place
                    run = " ".join(words[at : at + GRAM])
                    found = Overlap(run, part, int(at), owner.task, owner.file, line, 0)
                    break
        return None if found is None else replace(found, grams=len(shared))

    def _hashed(self) -> tuple[Hashes, NDArray[np.int64]]:
        """Hashes of all runs, each once per text, and the text that each is from."""
        each = [np.unique(self._grams(words_of(text.text))) for text in self._texts]
        owners = [np.full(len(hashes), number, dtype=np.int64) for number, hashes in enumerate(each)]
        nothing = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
        return (np.concatenate(each), np.concatenate(owners)) if each else nothing

    def _drop_common(self, common: int) -> int:
        """Take runs of more than `common` tasks out of the index; how many they are."""
        names = {task: number for number, task in enumerate(sorted({text.task for text in self._texts}))}
        task_of = np.array([names[text.task] for text in self._texts], dtype=np.int64)
        if not len(self._sorted):
            return 0
        pairs = np.unique(np.stack([self._sorted, task_of[self._owner].astype(np.uint64)]), axis=1)
        values, counts = np.unique(pairs[0], return_counts=True)
        dropped = values[counts > common]
        kept = ~np.isin(self._sorted, dropped)
        self._sorted, self._owner = self._sorted[kept], self._owner[kept]
        return len(dropped)

    def _known(self, hashes: Hashes) -> NDArray[np.bool_]:
        if not len(self._sorted):
            return np.zeros(len(hashes), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self._sorted, hashes), len(self._sorted) - 1)
        return np.asarray(self._sorted[at] == hashes, dtype=np.bool_)

    def _place(self, run: Sequence[str], value: np.uint64) -> tuple[BenchmarkText, int] | None:
        """The first benchmark text that has these very words, and the line in which they start."""
        left, right = (int(np.searchsorted(self._sorted, value, side=side)) for side in ("left", "right"))
        for number in self._owner[left:right]:
            text = self._texts[number]
            lines = [words_of(line) for line in text.text.split("\n")]
            words = [word for line in lines for word in line]
            for at in range(len(words) - GRAM + 1):
                if words[at] == run[0] and words[at : at + GRAM] == list(run):
                    return text, bisect_right(list(accumulate(map(len, lines))), at) + 1
        return None

    def _grams(self, words: Sequence[str]) -> Hashes:
        """A hash for each run of GRAM words, in their order; arithmetic is modulo 2**64."""
        number = len(words) - GRAM + 1
        if number < 1:
            return np.empty(0, dtype=np.uint64)
        codes = np.fromiter(map(self._codes.__getitem__, words), dtype=np.uint64, count=len(words))
        value = np.zeros(number, dtype=np.uint64)
        for offset in range(GRAM):
            value = value * _BASE + codes[offset : offset + number]
        return value


class _Codes(dict[str, int]):
    """A number of 64 bits for each word, made when it is first asked for."""

    def __missing__(self, word: str) -> int:
        self[word] = int(digest_of(word)[:16], 16)
        return self[word]


def words_of(text: str) -> list[str]:
    """The words of a text, lower-case and decoded; letters that Unicode writes in several ways in one of them."""
    if "\\" in text:
        text = _LETTERS.sub(_decoded, _BLANK.sub(" ", text))
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return [word.lower() for word in _WORD.findall(text)]


def _decoded(escapes: re.Match[str]) -> str:
    units = b"".join(int(code, 16).to_bytes(2, "big") for code in re.findall(r"[0-9a-fA-F]{4}", escapes.group()))
    return units.decode("utf-16-be", errors="replace")
