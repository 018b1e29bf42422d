"""The decorator around every embedder: keeps vectors in the store and embeds no text twice by the same model."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from facet_dagster.errors import InfrastructureError, SettingsError
from facet_dagster.ports import Came, Embedder, Store
from facet_dagster.records.base import digest_of
from facet_dagster.records.vectors import VectorBatch

BULK = 1_024  # texts whose vectors are kept together: what a process that is killed may lose, trouble loses none

_STORED = np.dtype("<f4")

Floats = NDArray[np.float32]


class CachedEmbedder:
    """Embedder that asks `inner` only for what the store does not hold of `model`; `progress` is told of each bulk.

    Raises SettingsError where the model's vectors have got another length than those in the store, and what the
    inner embedder and the store raise; what had come in before stays.
    """

    def __init__(self, inner: Embedder, store: Store, model: str, progress: Callable[[str], None]) -> None:
        self._inner = inner
        self._store = store
        self._model = model
        self._progress = progress

    async def embed(self, texts: Sequence[str], came: Came | None = None) -> Floats:
        """Unit vectors, one row per text, in the order of the texts; all at once."""
        if not texts:
            return await self._inner.embed(texts)
        digests = [digest_of(text) for text in texts]
        known = self._stored(set(digests))
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known}
        new = list(missing)
        for start in range(0, len(new), BULK):
            bulk = new[start : start + BULK]
            parts: dict[int, Floats] = {}
            try:
                await self._inner.embed([missing[digest] for digest in bulk], parts.__setitem__)
            finally:  # whatever has ended it: what came before was paid for
                self._keep(bulk, parts, known)
            self._progress(f"{start + len(bulk)} of {len(new)} texts embedded")
        vectors = np.stack([known[digest] for digest in digests])
        if came:
            came(0, vectors)
        return vectors

    def _stored(self, wanted: set[str]) -> dict[str, Floats]:
        """Vector by digest of the text."""
        found: dict[str, Floats] = {}
        for batch in self._store.rows(VectorBatch, self._model):
            if wanted.isdisjoint(batch.texts):
                continue
            numbers = np.frombuffer(self._store.get_blob(batch.blob), dtype=_STORED)
            if numbers.size != len(batch.texts) * batch.dimensions:
                raise InfrastructureError(f"the vectors {batch.blob} in the store are not those of their texts")
            rows = numbers.reshape(-1, batch.dimensions)
            found.update((digest, row) for digest, row in zip(batch.texts, rows, strict=True) if digest in wanted)
        return found

    def _keep(self, bulk: Sequence[str], parts: dict[int, Floats], known: dict[str, Floats]) -> None:
        """Keep the parts of a bulk that came, as one blob, and know them."""
        lengths = {part.shape[1] for part in parts.values()}
        before = next((len(vector) for vector in known.values()), None)
        if before is not None and lengths - {before}:
            raise SettingsError(
                f"the vectors of {self._model} in the store have {before} numbers, new ones {max(lengths - {before})}: "
                "give the model its own name in FACET_MODEL_EMBEDDER, or use another store"
            )
        if len(lengths) != 1:  # none came, or the embedder is about to say that they do not fit together
            return
        digests = [digest for start, part in sorted(parts.items()) for digest in bulk[start : start + len(part)]]
        vectors = np.concatenate([parts[start] for start in sorted(parts)])
        known.update(zip(digests, vectors, strict=True))
        blob = self._store.put_blob(vectors.astype(_STORED).tobytes())
        self._store.put(VectorBatch(model=self._model, dimensions=lengths.pop(), texts=tuple(digests), blob=blob))
