"""Full-parameter SFT on this set with TRL, at the settings of the FACET paper; the loss follows `loss_mask`.

From the folder of the set, with eight GPUs (8 x 1 row x 8 steps make the effective batch of 64):
    accelerate launch --num_processes 8 --use_deepspeed --deepspeed_config_file training/ds_z3.json \
        training/trl_sft.py --model Qwen/Qwen3.5-9B --output runs/qwen3.5-9b
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datasets import Dataset, load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

HERE = Path(__file__).resolve().parent


def rows(file: Path) -> Dataset:
    """The dialogues of a Parquet file of the set, each message with `train`: is the loss taken on it."""

    def marked(row: Mapping[str, Any]) -> dict[str, Any]:
        pairs = zip(row["messages"], row["loss_mask"], strict=True)
        return {"messages": [{**message, "train": train} for message, train in pairs]}

    read = load_dataset("parquet", data_files=str(file), split="train")
    return read.map(marked, remove_columns=[name for name in read.column_names if name != "messages"])


def trainer_of(options: argparse.Namespace) -> SFTTrainer:
    """The trainer, ready to start."""
    validation = options.data / "validation.parquet"
    settings = SFTConfig(
        output_dir=str(options.output),
        num_train_epochs=3,
        max_steps=options.max_steps,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=options.accumulate,
        per_device_eval_batch_size=1,
        learning_rate=1e-5,
        lr_scheduler_type="cosine",
        warmup_steps=0.1,  # a share of all steps, in transformers 5
        max_length=options.cutoff,
        packing=False,
        bf16=options.bf16,
        gradient_checkpointing=True,
        assistant_only_loss=True,
        chat_template_path=str(HERE / "chat_template.jinja"),
        eval_strategy="epoch" if validation.exists() else "no",
        save_strategy="epoch",
        save_only_model=True,
        logging_steps=1,
        report_to="none",
        seed=42,
    )
    # The tokenizer, not a processor of images: the rows are text.
    return SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(options.model, dtype="bfloat16" if options.bf16 else "float32"),
        args=settings,
        processing_class=AutoTokenizer.from_pretrained(options.model),
        train_dataset=rows(options.data / "train.parquet"),
        eval_dataset=rows(validation) if validation.exists() else None,
    )


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="name or folder of the student")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=HERE.parent, help="folder of the set")
    parser.add_argument("--cutoff", type=int, default=32_768, help="tokens per row; the rest is cut off")
    parser.add_argument("--accumulate", type=int, default=8, help="rows per step and GPU")
    parser.add_argument("--max-steps", type=int, default=-1)
    parser.add_argument("--bf16", action=argparse.BooleanOptionalAction, default=True)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    options = options_of()
    trainer = trainer_of(options)
    trainer.train()
    trainer.save_model(str(options.output))
