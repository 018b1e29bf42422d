"""An embedder that hashes words: texts that share words are near, and nothing has to be loaded. For tests."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from facet_dagster.records.base import digest_of


class HashEmbedder:
    """Bag of hashed words; a constant component keeps the vector of an empty text from having no length."""

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, one row per text."""
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row, 0] = 0.1
            for word in re.findall(r"\w+", text.lower()):
                vectors[row, 1 + int(digest_of(word)[:8], 16) % (self._dimensions - 1)] += 1.0
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors
