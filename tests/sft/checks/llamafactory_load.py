"""Lets LLaMA-Factory read a set with the settings written beside it, and prints what it would train on, as JSON.

Usage: llamafactory_load.py SET STUDENT, in the folder of the set. What needs GPUs (DeepSpeed, BF16) is left out of the
settings; the tokenizer is the tiny student's.
"""

import importlib.machinery
import json
import sys
import types
from pathlib import Path

import yaml

# LLaMA-Factory imports it for rows with sound. What a package index has is built for CUDA and does not load beside
# PyTorch for CPU, so install.sh takes it away.
silent = types.ModuleType("torchaudio")
silent.__spec__ = importlib.machinery.ModuleSpec("torchaudio", loader=None)
sys.modules["torchaudio"] = silent

from llamafactory.data import get_dataset, get_template_and_fix_tokenizer  # noqa: E402
from llamafactory.hparams import get_train_args  # noqa: E402
from llamafactory.model import load_tokenizer  # noqa: E402

data, student = Path(sys.argv[1]), sys.argv[2]
read = []
for file in sorted((data / "training").glob("*.yaml")):
    said = yaml.safe_load(file.read_text())
    left_out = {"deepspeed", "bf16", "preprocessing_num_workers"}
    settings = {name: value for name, value in said.items() if name not in left_out}
    settings |= {"model_name_or_path": student, "use_cpu": True, "overwrite_cache": True}
    model, data_args, training, _finetuning, _generating = get_train_args(settings)
    module = load_tokenizer(model)
    # Real students bring a processor of pictures; the rows have none, so it is only looked at.
    pictures = types.SimpleNamespace(merge_size=2)
    module["processor"] = types.SimpleNamespace(image_processor=pictures, video_processor=pictures)
    template = get_template_and_fix_tokenizer(module["tokenizer"], data_args)
    parts = get_dataset(template, model, data_args, training, stage="sft", **module)
    decode = module["tokenizer"].decode
    rows = [
        {
            "text": decode(row["input_ids"]),
            "trained": decode([label for label in row["labels"] if label != -100]),
        }
        for row in parts["train_dataset"]
    ]
    read.append(
        {
            "file": file.name,
            "rows": rows,
            "validation": len(parts["eval_dataset"]) if "eval_dataset" in parts else 0,
            "epochs": training.num_train_epochs,
            "rate": training.learning_rate,
            "scheduler": str(training.lr_scheduler_type.value),
            "cutoff": data_args.cutoff_len,
        }
    )
print("\n" + json.dumps(read))
