"""An embedder that hashes words: texts that share words are near, and nothing has to be loaded. For tests."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from facet_dagster.ports import Came
from facet_dagster.records.base import digest_of


class HashEmbedder:
    """Bag of hashed words; a constant component keeps the vector of an empty text from having no length."""

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = dimensions

    async def embed(self, texts: Sequence[str], came: Came | None = None) -> NDArray[np.float32]:
        """Unit vectors, one row per text; all at once."""
        vectors = np.array([self.vector(text) for text in texts], dtype=np.float32).reshape(-1, self._dimensions)
        if came and len(texts):
            came(0, vectors)
        return vectors

    def vector(self, text: str) -> NDArray[np.float32]:
        """The unit vector of one text."""
        vector = np.zeros(self._dimensions, dtype=np.float32)
        vector[0] = 0.1
        for word in re.findall(r"\w+", text.lower()):
            vector[1 + int(digest_of(word)[:8], 16) % (self._dimensions - 1)] += 1.0
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)
