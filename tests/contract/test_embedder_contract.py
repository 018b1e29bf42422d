"""What every Embedder must do."""

import numpy as np
import pytest

from facet_dagster.adapters.minilm_embedder import MiniLMEmbedder
from facet_dagster.ports import Embedder
from facet_dagster.testing.hash_embedder import HashEmbedder

TEXTS = [
    "Compress old log files and delete the originals.",
    "",
    "Delete the original log files after compressing old ones.",
    "Translate a poem about the sea.",
    "日本語 🙂",
]


@pytest.fixture(params=[HashEmbedder, MiniLMEmbedder], scope="module")
def embedder(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.param()
    return made


def test_one_unit_vector_per_text(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape[0] == len(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.embed(["a"]).shape[1])


def test_the_order_is_that_of_the_texts(embedder: Embedder) -> None:
    forward, backward = embedder.embed(TEXTS), embedder.embed(TEXTS[::-1])
    np.testing.assert_allclose(forward, backward[::-1], atol=1e-5)


def test_like_is_nearer_than_unlike(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[3] + 0.2
