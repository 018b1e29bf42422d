"""Makes a tiny random model of the student's architecture, with a byte-level tokenizer, into a folder.

Usage: student.py FOLDER. Runs where transformers are installed.
"""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen3_5TextConfig

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def tokenizer() -> PreTrainedTokenizerFast:
    """One token per byte, and ChatML's marks: enough to be exact about what is trained on."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(SPECIAL)
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>", pad_token="<|endoftext|>")


def main(folder: str) -> None:
    torch.manual_seed(1)
    made = tokenizer()
    config = Qwen3_5TextConfig(
        vocab_size=len(made),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=4,  # three with linear attention, one with full attention
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        eos_token_id=made.eos_token_id,
        pad_token_id=made.pad_token_id,
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    made.save_pretrained(folder)


if __name__ == "__main__":
    main(sys.argv[1])
