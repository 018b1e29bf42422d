"""How long a dialogue is for the student: with its tokenizer, or estimated from characters and said so."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokenizers import Tokenizer

from facet_dagster.errors import SettingsError
from facet_dagster.records.base import digest_of

FRAME_TOKENS = 5
"""What ChatML puts around a message: start, role, line break; end, line break."""
CHARACTERS_PER_TOKEN = 4

Message = Mapping[str, str]


class TokenCounter:
    """Counts tokens. `name` says by what. Raises SettingsError for a tokenizer that cannot be read."""

    def __init__(self, tokenizer: Path | None) -> None:
        self._tokenizer: Tokenizer | None = None
        self.name = f"characters / {CHARACTERS_PER_TOKEN}, an estimate: no tokenizer was given"
        if tokenizer is not None:
            file = tokenizer / "tokenizer.json" if tokenizer.is_dir() else tokenizer
            self._tokenizer = _read(file)
            self.name = (
                f"{file.parent.name}/{file.name}, {self._tokenizer.get_vocab_size()} tokens in its vocabulary, "
                f"SHA-256 {digest_of(file.read_bytes())[:12]}"
            )

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a dialogue, ChatML's frame around each message included."""
        texts = [message["content"] for message in messages]
        if self._tokenizer is None:
            inside = sum(-(-len(text) // CHARACTERS_PER_TOKEN) for text in texts)
        else:
            encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
            inside = sum(len(encoding.ids) for encoding in encoded)
        return inside + FRAME_TOKENS * len(texts)


def _read(file: Path) -> Tokenizer:
    try:
        text = file.read_text(encoding="utf-8")
        parts = json.loads(text)
    except (OSError, ValueError) as error:
        raise SettingsError(f"the tokenizer {file} cannot be read: {error}") from error
    if not isinstance(parts, dict) or "model" not in parts:
        raise SettingsError(f"{file} is no tokenizer.json of the tokenizers library: it has no model")
    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_truncation()  # a file may carry the length limit of its model
    tokenizer.no_padding()
    return tokenizer
