"""Vectors are kept by text and model: a second run embeds only what is new, one file for many."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from facet_dagster.adapters import cached_embedder
from facet_dagster.adapters.cached_embedder import CachedEmbedder
from facet_dagster.adapters.parquet_store import ParquetStore
from facet_dagster.errors import ModelUnavailable, SettingsError
from facet_dagster.ports import Came, Store
from facet_dagster.records.vectors import VectorBatch
from facet_dagster.testing.hash_embedder import HashEmbedder
from facet_dagster.testing.memory_store import MemoryStore


class Counting:
    """Hashes words, notes what it is asked, and fails at a given call."""

    def __init__(self, dimensions: int = 16, fails_at: int | None = None, came_before: int = 0) -> None:
        self.asked: list[list[str]] = []
        self._came_before = came_before
        self._inner = HashEmbedder(dimensions)
        self._fails_at = fails_at

    async def embed(self, texts: Sequence[str], came: Came | None = None) -> NDArray[np.float32]:
        self.asked.append(list(texts))
        if len(self.asked) == self._fails_at:
            for number in list(range(len(texts)))[::-1][: self._came_before]:
                assert came
                came(number, await self._inner.embed([texts[number]]))
            raise ModelUnavailable("gone")
        return await self._inner.embed(texts, came)


def over(inner: Counting, store: Store, model: str = "m") -> CachedEmbedder:
    return CachedEmbedder(inner, store, model, lambda _: None)


async def test_only_what_is_new_is_embedded_and_the_vectors_are_the_same(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    texts = ["a b", "c d", "a b", ""]
    vectors = await over(first, ParquetStore(str(tmp_path))).embed(texts)
    again = await over(second, ParquetStore(str(tmp_path))).embed(["e f", *texts])
    assert first.asked == [["a b", "c d", ""]] and second.asked == [["e f"]]
    np.testing.assert_array_equal(again[1:], vectors)
    np.testing.assert_array_equal(vectors, await HashEmbedder(16).embed(texts))


async def test_many_texts_are_few_files(tmp_path: Path) -> None:
    store = ParquetStore(str(tmp_path))
    await over(Counting(), store).embed([f"text {n}" for n in range(500)])
    assert sum(path.is_file() for path in tmp_path.rglob("*")) == 3  # the mark of the store, one row, one blob
    assert len(store.rows(VectorBatch)) == 1


async def test_another_model_has_its_own_vectors() -> None:
    store, other = MemoryStore(), Counting(8)
    await over(Counting(), store).embed(["a"])
    assert (await over(other, store, "n").embed(["a"])).shape == (1, 8)
    assert other.asked == [["a"]]


async def test_what_was_finished_before_trouble_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_embedder, "BULK", 2)
    store, again = MemoryStore(), Counting()
    with pytest.raises(ModelUnavailable):
        await over(Counting(fails_at=3), store).embed(["a", "b", "c", "d", "e"])
    await over(again, store).embed(["a", "b", "c", "d", "e"])
    assert again.asked == [["e"]]


async def test_what_came_of_a_bulk_before_trouble_stays() -> None:
    store, again = MemoryStore(), Counting()
    with pytest.raises(ModelUnavailable):
        await over(Counting(fails_at=1, came_before=2), store).embed(["a", "b", "c", "d"])
    vectors = await over(again, store).embed(["a", "b", "c", "d"])
    assert again.asked == [["a", "b"]]
    np.testing.assert_array_equal(vectors, await HashEmbedder(16).embed(["a", "b", "c", "d"]))
    assert len(store.rows(VectorBatch)) == 2


async def test_a_model_that_changes_its_dimensions_is_a_clear_error() -> None:
    store = MemoryStore()
    await over(Counting(16), store).embed(["a"])
    with pytest.raises(SettingsError, match="have 16 numbers, new ones 8"):
        await over(Counting(8), store).embed(["a", "b"])


async def test_progress_counts_what_is_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_embedder, "BULK", 2)
    said: list[str] = []
    await CachedEmbedder(Counting(), MemoryStore(), "m", said.append).embed(["a", "b", "c"])
    assert said == ["2 of 3 texts embedded", "3 of 3 texts embedded"]
