"""What every Embedder must do."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from facet_dagster.adapters.cached_embedder import CachedEmbedder
from facet_dagster.adapters.endpoint_embedder import EndpointEmbedder
from facet_dagster.adapters.minilm_embedder import MiniLMEmbedder
from facet_dagster.ports import Embedder
from facet_dagster.testing.hash_embedder import HashEmbedder
from facet_dagster.testing.http_endpoint import HttpEndpoint, Reply, embeddings
from facet_dagster.testing.memory_ledger import MemoryLedger
from facet_dagster.testing.memory_store import MemoryStore

TEXTS = [
    "Compress old log files and delete the originals.",
    "",
    "Delete the original log files after compressing old ones.",
    "Translate a poem about the sea.",
    "日本語 🙂",
]


def served(request: dict[str, Any]) -> Reply:
    """Hashed words, twice as long as they should be."""
    assert all(request["input"]), "endpoints refuse empty texts"
    vectors = [HashEmbedder().vector(text) for text in request["input"]]
    return embeddings([[2.0 * float(x) for x in vector] for vector in vectors])


@pytest.fixture(params=["fake", "local", "endpoint", "cached"], scope="module")
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    with pytest.MonkeyPatch.context() as patch, HttpEndpoint([served]) as endpoint:
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("no_proxy", "127.0.0.1")
        made: dict[str, Embedder] = {
            "fake": HashEmbedder(),
            "local": MiniLMEmbedder(),
            "cached": CachedEmbedder(HashEmbedder(), MemoryStore(), "hash", lambda _: None),
            "endpoint": EndpointEmbedder(
                endpoint.url,
                "key",
                "m",
                MemoryLedger(),
                run_id="r",
                variables="FACET_EMBED",
                timeout_s=30,
                retries=0,
                batch=2,
                in_flight=2,
            ),
        }
        yield made[request.param]


async def test_one_unit_vector_per_text(embedder: Embedder) -> None:
    vectors = await embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape[0] == len(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


async def test_every_part_is_told_of_as_it_comes(embedder: Embedder) -> None:
    parts: dict[int, NDArray[np.float32]] = {}
    vectors = await embedder.embed(TEXTS, parts.__setitem__)
    np.testing.assert_array_equal(np.concatenate([parts[start] for start in sorted(parts)]), vectors)
    ends = [start + len(part) for start, part in sorted(parts.items())]
    assert sorted(parts) == [0, *ends[:-1]]


async def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    vectors = await embedder.embed([])
    assert vectors.dtype == np.float32 and vectors.ndim == 2 and len(vectors) == 0


async def test_the_order_is_that_of_the_texts(embedder: Embedder) -> None:
    forward, backward = await embedder.embed(TEXTS), await embedder.embed(TEXTS[::-1])
    np.testing.assert_allclose(forward, backward[::-1], atol=1e-5)


async def test_equal_texts_have_equal_vectors(embedder: Embedder) -> None:
    vectors = await embedder.embed([TEXTS[0], TEXTS[3], TEXTS[0]])
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-5)


async def test_like_is_nearer_than_unlike(embedder: Embedder) -> None:
    vectors = await embedder.embed(TEXTS)
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[3] + 0.2
